"""What stands behind the values of an answer, what contradicts them, what a reader must know.

What ran is known from the trace of the run; which literals the code contains, from its text. How a
value follows from them is not guessed at.
"""

from __future__ import annotations

import ast
import functools
import math
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from agents.assistant.answers import Trace, Value
from matsmith.core.configuration import data_of

LISTED = 12  # literals in a note
TEXT = 40  # characters of a text that can be a datum
FILE = 1 << 20  # bytes of an input that are searched for the literals of the code
_NUMBER = re.compile(r"\d+\.?\d*(?:[eE][-+]?\d{1,3})?|\.\d+(?:[eE][-+]?\d{1,3})?")
_PERCENT = re.compile(r"(\d+\.?\d*)\s*%")
#: A text that can be a datum: neither a file that is written nor a pattern of names.
_WORD = re.compile(r"^(?!out/|[^\s]*\*).*[^\W_]", re.DOTALL)
#: Tables of what is looked for; see the file itself.
RULES: Mapping[str, Any] = data_of(__file__, "rules")
_UNITS = {
    ending: unit for unit, endings in RULES["units"].items() for ending in endings
}


class Supplied:
    """Everything that the user handed over: what was ``said`` in the conversation, the inputs."""

    def __init__(self, said: str, inputs: Mapping[str, Path]) -> None:
        parts = [
            said,
            *inputs,
            *(_start(path) for path in inputs.values() if path.is_file()),
        ]
        text = "\n".join(parts)
        self._numbers = {float(found) for found in _NUMBER.findall(text)}
        self._numbers |= {
            value for word, value in RULES["words"].items() if word in said.lower()
        }
        self._numbers |= {float(found) / 100 for found in _PERCENT.findall(said)}
        self.said = {float(found) for found in _NUMBER.findall(said)}
        self._squeezed = _squeeze(text)

    def holds(self, value: object) -> bool:
        """Whether a text (but for case and punctuation) or a number stands in it.

        Constants of nature, which nobody assumes, stand in everything.
        """
        if isinstance(value, str):
            return _squeeze(value) in self._squeezed
        if not isinstance(value, int | float):
            return False
        known = (math.isclose(value, each, rel_tol=1e-4) for each in RULES["constants"])
        return float(abs(value)) in self._numbers or any(known)


