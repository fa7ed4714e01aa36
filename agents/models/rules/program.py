"""The question's own code as a program: parsed, ordered, its loose names bound."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections.abc import Iterable
from dataclasses import dataclass, field

from agents.models.rules.knowledge import Knowledge
from agents.models.rules.reading import MASK, Prompt
from agents.models.rules.words import agreement, name_words

MASK_NAME = re.compile(r"^MASK_(\d+|u\d+)$")
_WELL_KNOWN = {
    "np": "import numpy as np",
    "npt": "import numpy.typing as npt",
    "pd": "import pandas as pd",
    "math": "import math",
    "itertools": "import itertools",
    "json": "import json",
    "copy": "import copy",
    "os": "import os",
    "Path": "from pathlib import Path",
    "defaultdict": "from collections import defaultdict",
    "namedtuple": "from collections import namedtuple",
}


@dataclass
class Program:
    """Statements in an order in which they can run.

    Attributes
    ----------
    statements
        Setup code; masks are names of the form ``MASK_1`` (numbered) or ``MASK_u1``.
    expressions
        Expressions without effect that stood alone: the question shows a value.
    given
        Variables made of the literals in running text, with the words before them.
    loose
        Names that nothing defines.
    """

    statements: list[ast.stmt] = field(default_factory=list)
    expressions: list[ast.expr] = field(default_factory=list)
    given: dict[str, str] = field(default_factory=dict)
    loose: list[str] = field(default_factory=list)


def build(prompt: Prompt, knowledge: Knowledge) -> Program:
    """Turn the code blocks of a question into one program."""
    program = Program()
    counter = 0

    def name_mask(match: re.Match[str]) -> str:
        nonlocal counter
        counter += 1
        return f"MASK_{match[1]}" if match[1] else f"MASK_u{counter}"

    for block in prompt.blocks:
        for statement in _parse(MASK.sub(name_mask, block)):
            value = statement.value if isinstance(statement, ast.Expr) else None
            if value is None or isinstance(value, (ast.Call, ast.Await)):
                program.statements.append(statement)
            elif not isinstance(value, ast.Constant):
                program.expressions.append(value)
    program.statements = _ordered(program.statements)
    _add_literals(program, prompt)
    _bind_loose(program, prompt, knowledge)
    program.statements += _made(program.statements, knowledge)
    return program


def _made(statements: list[ast.stmt], knowledge: Knowledge) -> list[ast.stmt]:
    """Objects of classes that the question imports and never makes.

    An import without a use tells what the answer is made with.
    """
    imported = {
        alias.asname or alias.name: f"{statement.module}.{alias.name}"
        for statement in statements
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    used = {n.id for s in statements for n in ast.walk(s) if isinstance(n, ast.Name)}
    lines = []
    for name, qualname in imported.items():
        symbol = knowledge.find(qualname) if name not in used else None
        if symbol is None or symbol.kind != "class" or MASK_NAME.match(name):
            continue
        variables = [v for s in statements for v in sorted(defines(s)) if v not in imported]
        required = [p.name for p in symbol.signature.parameters if p.required]
        chosen = [_argument(parameter, variables) for parameter in required]
        if all(chosen) and len(set(chosen)) == len(chosen):
            arguments = ", ".join(f"{p}={v}" for p, v in zip(required, chosen, strict=True))
            taken = name.lower() in variables or name.lower() in imported
            lines.append(f"{'made_' * taken}{name.lower()} = {name}({arguments})")
    return ast.parse("\n".join(lines)).body


def _argument(parameter: str, variables: list[str]) -> str:
    """Variable that is called like a parameter; ``""`` when none is."""
    words = name_words(parameter)
    scored = [(agreement(words, name_words(v)), i, v) for i, v in enumerate(variables)]
    score, _, best = max(scored, default=(0.0, 0, ""))
    if score > 0.4:
        return best
    # A single letter is how structures, lattices and compositions are often abbreviated.
    return next((v for v in variables if v == parameter[:1]), "")


def _parse(code: str) -> list[ast.stmt]:
    """Statements of a block; lines that cannot be read are left out, one after the other."""
    lines = code.splitlines()
    for _ in range(len(lines)):
        try:
            return ast.parse("\n".join(lines)).body
        except SyntaxError as error:
            where = min(max((error.lineno or 1) - 1, 0), len(lines) - 1)
            del lines[where]
        except (ValueError, RecursionError):
            return []
    return []


def defines(statement: ast.stmt) -> set[str]:
    """Names that a top-level statement binds."""
    found: set[str] = set()
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(a.asname or a.name).partition(".")[0] for a in statement.names}
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def uses(statement: ast.stmt) -> set[str]:
    """Global names that a top-level statement reads, annotations left out."""
    stripped = ast.fix_missing_locations(_WithoutAnnotations().visit(_copy(statement)))
    table = symtable.symtable(ast.unparse(stripped), "<question>", "exec")
    found: set[str] = set()
    stack = [table]
    while stack:
        scope = stack.pop()
        stack.extend(scope.get_children())
        top = scope is table
        for symbol in scope.get_symbols():
            if symbol.is_referenced() and (top or symbol.is_global()):
                found.add(symbol.get_name())
    return found


class _WithoutAnnotations(ast.NodeTransformer):
    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.Pass()
        return self.generic_visit(ast.Assign(targets=[node.target], value=node.value))


def _copy(statement: ast.stmt) -> ast.stmt:
    return ast.parse(ast.unparse(statement)).body[0]


def _ordered(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Move a statement behind the one that first defines what it reads; else keep the order.

    Questions sometimes show a call before the line that makes its argument.
    """
    rest, done, known = list(statements), [], set[str]()
    everything = set().union(*(defines(s) for s in statements)) if statements else set()
    while rest:
        ready = (
            index
            for index, statement in enumerate(rest)
            if isinstance(statement, ast.FunctionDef)
            or not (uses(statement) & everything) - known - defines(statement)
        )
        statement = rest.pop(next(ready, 0))  # in a circle, what comes first
        done.append(statement)
        known |= defines(statement)
    return done


