"""What must hold of a question's texts and values before it may be asked.

Every gate returns findings as sentences; an empty list is a pass.
"""

from __future__ import annotations

import ast
import json
import math
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.benchmarks.question_format import TaskSpec, make_properties
from experiments.scorers.properties import verify_here
from sandbox.inside.tagged import dumps

#: Roots whose names are common knowledge of the language, not of a materials library.
_FOREIGN = frozenset(
    {
        "np",
        "numpy",
        "scipy",
        "math",
        "itertools",
        "collections",
        "json",
        "pathlib",
        "Path",
    }
)
#: A reference is read by people and rewritten by tools: everything in it is spelled out.
_BANNED_CALLS = frozenset(
    {
        "getattr",
        "setattr",
        "eval",
        "exec",
        "dir",
        "vars",
        "globals",
        "locals",
        "__import__",
    }
)
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z][a-z0-9]+[A-Z]")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_FENCE = re.compile(
    r"^[ \t]*```python[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL
)
_MASK = re.compile(r"\[(MASK(?:_\d+)?)\]")
# Shorter camel-case words are symbols of physics (dQ, pH), not names of a library.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{3,}")


def check_reference(source: str) -> list[str]:
    """The reference defines ``reference()`` and names everything it uses openly."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return [f"reference.py: line {error.lineno}: {error.msg}"]
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    findings = (
        [] if "reference" in functions else ["reference.py: no function reference()"]
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in _BANNED_CALLS:
                findings.append(
                    f"reference.py: line {node.lineno}: {node.func.id}() is not plain"
                )
        elif isinstance(node, ast.ImportFrom) and any(
            a.name == "*" for a in node.names
        ):
            findings.append(f"reference.py: line {node.lineno}: star import")
    return findings


def library_names(source: str) -> set[str]:
    """Names with an underscore or in CamelCase that a reference takes from the library.

    Imported names, attributes, keyword arguments and string subscripts, except on numpy, scipy
    and the standard library.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").split(".")[0] not in _FOREIGN
        ):
            names.update((node.module or "").split("."))
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute) and _root(node) not in _FOREIGN:
            names.add(node.attr)
        elif isinstance(node, ast.Call) and _root(node.func) not in _FOREIGN:
            names.update(keyword.arg for keyword in node.keywords if keyword.arg)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            key = str(node.slice.value)
            names |= (
                {key} if "_" in key else set()
            )  # without one it may well be a formula
    return {
        name
        for name in names
        if _NAME.fullmatch(name) and ("_" in name or _CAMEL.search(name))
    }


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def check_goal(spec: TaskSpec, source: str) -> list[str]:
    """The goal level gives away no code and no name of the library.

    Names of properties are exempt: they are words of the field that an answer must repeat.
    """
    findings = []
    if "```" in spec.goal or "[MASK" in spec.goal:
        findings.append("goal: it contains code or a mask")
    if re.search(r"pymatgen\.\w", spec.goal):
        findings.append("goal: it names a module of pymatgen")
    text = " ".join([spec.goal, *(prop.description for prop in spec.properties)])
    own = {prop.name for prop in spec.properties}
    leaked = (library_names(source) & set(_WORD.findall(text))) - own
    findings += [f"goal: {name} is a name from the library" for name in sorted(leaked)]
    return findings


def check_scaffold(spec: TaskSpec) -> list[str]:
    """The code of the scaffold level parses, and its masks hide what they stand for."""
    if not _FENCE.search(spec.scaffold):
        return ["scaffold: no ```python block"]
    findings = []
    code = scaffold_code(spec)
    try:
        ast.parse(code)
    except SyntaxError as error:
        line = code.splitlines()[(error.lineno or 1) - 1].strip()
        findings.append(f"scaffold: the code does not parse: {error.msg}: {line}")
    masks = set(_MASK.findall(spec.scaffold))
    if masks and not any(
        _MASK.search(block) for block in _FENCE.findall(spec.scaffold)
    ):
        findings.append("scaffold: [MASK] appears in the text but in no code")
    if spec.masks and set(spec.masks) != masks:
        findings.append(f"masks: the scaffold has {', '.join(sorted(masks)) or 'none'}")
    words = set(_WORD.findall(spec.scaffold))
    findings += [
        f"scaffold: {name}, which {mask} hides, appears in the text"
        for mask, name in spec.masks.items()
        if name in words
    ]
    return findings


