"""The code of an answer as a syntax tree: read once, under caps, for whoever asks about it."""

from __future__ import annotations

import ast


def parsed(code: str) -> ast.Module:
    """The code, empty where it cannot be read: for a newer Python, or nested too deep."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def text_of(node: ast.AST) -> str:
    """The code of a node, empty where it is nested too deep."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return ""


def called_name(node: ast.Call) -> str:
    """The last part of the name that is called."""
    return text_of(node.func).rpartition(".")[2]


def hard_coded(tree: ast.Module) -> dict[str, int]:
    """Keys of the returned dict whose value is a literal whatever happens -> its line.

    A literal counts through names that are bound once, and through calls that round or cast. What
    a condition chose was computed; what is passed under a keyword (``symprec``) is a setting.
    """
    bindings = _single_bindings(tree)
    settings = _settings(tree)
    lines: dict[str, int] = {}
    for key, value in _returned(tree):
        line = _literal_line(value, bindings)
        is_setting = key in settings or (
            isinstance(value, ast.Name) and value.id in settings
        )
        if line is not None and not is_setting:
            lines[key] = line
        else:
            lines.pop(key, None)
    return lines


def passed_literals(tree: ast.Module) -> dict[str | int, int]:
    """Texts and whole numbers that are passed to calls without a keyword -> their line."""
    lines: dict[str | int, int] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or called_name(node) in _CASTS:
            continue
        for argument in node.args:
            for part in ast.walk(argument):
                if isinstance(part, ast.Call):
                    break  # its arguments are its own
                if isinstance(part, ast.Constant) and type(part.value) in {str, int}:
                    lines.setdefault(part.value, part.lineno)  # type: ignore[arg-type]
    return lines


def _returned(tree: ast.Module) -> list[tuple[str, ast.expr]]:
    """Keys and values of dicts that are returned, written out or filled in."""
    returned_names = {
        node.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Name)
    }
    pairs: list[tuple[str, ast.expr]] = []
    for node in ast.walk(tree):
        match node:
            case ast.Return(value=ast.Dict() as display):
                pairs += _pairs(display)
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Dict() as display
            ) if name in returned_names:
                pairs += _pairs(display)
            case ast.Assign(
                targets=[
                    ast.Subscript(
                        value=ast.Name(id=name), slice=ast.Constant(value=str(key))
                    )
                ],
                value=value,
            ) if name in returned_names:
                pairs.append((key, value))
    return pairs


def _pairs(display: ast.Dict) -> list[tuple[str, ast.expr]]:
    return [
        (key.value, value)
        for key, value in zip(display.keys, display.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    ]


def _single_bindings(tree: ast.Module) -> dict[str, ast.expr]:
    """Names that are bound exactly once, by a plain assignment outside of any branch."""
    bound: dict[str, list[ast.expr | None]] = {}
    unconditional = {
        id(statement)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef)
        for statement in node.body
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.setdefault(node.id, []).append(None)
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                id(node) in unconditional and len(bound[name]) == 1
            ):
                bound[name] = [value]
    return {name: values[0] for name, values in bound.items() if values[0] is not None}


def _settings(tree: ast.Module) -> set[str]:
    """Keywords of calls, and names that are passed under a keyword (``symprec=tolerance``)."""
    names: set[str] = set()
    for node in ast.walk(tree):
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            names.add(keyword.arg or "")
            if isinstance(keyword.value, ast.Name):
                names.add(keyword.value.id)
    return names


_CASTS = frozenset({"round", "float", "int", "str", "abs"})


def _literal_line(
    node: ast.expr, bindings: dict[str, ast.expr], depth: int = 8
) -> int | None:
    match node:
        case ast.Constant(value=str() | int() | float() as value) if not isinstance(
            value, bool
        ):
            return node.lineno if value not in {0, 1, ""} else None
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return _literal_line(operand, bindings, depth)
        case ast.Name(id=name) if name in bindings and depth:
            return _literal_line(bindings[name], bindings, depth - 1)
        case ast.Call(args=[first, *_]) if called_name(node) in _CASTS:
            return _literal_line(first, bindings, depth)
    return None
