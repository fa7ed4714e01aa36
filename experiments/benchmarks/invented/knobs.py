"""The knobs of worlds."""

# No deferred annotations: a configuration is checked against those of `Knobs`, also where another
# class inherits them.
from dataclasses import dataclass, fields
from typing import Literal, get_args

from experiments.benchmarks.invented.draw import SEEDS

_LIMITS = {"seed": (0, SEEDS - 1), "size": (60, 2500), "depth": (1, 10), "breadth": (2, 40),
           "questions": (1, 200)}  # fmt: skip


class KnobError(ValueError):
    """A knob has a value that there is no world for; says which there are."""


@dataclass(frozen=True)
class Knobs:
    """What decides a world; each varies one thing."""

    seed: int = 1  # which world: all words and values
    size: int = 300  # public symbols; the questions stay the same
    depth: int = 4  # longest chain of calls that a question needs
    breadth: int = 8  # symbols that a question needs, as far as ``depth`` permits
    #: A question names a quantity by its term (0), by a paraphrase of what the documentation
    #: says (1), or by what it is used for (2).
    gap: Literal[0, 1, 2] = 0
    #: Docstrings: all, their first line, none (what is missing stands as comments in the code),
    #: or about one in ten with something that is no longer true.
    docs: Literal["full", "signatures", "source", "outdated"] = "full"
    names: Literal["telling", "opaque"] = "telling"  # of functions and parameters
    results: Literal["mixed", "floats"] = "mixed"  # kinds of values
    questions: int = 30

    def __post_init__(self) -> None:
        for field in fields(Knobs):
            value, known = getattr(self, field.name), get_args(field.type)
            if known and (value not in known or isinstance(value, bool)):
                said = ", ".join(map(str, known))
                raise KnobError(f"{field.name}={value}: choose one of {said}")
        for name, (low, high) in _LIMITS.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise KnobError(f"{name}={value}: give a whole number from {low} to {high}")
