"""Symbols as readers and writers would fill them."""

from __future__ import annotations

import ast
from typing import Any

from docgen.replies import read_sections
from docgen.signatures import read_parameters
from docgen.symbols import Member, Signature, Symbol


def symbol(name: str, kind: Any = "function", text: str = "", **facts: Any) -> Symbol:
    """A symbol whose document says ``text``; further fields by name."""
    fields: dict[str, Any] = {
        "signature": None,
        "docstring": "",
        "source": "",
        "package": "lab",
        "version": "1",
        "path": f"{name.rpartition('.')[0].replace('.', '/')}.py",
        "first_line": 1,
        "last_line": 1,
        "import_path": name,
        "sections": read_sections(text),
    }
    return Symbol(name, kind, **{**fields, **facts})


def signature(text: str) -> Signature:
    """``(a: float, b=1) -> float`` as a reader has it."""
    (node,) = ast.parse(f"def f{text}: ...").body
    assert isinstance(node, ast.FunctionDef)
    returns = ast.unparse(node.returns) if node.returns else ""
    return Signature(tuple(read_parameters(node.args, bound=False)), returns)


def member(
    name: str, text: str = "", summary: str = "", kind: Any = "method"
) -> Member:
    """A member of a class; the last part of ``name`` is what it is called."""
    given = signature(text) if text.startswith("(") else Signature()
    return Member(name.rpartition(".")[2], kind, given, summary, name)
