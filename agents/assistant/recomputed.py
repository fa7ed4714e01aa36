"""What contradicts an answer: facts of the given files, the sites that it takes, the question."""

from __future__ import annotations

import ast
import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents.assistant.answers import Answer, Trace, Value
from agents.assistant.provenance import RULES, split_unit

Facts = Mapping[str, Mapping[str, Any]]

_CHANGES, _BY_SITE, _EACH_SITE = (
    re.compile("|".join(RULES[name])) for name in ("changes", "by_site", "each_site")
)
_UNIT = re.compile(r"(?:1|[A-Za-zÅ°µμ]+)(?:\^-?\d)?(?:[ */](?:[A-Za-zÅ°µμ]+)(?:\^-?\d)?)*")
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
            if changed and having[0] in trace.read:  # the value is of what was made from it
                continue
            expected = facts[having[0]][fact]
            if not _agrees(_in(value.value, unit, known_in), expected, share):
                at = f"computed independently from {having[0]}"
                known = f"it is {_short(expected)} {known_in}".rstrip()
                known = "no two sites are so far apart" if fact == "distances" else known
                yield f"{value.name} is {value.text}, but {at}: {known}"


def _short(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _in(value: Any, unit: str, wanted: str) -> Any:
    """A value in another unit; ``None`` where that is not possible."""
    if not (unit and wanted and isinstance(value, int | float)):
        return value
    scale = _scale(_PER.sub("", unit).translate(_RAISED), wanted)
    return None if scale is None else value * scale


@functools.cache
def _units() -> Any:
    import pint  # noqa: PLC0415 -- slow to import

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True)


def _scale(unit: str, wanted: str) -> float | None:
    unit = re.sub(r"(?<=[A-Za-zÅ])\^?\*{0,2}(-?\d)", r"^\1", unit)
    if len(unit) > 40 or not _UNIT.fullmatch(unit):  # a model wrote it
        return None
    try:
        return float(_units()(unit).to(wanted).magnitude)
    except Exception:  # noqa: BLE001 -- pint raises many kinds: what is no unit says nothing
        return None


def _agrees(value: Any, expected: Any, share: float) -> bool:
    if isinstance(value, bool):
        return True
    if isinstance(expected, list) and isinstance(value, int | float):  # distances, and the diagonal
        near = [each for each in expected if isinstance(each, int | float)]
        if len(near) > 1 and near[-2] < value < near[-1]:
            return True
        return any(math.isclose(value, each, rel_tol=share) for each in near[:-1])
    if isinstance(expected, int | float) and isinstance(value, int | float):
        return math.isclose(value, expected, rel_tol=share)
    if isinstance(expected, str) and isinstance(value, str):
        spelled = (re.sub(r"[\s_]|(?<=[A-Za-z])1(?!\d)", "", text) for text in (value, expected))
        one, other = spelled
        return one == other or sorted(one) == sorted(other)
    return True  # not the same kind of thing: nothing is known


_QUANTITY: str = RULES["quantity"]
_STRUCTURE = re.compile(r"\b(I?Structure|Molecule)\b|get_\w*structure|final_structure")


def other_sites(answer: Answer, facts: Facts) -> Iterator[str]:
    """Sites that the code takes by their number although the question is about other elements."""
    having = [(file, known) for file, known in facts.items() if "species" in known]
    if len(having) != 1 or answer.code is None:
        return
    ((file, known),) = having
    species, names = list(map(str, known["species"])), dict(known.get("names") or {})
    asked = {
        symbol for symbol in names
        if re.search(rf"(?<![A-Za-z]){symbol}(?![a-z0-9.]|[A-Z])", answer.question)
        or str(names[symbol]).lower() in answer.question.lower()
    }  # fmt: skip
    for line, numbers in _sites(ast.parse(answer.code)):
        at = {n: species[n] for n in numbers if -len(species) <= n < len(species)}
        if any(re.search(rf"(?<![\w.]){n}(?![\w.])(?!{_QUANTITY})", answer.question) for n in at):
            continue  # the question itself counts sites
        others = {n: element for n, element in at.items() if element not in asked}
        if len(at) > 1 and len(asked) == len(at) and set(at.values()) != asked:
            others = at
        if asked and others:
            listed = ", ".join(f"site {n} of {file} is {element}" for n, element in others.items())
            yield f"{listed} (line {line}); the question is about {' and '.join(sorted(asked))}"


def _sites(tree: ast.AST) -> Iterator[tuple[int, list[int]]]:
    """Lines at which sites are taken by their numbers, until the structure is changed."""
    named = {
        target.id
        for node in ast.walk(tree) if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and _STRUCTURE.search(ast.unparse(node.value))
    }  # fmt: skip
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Call | ast.Subscript)]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(node, ast.Subscript):
            base = ast.unparse(node.value)
            if base in named or _EACH_SITE.fullmatch(base.rpartition(".")[2]):
                yield node.lineno, _whole(node.slice)
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        if _BY_SITE.fullmatch(name):
            given = [n for each in node.args[:4] for n in _whole(each)]
            yield node.lineno, given
        if _CHANGES.search(name):
            return


def _whole(node: ast.AST) -> list[int]:
    if isinstance(node, ast.List | ast.Tuple):
        return [n for each in node.elts for n in _whole(each)]
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return []
    return [value] if type(value) is int else []


_ASKED = re.compile(rf"(?<![\w.,-])(\d+\.?\d*){_QUANTITY}")
_RADIATION = re.compile(RULES["radiation"], re.IGNORECASE)


def unheeded(answer: Answer, trace: Trace) -> Iterator[str]:
    """Quantities and radiations that the question names and the code does not."""
    constants = [n.value for n in ast.walk(ast.parse(str(answer.code)))
                 if isinstance(n, ast.Constant)]  # fmt: skip
    numbers = [abs(float(c)) for c in constants if isinstance(c, int | float)]
    texts = " ".join(c for c in constants if isinstance(c, str))
    for text, unit in _ASKED.findall(answer.question):
        asked = float(text)
        forms = {asked * 10.0**n for n in (0, -2, -10, -9, -3, 3, -12, 9)}
        forms |= {1 + asked / 100, 1 - asked / 100, asked + 273.15}
        if text not in texts and not any(math.isclose(n, f) for n in numbers for f in forms):
            yield f"the question says {text} {unit}, the code does not"
    for element in _RADIATION.findall(answer.question):
        if f"{element}K" not in texts and any("XRDCalculator" in name for name in trace.library):
            yield f"the question says {element} K-alpha, the code does not"
