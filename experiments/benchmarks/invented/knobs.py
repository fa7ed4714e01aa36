"""The knobs of worlds."""

# No deferred annotations: a configuration is checked against those of `Knobs`, also where another
# class inherits them.
from dataclasses import dataclass
from typing import Literal

from experiments.benchmarks.invented.draw import SEEDS

_WORLDS = {"seed": range(SEEDS), "size": range(60, 2501), "depth": range(1, 11),
           "breadth": range(2, 41), "questions": range(1, 201), "gap": (0, 1, 2),
           "docs": ("full", "outdated")}  # fmt: skip
#: What a level decides. 12 documents have all that a question needs (1), two thirds of
#: it (2), a quarter (3); from 4 on no term is said, at 5 chains are long among many symbols.
LEVELS = {
    1: {"size": 60, "depth": 1, "breadth": 3, "gap": 0},
    2: {"size": 120, "depth": 2, "breadth": 6, "gap": 0},
    3: {"size": 300, "depth": 4, "breadth": 20, "gap": 0},
    4: {"size": 300, "depth": 4, "breadth": 20, "gap": 2},
    5: {"size": 1500, "depth": 7, "breadth": 20, "gap": 2},
}


class KnobError(ValueError):
    """A knob has a value that there is no world for; says which there are."""


@dataclass(frozen=True)
class Knobs:
    """What decides a world; each varies one thing, as ``conf/benchmark/invented.yaml`` says."""

    seed: int = 1
    size: int = 300
    depth: int = 4
    breadth: int = 20
    gap: Literal[0, 1, 2] = 0
    docs: Literal["full", "outdated"] = "full"
    questions: int = 20

    def __post_init__(self) -> None:
        for name, known in _WORLDS.items():
            value = getattr(self, name)
            if type(value) not in {int, str} or value not in known:
                said = f"choose one of {', '.join(map(str, known))}"
                if isinstance(known, range):
                    said = f"give a whole number from {known[0]} to {known[-1]}"
                raise KnobError(f"{name}={value}: {said}")


@dataclass(frozen=True)
class Levelled(Knobs):
    """Knobs of which a level may decide some; a run with other values of these is refused."""

    level: Literal[1, 2, 3, 4, 5] | None = None

    def __post_init__(self) -> None:
        for name, value in LEVELS[self.level].items() if self.level is not None else ():
            if getattr(self, name) not in {value, getattr(Knobs, name)}:
                raise KnobError(f"{name}={getattr(self, name)}: level={self.level} has {value}")
            object.__setattr__(self, name, value)
        super().__post_init__()