def _add_literals(program: Program, prompt: Prompt) -> None:
    for number, (hint, literal) in enumerate(prompt.literals, 1):
        name = f"given_{number}"
        program.given[name] = hint
        program.statements.insert(0, ast.parse(f"{name} = {literal}").body[0])


def _bind_loose(program: Program, prompt: Prompt, knowledge: Knowledge) -> None:
    known = set(dir(builtins)) | {"__file__", "__name__"}
    known |= set().union(*(defines(s) for s in program.statements), set())
    read = [name for s in program.statements for name in sorted(uses(s))]
    read += [n.id for e in program.expressions for n in ast.walk(e) if isinstance(n, ast.Name)]
    bound: list[str] = []
    for name in dict.fromkeys(read):
        if name in known or MASK_NAME.match(name):
            continue
        line = _WELL_KNOWN.get(name) or _path_line(name, program, prompt)
        meant = None if line else _misspelt(name, known)
        if meant:
            _rename(program, name, meant)
            continue
        symbol = None if line else knowledge.find(name)
        if symbol is not None:
            line = f"from {symbol.qualname.rpartition('.')[0]} import {name}"
        if line is None:
            program.loose.append(name)
        else:
            bound.append(line)
    header = ast.parse("\n".join(bound)).body
    program.statements = header + program.statements


def _misspelt(name: str, known: Iterable[str]) -> str | None:
    """Name that was meant where one letter at most is missing or too much."""
    for other in sorted(known):
        short, long = sorted((name, other), key=len)
        near = len(long) - len(short) == 1 and len(short) > 3
        if near and any(long[:i] + long[i + 1 :] == short for i in range(len(long))):
            return other
    return None


def _rename(program: Program, name: str, meant: str) -> None:
    for node in (n for s in program.statements for n in ast.walk(s)):
        if isinstance(node, ast.Name) and node.id == name:
            node.id = meant


def _path_line(name: str, program: Program, prompt: Prompt) -> str | None:
    """Bind a name used as ``name / "file"`` or passed as a path to a path of the question."""
    if not prompt.paths:
        return None
    files = [
        node.right.value
        for statement in program.statements
        for node in ast.walk(statement)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Div)
        and isinstance(node.left, ast.Name)
        and node.left.id == name
        and isinstance(node.right, ast.Constant)
        and isinstance(node.right.value, str)
    ]
    words = name_words(name)
    looks_like_path = bool({"path", "dir", "fil", "folder"} & set(words))
    if not files and not looks_like_path:
        return None
    best = max(prompt.paths, key=lambda path: _path_score(path, files, words))
    folder = best.rstrip("/")
    if files and _ends_with(folder, files):
        folder = folder[: -len(files[0]) - 1]
    return f"from pathlib import Path\n{name} = Path({folder!r})"


def _ends_with(path: str, files: Iterable[str]) -> bool:
    return any(path.endswith("/" + file) for file in files)


def _path_score(path: str, files: list[str], words: Iterable[str]) -> tuple[bool, float]:
    pieces = set(name_words(path))
    return _ends_with(path, files), len(set(words) & pieces)
