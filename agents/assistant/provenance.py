"""What stands behind the values of an answer, what contradicts them, what a reader must know.

What ran is known from the trace of the run; which literals the code contains, from its text. How a
value follows from them is not guessed at.
"""

from __future__ import annotations

import ast
import math
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from agents.assistant.answers import Trace, Value
from agents.assistant.syntax import (
    called_name,
    hard_coded,
    passed_literals,
    text_of,
)
from foundation.configuration import data_of

LISTED = 12  # literals in a note
MANY_DIGITS = 3  # of a number or text that coincides with a literal by no accident
LARGE = 100  # whole numbers below may be counts that coincide with an argument
TEXT = 40  # characters of a text that can be a datum
CELSIUS = 273.15  # K at 0 degrees Celsius
FILE = 1 << 20  # bytes of an input that are searched for the literals of the code
_NUMBER = re.compile(r"\d+\.?\d*(?:[eE][-+]?\d{1,3})?|\.\d+(?:[eE][-+]?\d{1,3})?")
_PERCENT = re.compile(r"(\d+\.?\d*)\s*%")
#: A text that can be a datum: neither a file that is written nor a pattern of names.
_WORD = re.compile(r"^(?!out/|[^\s]*\*).*[^\W_]", re.DOTALL)
#: Tables of what is looked for; see the file itself.
RULES: Mapping[str, Any] = data_of(__file__, "rules")


class Supplied:
    """Everything that the user handed over: what was ``said`` in the conversation, the inputs."""

    def __init__(self, said: str, inputs: Mapping[str, Path]) -> None:
        starts = [_start(path) for path in inputs.values() if path.is_file()]
        text = "\n".join([said, *inputs, *starts])
        words = set(re.findall(r"[a-z]+", said.lower()))
        self.said = {float(number) for number in _NUMBER.findall(said)}
        self.said |= {RULES["words"][word] for word in words & RULES["words"].keys()}
        self.said |= {float(number) / 100 for number in _PERCENT.findall(said)}
        self.said |= {temperature + CELSIUS for temperature in self.said}
        self._numbers = {float(number) for number in _NUMBER.findall(text)}
        self._numbers |= self.said
        self._squeezed = _squeeze(text)
        elements, spellings = RULES["elements"], RULES["spellings"]
        self._symbols = {symbol for symbol, name in elements.items() if name in words}
        self._symbols |= {spellings[word] for word in words & spellings.keys()}

    def holds(self, value: object) -> bool:
        """Whether a text (but for case and punctuation) or a number stands in it.

        An element's symbol stands where its name does. Constants of nature, which nobody
        assumes, stand in everything.
        """
        if isinstance(value, str):
            return _squeeze(value) in self._squeezed or value in self._symbols
        if not isinstance(value, int | float):
            return False
        if float(abs(value)) in self._numbers:
            return True
        return any(
            math.isclose(value, each, rel_tol=1e-4) for each in RULES["constants"]
        )


def _start(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(FILE).decode("utf-8", "replace")


def _squeeze(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def literals(tree: ast.Module, names: Collection[str]) -> list[tuple[object, int]]:
    """Numbers and short texts of the code that can be data, with their lines.

    Left out are keys, units and messages, what counts or rounds, small factors and powers of ten
    in arithmetic, indices, and ``names``, the keys of the returned dict.
    """
    found: list[tuple[object, int]] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Constant):
            if _is_datum(node.value) and node.value not in names:
                found.append((node.value, node.lineno))
        else:
            waiting += _data(node)
    return sorted(found, key=lambda pair: pair[1])


def _data(node: ast.AST) -> Iterator[ast.AST]:
    """The children of a node in which data can stand."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    if isinstance(
        node, ast.Raise | ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom
    ):
        return
    if isinstance(node, ast.Call) and called_name(node) in RULES["counting"]:
        yield node.func
        return
    if isinstance(node, ast.keyword) and node.arg in RULES["looks"]:
        return
    if isinstance(node, ast.Assign) and any(
        "unit" in text_of(one) for one in node.targets
    ):
        return
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        yield from (
            value
            for key, value in pairs
            if not (isinstance(key, ast.Constant) and key.value == "units")
        )
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.Subscript) and child is node.slice:
            if not _is_small(child, 3) and not isinstance(
                getattr(child, "value", None), str
            ):
                yield child
        elif isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Slice):
            if not _is_small(child, 4):
                yield child
        elif not (isinstance(child, ast.Constant) and child.value in (0, 1)):
            yield child


def _is_small(node: ast.AST, most: int) -> bool:
    """A whole number up to ``most``, one half or a power of ten: a factor, not a datum."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    value = (
        abs(node.value)
        if isinstance(node, ast.Constant) and _is_number(node.value)
        else None
    )
    if value is None:
        return False
    if value in (0, 0.5) or (value <= most and value % 1 == 0):
        return True
    return math.isclose(math.log10(value), round(math.log10(value)), abs_tol=1e-12)


