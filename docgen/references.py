"""What a definition refers to without calling it: constants, members of enumerations, imports."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from docgen.constants import Constant
from docgen.definitions import Class, Module
from docgen.names import Names


def references(
    nodes: Iterable[ast.AST], module: Module, names: Names, owner: Class | None = None
) -> tuple[dict[str, Constant], dict[str, str]]:
    """Constants and attributes of the library, and names from outside it, in order of appearance.

    Returns
    -------
    tuple of dict
        Qualified name -> constant, and name as written -> the dotted path that it was imported
        from (only where the import does not show the path itself, as ``import numpy`` does).
    """
    constants: dict[str, Constant] = {}
    outside: dict[str, str] = {}
    for node in _walk(nodes):
        found: object = None
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            origin = module.bindings.get(node.id, "")
            if origin or node.id in module.constants or module.stars:
                found = names.in_module(module, node.id)
            if found is None and "." in origin and not origin.startswith(f"{module.name}."):
                outside.setdefault(node.id, origin)
        elif isinstance(node, ast.Attribute):
            found = _attribute(node, module, names, owner)
        if isinstance(found, Constant) and found.node not in nodes:
            constants.setdefault(found.qualname, found)
    return constants, outside


def _attribute(
    node: ast.Attribute, module: Module, names: Names, owner: Class | None
) -> object | None:
    if isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"} and owner is not None:
        holder: object = owner
    else:
        holder = names.expression(node.value, module)
    if isinstance(holder, Class):
        return next(
            (c.constants[node.attr] for c in names.mro(holder) if node.attr in c.constants), None
        )
    return names.in_module(holder, node.attr) if isinstance(holder, Module) else None


def _walk(nodes: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """Every node in source order, annotations left out; deep code cannot overflow this."""
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        yield node
        inner = [
            child
            for name, value in ast.iter_fields(node)
            if name not in {"annotation", "returns"}
            for child in (value if isinstance(value, list) else [value])
            if isinstance(child, ast.AST)
        ]
        stack += inner[::-1]
