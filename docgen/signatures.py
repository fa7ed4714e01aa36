"""Signatures and types as text, from the syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from docgen.definitions import Class, Function, Module, last_part
from docgen.names import Names, is_enum

_MAX_DEFAULT = 60  # characters of a default value that are shown
_BUILTINS = frozenset(
    {"int", "float", "str", "bool", "list", "dict", "tuple", "set", "complex"}
)


def function_signature(function: Function, receiver: str | None = None) -> str:
    """``(a: int, b=1) -> str`` without the receiver; of a property only `` -> str``.

    Parameters
    ----------
    receiver
        What ``Self`` stands for; the class that defines the method when not given.
    """
    spec = function.node.args
    returns = _returns(function, receiver)
    if function.role == "property":
        return returns
    drop = function.owner is not None and function.role != "staticmethod"
    return f"({', '.join(_parameters(spec, drop_first=drop))}){returns}"


def class_signature(cls: Class, names: Names) -> str:
    """``Name(parameters)`` of the constructor; only the name when it takes none we can see."""
    name = cls.name
    if is_enum(cls, names):
        return name
    made = names.constructor(cls)
    if made is None:
        return f"{name}()" if not cls.node.bases else name
    if isinstance(made, Class):
        return f"{name}({', '.join(_fields(cls, names))})"
    return f"{name}({', '.join(_parameters(made.node.args, drop_first=True))})"


def attribute_type(name: str, hint: ast.expr | None, owner: Class, names: Names) -> str:
    """Type of an attribute as text, empty when the source does not tell."""
    if hint is None:
        return ""
    if name in owner.fields or _is_annotation(hint):
        return annotation_text(hint)
    return value_type(hint, owner, names)


def value_type(value: ast.expr | None, place: Class | Module, names: Names) -> str:
    """Type of the value of an expression in a class or module, empty when that is not plain."""
    if isinstance(value, ast.UnaryOp):
        value = value.operand
    if isinstance(value, ast.Constant):
        return "" if value.value is None else type(value.value).__name__
    if isinstance(value, ast.Call):
        module = place.module if isinstance(place, Class) else place
        return _called_type(value.func, module, names)
    word = (
        type(value).__name__.removesuffix("Comp").lower()
    )  # dict of ast.Dict, ast.DictComp
    return (
        word
        if word in _BUILTINS
        else {"joinedstr": "str", "compare": "bool"}.get(word, "")
    )


def _called_type(func: ast.expr, module: Module, names: Names) -> str:
    called = names.expression(func, module)
    if isinstance(called, Class):
        return called.name
    if isinstance(called, Function):
        return annotation_text(called.node.returns)
    return last_part(func) if last_part(func) in _BUILTINS else ""


def annotation_text(node: ast.expr | None) -> str:
    """An annotation on one line, quotes of forward references removed."""
    if node is None:
        return ""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return " ".join(node.value.split())
    return ast.unparse(node)


def _is_annotation(node: ast.expr) -> bool:
    """Whether the expression reads as a type (it was a parameter's annotation)."""
    match node:
        case ast.BinOp(op=ast.BitOr()) | ast.Subscript():
            return True
        case ast.Name(id=name):
            return name in _BUILTINS or name[:1].isupper()
        case ast.Attribute(attr=attr):
            return attr[:1].isupper() or attr == "ndarray"
        case ast.Constant(value=str(text)):
            return text.isidentifier() and text[:1].isupper()
    return False


def _returns(function: Function, receiver: str | None) -> str:
    text = annotation_text(function.node.returns)
    owner = receiver or (function.owner.name if function.owner else "")
    if owner:
        text = re.sub(r"\bSelf\b", owner, text)
    return f" -> {text}" if text else ""


def _parameters(spec: ast.arguments, *, drop_first: bool) -> list[str]:
    positional = [*spec.posonlyargs, *spec.args]
    defaults = [*[None] * (len(positional) - len(spec.defaults)), *spec.defaults]
    shown = list(map(_parameter, positional, defaults))
    if len(spec.posonlyargs) > drop_first:
        shown.insert(len(spec.posonlyargs), "/")
    shown = shown[drop_first:]
    if spec.vararg is not None or spec.kwonlyargs:
        shown.append(f"*{_parameter(spec.vararg) if spec.vararg else ''}")
    shown += map(_parameter, spec.kwonlyargs, spec.kw_defaults)
    if spec.kwarg is not None:
        shown.append(f"**{_parameter(spec.kwarg)}")
    return shown


def _parameter(argument: ast.arg, default: ast.expr | None = None) -> str:
    hint = annotation_text(argument.annotation)
    text = f"{argument.arg}: {hint}" if argument.annotation else argument.arg
    if default is None:
        return text
    shown = ast.unparse(default)
    equal = " = " if argument.annotation else "="
    return f"{text}{equal}{shown if len(shown) <= _MAX_DEFAULT else '...'}"


def _fields(cls: Class, names: Names) -> Iterator[str]:
    """Fields of a dataclass with those of its bases, in the order of the constructor."""
    fields: dict[str, ast.AnnAssign] = {}
    for owner in reversed(names.mro(cls)):
        fields.update(owner.fields)
    for name, node in fields.items():
        default, options = node.value, {}
        if isinstance(default, ast.Call) and last_part(default) in {"field", "Field"}:
            options = {keyword.arg: keyword.value for keyword in default.keywords}
            first = (
                default.args[0] if default.args else ast.Constant(...)
            )  # made by a factory
            default = options.get("default", first)
        kind = last_part(node.annotation)
        if kind == "KW_ONLY":
            yield "*"
        elif (
            kind != "ClassVar"
            and getattr(options.get("init"), "value", True) is not False
        ):
            yield _parameter(ast.arg(name, node.annotation), default)