def _is_number(value: object) -> TypeGuard[float]:
    """Whether it is one that a float can hold."""
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max


def _is_datum(value: object) -> bool:
    if isinstance(value, str):
        return 0 < len(value.strip()) <= TEXT and _WORD.search(value) is not None
    return _is_number(value) and not isinstance(value, bool)


def assumed(found: Sequence[tuple[object, int]], given: Supplied) -> list[str]:
    """Those literals that the user has not handed over, with their lines."""
    own = (
        f"{value!r} (line {line})" for value, line in found if not given.holds(value)
    )
    return list(dict.fromkeys(own))


@dataclass(frozen=True)
class Literals:
    """Literals of the code, with their lines.

    ``data`` are those that can be data, ``returned`` by the key under which one is returned
    whatever happens, ``passed`` those that go into calls.
    """

    data: Sequence[tuple[object, int]]
    returned: Mapping[str, int]
    passed: Mapping[str | int, int]

    @classmethod
    def of(cls, tree: ast.Module, names: Collection[str]) -> Literals:
        """Those of a program whose values have these ``names``."""
        return cls(literals(tree, names), hard_coded(tree), passed_literals(tree))


def repeated(name: str, value: object, found: Literals, given: Supplied) -> int | None:
    """The line of a literal that a value merely repeats; ``None`` for a value that was computed.

    That is one which the code returns whatever happens (`Literals.returned`);
    a text or a larger whole number that went into a call and came out again; or a number of three
    digits or more that stands in the code and is returned to the last digit.
    """
    if not _is_datum(value) or value in (0, 1):
        return None
    if given.holds(value) if isinstance(value, str) else abs(value) in given.said:  # type: ignore[arg-type]
        return None
    if name in found.returned:
        return found.returned[name]
    is_long = len(value) >= MANY_DIGITS if isinstance(value, str) else value >= LARGE  # type: ignore[operator]
    if type(value) in {str, int} and is_long:
        return found.passed.get(value)  # type: ignore[call-overload, no-any-return]
    if not isinstance(value, float) or _digits(value) < MANY_DIGITS:
        return None
    return next((line for literal, line in found.data if _same(literal, value)), None)


def _digits(value: float) -> int:
    """Significant digits of a number as Python writes it."""
    mantissa = repr(abs(value)).partition("e")[0]
    return len(mantissa.replace(".", "").strip("0"))


def _same(literal: object, value: float) -> bool:
    """Whether a value is the literal, or the literal rounded."""
    if not isinstance(literal, float):
        return False
    _, _, decimals = repr(value).partition(".")
    return math.isclose(literal, value) or round(literal, len(decimals)) == value


def notes(
    values: Sequence[Value],
    trace: Trace,
    own: Sequence[str],
    inputs: Mapping[str, Path],
) -> Iterator[str]:
    """What a reader must know, most important first; ``inputs`` are those of this question."""
    if not trace.noted:
        yield "the calls of the code could not be recorded"
    elif not trace.library and (own or any(v.repeats for v in values)):
        yield (
            "the code calls no library function: its values are the model's own, or "
            "arithmetic on them and on the input"
        )
    for value in values:
        if value.repeats is not None:
            yield f"{value.name} is hard-coded (line {value.repeats}), not computed"
    if own:
        more = f" and {len(own) - LISTED} more" if len(own) > LISTED else ""
        yield f"assumed by the model: {', '.join(own[:LISTED])}{more}"
    if empty := [v.name for v in values if v.value is None]:
        yield f"no value for {', '.join(empty)}"
    if trace.noted and (unread := _unread(inputs, trace.read)):
        yield f"the code never opened {', '.join(unread)}"