def _start(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(FILE).decode("utf-8", "replace")


def _squeeze(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def parsed(code: str) -> ast.Module:
    """The code, empty where it cannot be read: for a newer Python, or nested too deep."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


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
    if isinstance(node, ast.Call) and _called(node) in RULES["counting"]:
        yield node.func
        return
    if isinstance(node, ast.keyword) and node.arg in RULES["looks"]:
        return
    if isinstance(node, ast.Assign) and any(
        "unit" in _text(one) for one in node.targets
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


def _text(node: ast.AST) -> str:
    """The code of a node, empty where it is nested too deep."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return ""


def _called(node: ast.Call) -> str:
    return _text(node.func).rpartition(".")[2]


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


def repeated(
    value: object, found: Sequence[tuple[object, int]], given: Supplied
) -> int | None:
    """The line of a literal that a value merely repeats; ``None`` for a value that was computed."""
    if not _is_datum(value) or value in (0, 1):
        return None
    if given.holds(value) if isinstance(value, str) else abs(value) in given.said:  # type: ignore[arg-type]
        return None
    return next((line for literal, line in found if _same(literal, value)), None)


def _same(literal: object, value: object) -> bool:
    """Whether a value is the literal, or the literal rounded to three digits or more."""
    if isinstance(literal, float) and isinstance(value, float):
        _, _, after = repr(value).partition(".")
        rounded = len(repr(value).strip("-0.").replace(".", "")) > 2 and round(
            literal, len(after)
        )
        return math.isclose(literal, value) or rounded == value
    return type(literal) is type(value) and literal == value


def notes(
    values: Sequence[Value],
    trace: Trace,
    own: Sequence[str],
    inputs: Mapping[str, Path],
) -> Iterator[str]:
    """What a reader must know, most important first."""
    if not trace.noted:
        yield "which functions the code called could not be noted"
    elif not trace.library and (own or any(v.repeats for v in values)):
        yield (
            "the code calls no library function: its values are what the model wrote, or "
            "arithmetic on it and on the input"
        )
    for value in values:
        if value.repeats is not None:
            yield f"{value.name} stands in the code, line {value.repeats}: it was not computed"
    if own:
        more = f" and {len(own) - LISTED} more" if len(own) > LISTED else ""
        yield (
            "in the code, but neither in the question nor in a file: "
            f"{', '.join(own[:LISTED])}{more}"
        )
    if empty := [v.name for v in values if v.value is None]:
        yield f"nothing was worked out for: {', '.join(empty)}"
    if trace.noted and (unread := _unread(inputs, trace.read)):
        yield f"not read by the code: {', '.join(unread)}"


def _unread(inputs: Mapping[str, Path], read: Collection[str]) -> list[str]:
    """Inputs that were not opened; of a folder those of the kind of what was opened in it."""
    found = []
    for name, path in inputs.items():
        inside = {each for each in read if f"{each}/".startswith(f"{name}/")}
        kinds = {Path(each).suffix or Path(each).name for each in inside - {name}}
        files = (
            f"{name}/{p.relative_to(path).as_posix()}"
            for p in path.rglob("*")
            if p.is_file()
        )
        found += [
            f
            for f in files
            if (Path(f).suffix or Path(f).name) in kinds and f not in read
        ]
        found += [] if inside else [name]
    return sorted(found)


def split_unit(name: str) -> tuple[str, str | None]:
    """A name in words without the unit at its end, and that unit; ``None`` where it has none."""
    words = re.findall(r"[A-Za-z0-9]+", name)
    for start in range(max(1, len(words) - 4), len(words)):
        ending = "_".join(words[start:])
        unit = (
            RULES["letters"].get(ending)
            if len(ending) == 1
            else _UNITS.get(ending.lower())
        )
        if unit is not None:
            return " ".join(words[:start]), unit
    return name.replace("_", " ").strip(), None


Facts = Mapping[str, Mapping[str, Any]]

_CHANGES, _BY_SITE, _EACH_SITE = (
    re.compile("|".join(RULES[name])) for name in ("changes", "by_site", "each_site")
)
_UNIT = re.compile(
    r"(?:1|[A-Za-zÅ°µμ]+)(?:\^-?\d)?(?:[ */](?:[A-Za-zÅ°µμ]+)(?:\^-?\d)?)*"
)
_RAISED = str.maketrans("⁻¹²³", "-123")
_PER = re.compile(r"\s*/\s*(?:atom|f\.u\.|formula unit)s?")


def disagreements(values: Sequence[Value], trace: Trace, facts: Facts) -> Iterator[str]:
    """Values that an independent computation on a given file contradicts.

    ``facts`` are those of `agents.assistant.file_probe`; what two inputs have is not compared.
    """
    if not trace.noted:
        return
    changed = any(map(_CHANGES.search, trace.library))
    for value in values:
        name, unit = split_unit(value.name)
        unit = value.unit or unit or ""
        word = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
        if _PER.search(unit) and not word.endswith("per_atom"):
            word += "_per_atom"
        for pattern, (fact, known_in, share) in RULES["recomputed"].items():
            having = [file for file, known in facts.items() if fact in known]
            if len(having) != 1 or not re.fullmatch(pattern, word):
                continue
            if (
                changed and having[0] in trace.read
            ):  # the value is of what was made from it
                continue
            expected = facts[having[0]][fact]
            if not _agrees(_in(value.value, unit, known_in), expected, share):
                at = f"computed independently from {having[0]}"
                shown = f"{expected:.5g}" if isinstance(expected, float) else expected
                known = f"it is {shown} {known_in}".rstrip()
                known = (
                    "no two sites are so far apart" if fact == "distances" else known
                )
                yield f"{value.name} is {value.text}, but {at}: {known}"


def _in(value: Any, unit: str, wanted: str) -> Any:
    """A value in another unit; ``None`` where that is not possible."""
    if not (unit and wanted and isinstance(value, int | float)):
        return value
    plain = _PER.sub("", unit).translate(_RAISED)
    raised = re.sub(r"(?<=[A-Za-zÅ])\^?\*{0,2}(-?\d)", r"^\1", plain)
    if len(raised) > 40 or not _UNIT.fullmatch(raised):  # a model wrote it
        return None
    try:
        return value * float(_units()(raised).to(wanted).magnitude)
    except Exception:  # noqa: BLE001 -- pint raises many kinds: what is no unit says nothing
        return None


@functools.cache
def _units() -> Any:
    import pint  # noqa: PLC0415 -- slow to import

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True)


def _agrees(value: Any, expected: Any, share: float) -> bool:
    if isinstance(value, bool):
        return True
    if isinstance(expected, list) and isinstance(
        value, int | float
    ):  # distances, and the diagonal
        near = [each for each in expected if isinstance(each, int | float)]
        if len(near) > 1 and near[-2] < value < near[-1]:
            return True
        return any(math.isclose(value, each, rel_tol=share) for each in near[:-1])
    if isinstance(expected, int | float) and isinstance(value, int | float):
        return math.isclose(value, expected, rel_tol=share)
    if isinstance(expected, str) and isinstance(value, str):
        one, other = (
            re.sub(r"[\s_]|(?<=[A-Za-z])1(?!\d)", "", t) for t in (value, expected)
        )
        return one == other or sorted(one) == sorted(other)
    return True  # not the same kind of thing: nothing is known


_QUANTITY = RULES["quantity"]
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
        if isinstance(target, ast.Name) and _STRUCTURE.search(_text(node.value))
    }
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Call | ast.Subscript)]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(node, ast.Subscript):
            base = _text(node.value)
            if base in named or _EACH_SITE.fullmatch(base.rpartition(".")[2]):
                yield node.lineno, _whole(node.slice)
            continue
        name = _called(node)
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
