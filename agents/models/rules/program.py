"""The question's own code as a program: parsed, masks named, paths bound, what it imports made."""

from __future__ import annotations

import ast
import re

from agents.models.rules.knowledge import Knowledge
from agents.models.rules.reading import MASK, Prompt
from agents.models.rules.words import agreement, name_words

MASK_NAME = re.compile(r"^MASK_(\d+|u\d+)$")


def build(prompt: Prompt, knowledge: Knowledge) -> list[ast.stmt]:
    """The code blocks of a question as one program.

    Masks become names of the form ``MASK_1`` (numbered) or ``MASK_u1``.
    """
    statements: list[ast.stmt] = []
    counter = 0

    def name_mask(match: re.Match[str]) -> str:
        nonlocal counter
        counter += 1
        return f"MASK_{match[1]}" if match[1] else f"MASK_u{counter}"

    for block in prompt.blocks:
        for statement in _parse(MASK.sub(name_mask, block)):
            value = statement.value if isinstance(statement, ast.Expr) else None
            if value is None or isinstance(value, ast.Call):  # else a value that is only shown
                statements.append(statement)
    return [*_paths(statements, prompt.paths), *statements, *_made(statements, knowledge)]


def _paths(statements: list[ast.stmt], paths: tuple[str, ...]) -> list[ast.stmt]:
    """Bind unbound names used as ``name / "file"``, or called a path, to paths of the question."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    lines = []
    for name in dict.fromkeys(node.id for node in names if paths and node.id not in bound):
        files = [
            file
            for node in nodes
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
            for left, file in [(node.left, getattr(node.right, "value", None))]
            if isinstance(left, ast.Name) and left.id == name and isinstance(file, str)
        ]
        words = set(name_words(name))
        if not files and not words & {"path", "dir", "fil", "folder"}:
            continue
        ends = tuple(f"/{file}" for file in files)
        best = max(paths, key=lambda p: (p.endswith(ends), len(words & {*name_words(p)})))
        folder = best.rstrip("/")
        if ends and folder.endswith(ends):
            folder = folder[: -len(ends[0])]
        lines.append(f"from pathlib import Path\n{name} = Path({folder!r})")
    return ast.parse("\n".join(lines)).body


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
    names = [n for s in statements for n in ast.walk(s) if isinstance(n, ast.Name)]
    used = {name.id for name in names}
    variables = list(dict.fromkeys(n.id for n in names if isinstance(n.ctx, ast.Store)))
    lines = []
    for name, qualname in imported.items():
        symbol = knowledge.find(qualname) if name not in used else None
        if symbol is None or symbol.kind != "class" or MASK_NAME.match(name):
            continue
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