def scaffold_code(spec: TaskSpec) -> str:
    """All code of the scaffold, with what the masks stand for (else a name) in their place."""
    code = "\n".join(textwrap.dedent(block) for block in _FENCE.findall(spec.scaffold))
    return _MASK.sub(
        lambda match: spec.masks.get(match.group(1), match.group(1).lower()), code
    )


def check_answers_hidden(spec: TaskSpec, gold: Mapping[str, Any]) -> list[str]:
    """No expected value stands in a prompt as text."""
    findings = []
    descriptions = " ".join(prop.description for prop in spec.properties)
    for level in ("scaffold", "goal"):
        text = " ".join([descriptions, getattr(spec, level)])
        numbers = [float(number) for number in _NUMBER.findall(text)]
        findings += [
            f"{level}: the value of {prop.name} appears in the text"
            + (
                " (options to choose from belong under 'choices')"
                if prop.format == "str"
                else ""
            )
            for prop in spec.properties
            if _stands_in(gold[prop.name], text, numbers, prop.rtol)
        ]
    return findings


def _stands_in(value: Any, text: str, numbers: list[float], rtol: float) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, str):
        return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
    if isinstance(value, int):  # small counts stand in every text
        return abs(value) >= 100 and float(value) in numbers
    if isinstance(value, float):
        return any(math.isclose(value, number, rel_tol=rtol) for number in numbers)
    leaves = [leaf for _, leaf in walk(value)]
    # A row of halves and quarters (two significant digits) stands in every text with coordinates.
    telling = any(
        f"{leaf:.12g}" != f"{leaf:.2g}" for leaf in leaves if isinstance(leaf, float)
    )
    if telling and all(isinstance(leaf, float) for leaf in leaves):
        return all(_stands_in(leaf, text, numbers, rtol) for leaf in leaves)
    forms = {str(value), json.dumps(value)}
    if isinstance(value, list) and len(value) > 1:
        forms.add(", ".join(map(str, value)))
    return any(form in text for form in forms)


def check_plain(gold: Mapping[str, Any]) -> list[str]:
    """Golds are plain Python values: no numpy scalar, no library object, no tuple."""
    return [
        f"reference.py: {name} is not a plain bool, int, float or str, or a list or dict of them"
        for name, value in gold.items()
        if any("$" in path or leaf is None for path, leaf in walk(value))
    ]


def walk(
    value: Any, path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every leaf of nested lists and dicts with its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from walk(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from walk(item, (*path, index))
    else:
        yield path, value


def wrong_answers(value: Any) -> Iterator[tuple[str, Any]]:
    """Answers that must fail: None, zeros, empty, and each leaf alone off by one per cent.

    A leaf near zero is moved by one per cent of the largest one; integers move by one, of a
    text the last character changes.
    """
    leaves = list(walk(value))
    zero = value
    for path, leaf in leaves:
        zero = _replace(zero, path, type(leaf)())
    yield "None", None
    yield "zero", zero
    yield "empty", type(value)() if isinstance(value, list | dict | str) else ""
    scale = max(
        (abs(leaf) for _, leaf in leaves if isinstance(leaf, float)), default=0.0
    )
    for path, leaf in leaves:
        where = "".join(f"[{part!r}]" for part in path)
        yield f"perturbed{where}", _replace(value, path, _perturb(leaf, scale))


def _perturb(leaf: Any, scale: float) -> Any:
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int):
        return leaf + 1
    if isinstance(leaf, float):
        return leaf + math.copysign(0.01 * (abs(leaf) or scale), leaf)
    return leaf[:-1] + ("x" if leaf[-1:] != "x" else "y")


def _replace(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = _replace(value[path[0]], path[1:], new)
    return copy


def verdicts(spec: TaskSpec, gold: Mapping[str, Any], answer: Any) -> dict[str, str]:
    """Property name to the reason why ``answer`` (plain JSON) fails it, empty for a pass."""
    judged = verify_here(make_properties(spec, gold), dumps(answer))
    return {
        name: "" if passed else why or "wrong" for name, (passed, why) in judged.items()
    }


def check_verification(spec: TaskSpec, gold: Mapping[str, Any]) -> list[str]:
    """The gold passes its own verification and every wrong answer fails it."""
    own = verdicts(spec, gold, dict(gold)).items()
    failing = [
        f"{name}: the reference itself fails: {reason}"
        for name, reason in own
        if reason
    ]
    return failing + [
        f"{prop.name}: vacuous, the answer '{what}' passes"
        for prop in spec.properties
        for what, wrong in wrong_answers(gold[prop.name])
        if not verdicts(spec, gold, {**gold, prop.name: wrong})[prop.name]
    ]
