"""From a question to a function: setup code kept, masks filled, properties proposed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agents.models.rules.infer import Scope, probes
from agents.models.rules.knowledge import Knowledge, gather
from agents.models.rules.masks import Choice, Filler, Use, choices, masks_in, uses_of
from agents.models.rules.program import build
from agents.models.rules.propose import Way, propose
from agents.models.rules.reading import Prompt, Tried, Wanted

ENTRY = "calculate_properties"
WAYS = 4  # expressions that one draft tries for a property

_HEAD = '''\
from __future__ import annotations

import sys
import types

import numpy as np

KINDS = {
    "bool": (bool, np.bool_),
    "int": (int, np.integer),
    "float": (int, float, np.number),
    "str": (str,),
    "list": (list, tuple, np.ndarray),
    "tuple": (tuple, list, np.ndarray),
    "dict": (dict,),
    "set": (set, frozenset),
}


def _fits(value, kind):
    """Say whether a value has a kind; truth is no number."""
    if value is None or not kind:
        return value is not None
    truth = isinstance(value, (bool, np.bool_))
    return isinstance(value, KINDS[kind]) and truth == (kind == "bool")


def _first(name, kind, inner, *ways):
    """Return the first value of the wanted kind; say what the others gave."""
    for way in ways:
        try:
            value = way()
            if isinstance(value, types.GeneratorType):
                value = list(value)
            if _fits(value, kind):
                items = value.values() if isinstance(value, dict) else value
                if not inner or (len(value) > 0 and all(_fits(item, inner) for item in items)):
                    return value
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        print(f"{name}: got {type(value).__module__}.{type(value).__qualname__}", file=sys.stderr)
    return None


def _probe(variables):
    """Say what the objects are."""
    for name, value in variables.items():
        many = type(value) in (list, tuple) and len(value) > 0
        kind = type(value[0] if many else value)
        if not isinstance(value, (types.ModuleType, types.FunctionType, type)):
            of = "list of " if many else ""
            print(f"probe {name}: {of}{kind.__module__}.{kind.__qualname__}", file=sys.stderr)
'''


@dataclass
class Plan:
    """A question understood: its program with masks filled, and what is known."""

    scope: Scope
    masks: dict[str, Choice]
    groups: list[tuple[list[str], list[ast.stmt]]]  # masks that a group of statements contains


def plan(prompt: Prompt) -> Plan:
    """Read documents and code, and fill the masks that can be filled."""
    knowledge = gather(prompt.documents)
    program = build(prompt, knowledge)
    probed: dict[str, str] = {}
    for tried in prompt.tried:
        probed |= probes(tried.printed)
    grouped = [(masks_in(statement), statement) for statement in program]
    masks = _fill_masks(prompt, program, knowledge, probed)
    filler = Filler({mask: choice.name for mask, choice in masks.items()})
    groups: list[tuple[list[str], list[ast.stmt]]] = []
    for names, statement in grouped:
        filled = _without_masked_imports(ast.fix_missing_locations(filler.visit(statement)))
        if filled is None or masks_in(filled):
            continue  # nothing is known of this mask: the rest may still run
        if groups and not names and not groups[-1][0]:
            groups[-1][1].append(filled)
        else:
            groups.append((names, [filled]))
    filled_in = [*_imports(masks.values()), *(s for _, body in groups for s in body)]
    return Plan(_scope(filled_in, knowledge, probed), masks, groups)


def _imports(chosen: Iterable[Choice]) -> list[ast.stmt]:
    """Import statements of the names that were chosen from a module."""
    lines = [f"from {choice.module} import {choice.name}" for choice in chosen if choice.module]
    return ast.parse("\n".join(dict.fromkeys(lines))).body


def _scope(statements: Sequence[ast.stmt], knowledge: Knowledge, probed: dict[str, str]) -> Scope:
    scope = Scope(knowledge, probed=probed)
    for statement in statements:
        scope.run(statement)
    return scope


def _fill_masks(
    prompt: Prompt, program: list[ast.stmt], knowledge: Knowledge, probed: dict[str, str]
) -> dict[str, Choice]:
    failed = _failed_masks(prompt)
    chosen: dict[str, Choice] = {}
    order = [mask for statement in program for mask in masks_in(statement)]
    for mask in dict.fromkeys(order):
        names = {m: choice.name for m, choice in chosen.items()}
        filled = [Filler(names).visit(ast.parse(ast.unparse(s)).body[0]) for s in program]
        scope = _scope([*_imports(chosen.values()), *filled], knowledge, probed)
        use = uses_of(filled, scope).get(mask)
        if use is None or _only_imported(use, mask):
            continue
        taken = {c.name for m, c in chosen.items() if c.module and m.startswith("MASK_u") is False}
        for choice in choices(use, scope, prompt):
            if (mask, choice.name) not in failed and choice.name not in taken:
                chosen[mask] = choice
                break
    return chosen


def _only_imported(use: Use, mask: str) -> bool:
    """An unnumbered mask in an import line: the masks that are used say what it was."""
    bare = use.owner is None and use.call is None and not use.target
    return mask.startswith("MASK_u") and bool(use.modules) and bare and use.keyword_of is None


def _without_masked_imports(statement: ast.stmt) -> ast.stmt | None:
    if not isinstance(statement, ast.ImportFrom):
        return statement
    statement.names = [a for a in statement.names if not a.name.startswith("MASK_")]
    return statement if statement.names and not masks_in(statement) else None


_MASK_NOTE = re.compile(r"# \[(MASK_u?\d+)\] -> (\w+)")


def _failed_masks(prompt: Prompt) -> set[tuple[str, str]]:
    """Fillings of earlier drafts whose statements failed, or whose value was not accepted."""
    failed = set()
    for tried in prompt.tried:
        fillings = dict(_MASK_NOTE.findall(tried.draft))
        bad = set(re.findall(r"^(MASK_u?\d+) failed", tried.printed, re.MULTILINE))
        if tried.outcome != "ok":
            bad |= set(fillings)
        open_names = flagged(tried)
        for mask, lines in _mask_lines(tried.draft).items():
            if any(re.search(rf"\b{re.escape(name)}\b", lines) for name in open_names):
                bad.add(mask)
        failed |= {(mask, fillings[mask]) for mask in bad if mask in fillings}
    return failed


def _mask_lines(draft: str) -> dict[str, str]:
    """Mask to the code that follows its note in a draft."""
    found = {}
    for match in _MASK_NOTE.finditer(draft):
        found[match[1]] = draft[match.end() :].split("except Exception", 1)[0]
    return found


def flagged(tried: Tried) -> set[str]:
    """Properties that an attempt did not give."""
    names = set(re.findall(r"`([A-Za-z_][\w.]*)`", "\n".join(tried.checks)))
    names |= set(
        re.findall(r"^'([A-Za-z_][\w.]*)': None \(NoneType\)", tried.returned, re.MULTILINE)
    )
    return names


def write(prompt: Prompt) -> str:
    """Write the function that answers a question."""
    made = plan(prompt)
    kept, spent = _history(prompt)
    ranked = {
        wanted.name: [
            way
            for way in propose(wanted, made.scope)
            if way.expression not in spent.get(wanted.name, set())
        ]
        for wanted in prompt.wanted
        if wanted.name not in kept
    }
    imports: list[str] = []
    taken = {way for ways in kept.values() for way in ways[:1]}
    for name, ways in share(ranked, taken).items():
        kept[name] = [way.expression for way in ways[:WAYS]]
        imports += [way.needs for way in ways[:WAYS] if way.needs]
    lines = [_line(wanted, kept[wanted.name]) for wanted in prompt.wanted]
    body = _setup(made, imports)
    parts = [f"def {ENTRY}():", '    """Calculate the properties that were asked for."""']
    parts += [*body, "    _probe(dict(locals()))", "    answers = {}", *lines, "    return answers"]
    return f"{_HEAD}\n\n" + "\n".join(parts)


def _line(wanted: Wanted, ways: Sequence[str]) -> str:
    lambdas = "".join(f", lambda: {way}" for way in ways)
    what = f"{wanted.name!r}, {wanted.kind!r}, {wanted.inner!r}"
    return f"    answers[{wanted.name!r}] = _first({what}{lambdas})"


def share(ranked: Mapping[str, Sequence[Way]], used: Iterable[str]) -> dict[str, list[Way]]:
    """Give every expression to the property that it suits best.

    Two properties of a question are hardly ever the same value, so an expression that already
    stands first for one comes last for the others.
    """
    left, taken = dict(ranked), set(used)
    shared: dict[str, list[Way]] = {}
    while left:
        tops = {
            name: next((way.score for way in ways if way.expression not in taken), 0.0)
            for name, ways in left.items()
        }
        name = max(sorted(tops), key=tops.__getitem__)
        free = [way for way in left[name] if way.expression not in taken]
        shared[name] = free + [way for way in left.pop(name) if way.expression in taken]
        taken |= {way.expression for way in shared[name][:1]}
    return shared


def _setup(made: Plan, imports: Sequence[str]) -> list[str]:
    lines: list[str] = []
    if imports:
        lines += _guarded([ast.parse(line).body[0] for line in dict.fromkeys(imports)], "import")
    if masked := _imports(made.masks.values()):
        lines += _guarded(masked, "import")
    for masks, statements in made.groups:
        lines += [f"    # [{m}] -> {made.masks[m].name}" for m in masks if m in made.masks]
        label = masks[0] if masks else "setup"
        lines += _guarded(statements, label)
    return lines


def _guarded(statements: Sequence[ast.stmt], label: str) -> list[str]:
    """Statements in a ``try`` that reports: later properties may not need them."""
    code = "\n".join(ast.unparse(statement) for statement in statements)
    indented = [f"        {line}" if line else "" for line in code.splitlines()]
    report = f'print(f"{label} failed: {{type(error).__name__}}: {{error}}", file=sys.stderr)'
    return ["    try:", *indented, "    except Exception as error:", f"        {report}"]


def _history(prompt: Prompt) -> tuple[dict[str, list[str]], dict[str, set[str]]]:
    """Expressions that gave a property, and those that were spent on it in vain."""
    kept: dict[str, list[str]] = {}
    spent: dict[str, set[str]] = {}
    for tried in prompt.tried:
        bad = flagged(tried)
        for name, ways in _ways_of(tried.draft).items():
            if tried.outcome == "ok" and name not in bad:
                kept[name] = ways
            elif not re.search(rf"^{re.escape(name)}: NameError", tried.printed, re.MULTILINE):
                kept.pop(name, None)
                spent.setdefault(name, set()).update(ways)
    return kept, spent


def _ways_of(draft: str) -> dict[str, list[str]]:
    try:
        tree = ast.parse(draft)
    except (SyntaxError, ValueError):
        return {}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.args[0] if node.args else None
            if node.func.id == "_first" and isinstance(name, ast.Constant):
                lambdas = [a for a in node.args[3:] if isinstance(a, ast.Lambda)]
                found[str(name.value)] = [ast.unparse(way.body) for way in lambdas]
    return found