def _unread(inputs: Mapping[str, Path], read: Collection[str]) -> list[str]:
    """Inputs that were not opened; of a folder those of the kind of what was opened in it."""
    unread: list[str] = []
    for name, path in inputs.items():
        opened = {each for each in read if f"{each}/".startswith(f"{name}/")}
        if not opened:
            unread.append(name)
            continue
        kinds = {_kind(each) for each in opened - {name}}
        for file in path.rglob("*") if path.is_dir() else ():
            inside = f"{name}/{file.relative_to(path).as_posix()}"
            if file.is_file() and _kind(inside) in kinds and inside not in read:
                unread.append(inside)
    return sorted(unread)


def _kind(name: str) -> str:
    return Path(name).suffix or Path(name).name


Facts = Mapping[str, Mapping[str, Any]]
_QUANTITY = RULES["quantity"]
_CHANGES, _BY_SITE, _EACH_SITE = (
    re.compile("|".join(RULES[name])) for name in ("changes", "by_site", "each_site")
)
_STRUCTURE = re.compile(r"\b(I?Structure|Molecule)\b|get_\w*structure|final_structure")


def other_sites(question: str, tree: ast.Module, facts: Facts) -> Iterator[str]:
    """Sites that the code takes by their number although the question is about other elements."""
    having = [(file, known) for file, known in facts.items() if "species" in known]
    if len(having) != 1:
        return
    ((file, known),) = having
    species, names = list(map(str, known["species"])), dict(known.get("names") or {})
    asked = {
        symbol
        for symbol in names
        if re.search(rf"(?<![A-Za-z]){symbol}(?![a-z0-9.]|[A-Z])", question)
        or str(names[symbol]).lower() in question.lower()
    }
    for line, numbers in _sites(tree):
        at = {n: species[n] for n in numbers if -len(species) <= n < len(species)}
        if any(
            re.search(rf"(?<![\w.]){n}(?![\w.])(?!{_QUANTITY})", question) for n in at
        ):
            continue  # the question itself counts sites
        others = {n: element for n, element in at.items() if element not in asked}
        if len(at) > 1 and len(asked) == len(at) and set(at.values()) != asked:
            others = at
        if asked and others:
            listed = ", ".join(
                f"site {n} of {file} is {element}" for n, element in others.items()
            )
            yield f"{listed} (line {line}); the question is about {' and '.join(sorted(asked))}"


def _sites(tree: ast.AST) -> Iterator[tuple[int, list[int]]]:
    """Lines at which sites are taken by their numbers, until the structure is changed."""
    named = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and _STRUCTURE.search(text_of(node.value))
    }
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Call | ast.Subscript)]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(node, ast.Subscript):
            base = text_of(node.value)
            if base in named or _EACH_SITE.fullmatch(base.rpartition(".")[2]):
                yield node.lineno, _whole(node.slice)
            continue
        name = called_name(node)
        if _BY_SITE.fullmatch(name):
            yield node.lineno, [n for each in node.args[:4] for n in _whole(each)]
        if _CHANGES.search(name):
            return


def _whole(node: ast.AST) -> list[int]:
    """The whole numbers that a node writes out."""
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [n for each in items for n in _whole(each)]
        case ast.Constant(value=value) if type(value) is int:
            return [value]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)) if (
            type(value) is int
        ):
            return [-value]
    return []


_ASKED = re.compile(rf"(?<![\w.,-])(\d+\.?\d*){_QUANTITY}")
_RADIATION = re.compile(RULES["radiation"], re.IGNORECASE)


def unheeded(question: str, tree: ast.Module, trace: Trace) -> Iterator[str]:
    """Quantities and radiations that the question names and the code does not."""
    constants = [
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)
    ]
    numbers = [abs(c) for c in constants if _is_number(c)]
    texts = " ".join(c for c in constants if isinstance(c, str))
    for text, unit in _ASKED.findall(question):
        asked = float(text)
        forms = {asked * 10.0**n for n in (0, -2, -10, -9, -3, 3, -12, 9)}
        forms |= {1 + asked / 100, 1 - asked / 100, asked + 273.15}
        if text not in texts and not any(
            math.isclose(n, f) for n in numbers for f in forms
        ):
            yield f"the question says {text} {unit}, the code does not"
    for element in _RADIATION.findall(question):
        if f"{element}K" not in texts and any(
            "XRDCalculator" in name for name in trace.library
        ):
            yield f"the question says {element} K-alpha, the code does not"
