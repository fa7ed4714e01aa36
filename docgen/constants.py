"""Constants of modules and attributes of classes: their value, and what is said about them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docgen.definitions import Class, Module

_LONGEST = 200  # characters of a value that are shown
#: Calls whose result is nothing that a user of the library computes with.
_PLUMBING = frozenset({"getLogger", "TypeVar", "TypeVarTuple", "ParamSpec", "NewType"})


@dataclass
class Constant:
    """A name that the top level of a module or the body of a class assigns.

    ``value`` is ``None`` for an annotation alone (a field without a default); ``docstring`` is a
    string literal after the assignment or its comments.
    """

    name: str
    node: ast.Assign | ast.AnnAssign
    value: ast.expr | None
    docstring: str
    module: Module
    owner: Class | None = None

    @property
    def qualname(self) -> str:
        """Dotted path."""
        return f"{self.owner.qualname if self.owner else self.module.name}.{self.name}"

    @property
    def line(self) -> str:
        """The assignment on one line, cut when long; an attribute's with its class."""
        text = " ".join(ast.unparse(self.node).split())
        prefix = f"{self.owner.node.name}." if self.owner else ""
        return prefix + (text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ...")

    @property
    def documented(self) -> bool:
        """Whether it is something to look up: a logger or a type variable is not."""
        value = self.value
        if self.name.startswith("_") or (value is None and self.owner is None):
            return False
        called = value.func if isinstance(value, ast.Call) else None
        name = getattr(called, "attr", getattr(called, "id", ""))
        return name not in _PLUMBING

    @property
    def literal(self) -> str:
        """The value as source text, cut when long; empty when the source gives no literal."""
        try:
            ast.literal_eval(self.value or "")
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return ""
        text = ast.unparse(self.value) if self.value is not None else ""
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def constants(
    body: Sequence[ast.stmt], module: Module, owner: Class | None = None
) -> Iterator[Constant]:
    """The assignments to plain names in ``body``, in order."""
    for node, after in pairwise([*body, ast.Pass()]):
        if isinstance(node, ast.AnnAssign):
            targets: list[ast.expr] = [node.target]
        elif isinstance(node, ast.Assign):
            targets = node.targets
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name):
                told = _docstring(node, after, module.lines)
                yield Constant(target.id, node, node.value, told, module, owner)


def _docstring(node: ast.stmt, after: ast.stmt, lines: Sequence[str]) -> str:
    match after:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return " ".join(text.encode(errors="replace").decode().split())
    end = node.end_lineno or node.lineno
    behind = lines[end - 1].encode()[node.end_col_offset or 0 :].decode(errors="replace").strip()
    above: list[str] = []
    for line in reversed(lines[max(0, node.lineno - 1 - 10) : node.lineno - 1]):
        if not line.strip().startswith("#"):
            break
        above.insert(0, line)
    comments = [*above, *([behind] if behind.startswith("#") else [])]
    marked = [c for c in comments if c.strip().startswith("#:")]
    words = (c.strip().lstrip("#:").strip() for c in marked or comments)
    return " ".join(w for w in words if any(map(str.isalnum, w)) and not w.startswith("noqa"))
