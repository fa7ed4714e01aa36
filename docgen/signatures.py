"""Signatures and types, from the syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from docgen.definitions import Class, Function, Module, last_part
from docgen.names import Names, is_enum
from docgen.symbols import Parameter, ParameterKind, Signature

_MAX_DEFAULT = 60  # characters of a default value that are shown
_BUILTINS = frozenset(
    {"int", "float", "str", "bool", "list", "dict", "tuple", "set", "complex"}
)


def function_signature(function: Function, receiver: str | None = None) -> Signature:
    """Parameters without the receiver, and the type of the result; of a property only that.

    Parameters
    ----------
    receiver
        What ``Self`` stands for; the class that defines the method when not given.
    """
    returns = _returns(function, receiver)
    if function.role == "property":
        return Signature(None, returns)
    bound = function.owner is not None and function.role != "staticmethod"
    return Signature(tuple(read_parameters(function.node.args, bound=bound)), returns)


def class_signature(cls: Class, names: Names) -> Signature:
    """Parameters of the constructor; none where we cannot see any."""
    if is_enum(cls, names):
        return Signature()
    constructor = names.constructor(cls)
    if constructor is None:
        return Signature(None if cls.node.bases else ())
    if isinstance(constructor, Class):
        return Signature(tuple(_fields(cls, names)))
    return Signature(tuple(read_parameters(constructor.node.args, bound=True)))


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
    return re.sub(r"\bSelf\b", owner, text) if owner else text


def read_parameters(spec: ast.arguments, *, bound: bool) -> Iterator[Parameter]:
    """Every parameter, of a ``bound`` function without the receiver."""
    positional = [*spec.posonlyargs, *spec.args]
    without_default = len(positional) - len(spec.defaults)
    defaults = [*[None] * without_default, *spec.defaults]
    for number, argument in enumerate(positional):
        kind: ParameterKind = "positional or keyword"
        if number < len(spec.posonlyargs):
            kind = "positional-only"
        if number or not bound:
            yield _parameter(argument, kind, defaults[number])
    if spec.vararg is not None:
        yield _parameter(spec.vararg, "variadic positional")
    for argument, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        yield _parameter(argument, "keyword-only", default)
    if spec.kwarg is not None:
        yield _parameter(spec.kwarg, "variadic keyword")


def _parameter(
    argument: ast.arg, kind: ParameterKind, default: ast.expr | None = None
) -> Parameter:
    text = None if default is None else ast.unparse(default)
    if text is not None and len(text) > _MAX_DEFAULT:
        text = "..."
    return Parameter(argument.arg, kind, annotation_text(argument.annotation), text)


def _fields(cls: Class, names: Names) -> Iterator[Parameter]:
    """Fields of a dataclass with those of its bases, in the order of the constructor."""
    fields: dict[str, ast.AnnAssign] = {}
    for owner in reversed(names.mro(cls)):
        fields.update(owner.fields)
    kind: ParameterKind = "positional or keyword"
    for name, node in fields.items():
        annotation = last_part(node.annotation)
        if annotation == "KW_ONLY":
            kind = "keyword-only"
        elif annotation != "ClassVar" and _is_initialised(node.value):
            argument = ast.arg(name, node.annotation)
            yield _parameter(argument, kind, _field_default(node.value))


def _options(value: ast.expr | None) -> dict[str | None, ast.expr] | None:
    """Keywords of ``field(...)``, ``None`` for any other value."""
    if isinstance(value, ast.Call) and last_part(value) in {"field", "Field"}:
        return {keyword.arg: keyword.value for keyword in value.keywords}
    return None


def _is_initialised(value: ast.expr | None) -> bool:
    """Whether the constructor takes a field."""
    init = (_options(value) or {}).get("init")
    return getattr(init, "value", True) is not False


def _field_default(value: ast.expr | None) -> ast.expr | None:
    options = _options(value)
    if options is None or not isinstance(value, ast.Call):
        return value
    unknown = ast.Constant(...)  # by a factory
    return options.get("default", value.args[0] if value.args else unknown)
