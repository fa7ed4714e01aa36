"""What live objects are, and their docstrings, signatures and annotations as text."""

from __future__ import annotations

import enum
import functools
import inspect
import re
import types
import typing
from collections.abc import Iterable, Iterator
from typing import Any

from .places import class_text, function_lines, names_of, path_of

TEXT = 20_000  # characters of a docstring
SUMMARY = 400  # characters of a member's summary
SHOWN = 60  # characters of a default value
SIGNATURE = 4_000
_ADDRESS = re.compile(r"\bat 0x[0-9a-f]+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def docstring(member: Any) -> str:
    """The docstring as ``help`` shows it; of a class only its own."""
    try:
        text = (
            inspect.cleandoc(member.__doc__ or "")
            if isinstance(member, type)
            else (inspect.getdoc(member) or "")
        )
    except Exception:  # noqa: BLE001 -- a property of a library may raise anything
        return ""
    text = text if isinstance(text, str) else ""
    return text.encode("utf-8", "replace").decode()[:TEXT]


#: Parameters (name, kind, type, default), ``None`` for what takes none or is unknown; result.
Sign = tuple[list[tuple[str, str, str, str | None]] | None, str]
UNKNOWN: Sign = (None, "")


def class_signature(cls: type) -> Sign:
    """Parameters of the constructor; unknown for an enumeration."""
    return UNKNOWN if issubclass(cls, enum.Enum) else signature(cls)


def signature(target: Any, *, drop: bool = False, receiver: str = "Self") -> Sign:
    """How something is called; ``drop`` leaves out the receiver, which ``Self`` stands for."""
    try:
        declaration = inspect.signature(target)
        parameters = list(declaration.parameters.values())
        if (
            drop
            and parameters
            and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL
        ):
            del parameters[0]
        rows = [
            (
                parameter.name,
                parameter.kind.description,
                _received(_hint(parameter.annotation), receiver),
                _default(parameter.default, receiver),
            )
            for parameter in parameters
        ]
        result = (
            "" if isinstance(target, type) else _hint(declaration.return_annotation)
        )
        return rows, _received(result, receiver)
    except Exception:  # noqa: BLE001 -- compiled, or a signature that raises
        return UNKNOWN


def returned(function: Any, receiver: str) -> Sign:
    """The return annotation of a property, may be empty."""
    text = annotation_text(getattr(function, "__annotations__", {}).get("return", ""))
    return None, _received(text, receiver)


def _received(text: str, receiver: str) -> str:
    return re.sub(r"\bSelf\b", receiver, text)[:SIGNATURE]


def _hint(hint: Any) -> str:
    return "" if hint is inspect.Parameter.empty else annotation_text(hint)


def _default(value: Any, receiver: str) -> str | None:
    if value is inspect.Parameter.empty:
        return None
    text = repr(value)
    if len(text) > SHOWN or _ADDRESS.search(text):
        return "..."
    return _received(text, receiver)


def annotation_text(hint: Any) -> str:
    """An annotation on one line."""
    if isinstance(hint, str):
        return " ".join(hint.split())
    if hint is None or hint is type(None):
        return "None"
    if isinstance(hint, type) and not typing.get_args(hint):
        return hint.__name__
    text = re.sub(r"\b(?:[A-Za-z_]\w*\.)+([A-Za-z_]\w*)", r"\1", str(hint))
    return " ".join(re.sub(r"ForwardRef\('([^']*)'\)", r"\1", text).split())


def annotated(function: Any, *, parameters: bool) -> list[str]:
    """Classes that annotations name: qualified where known here, else as they are written."""
    hints = getattr(function, "__annotations__", None)
    scope = getattr(function, "__globals__", {})
    paths: dict[str, None] = {}
    for name, hint in (hints if isinstance(hints, dict) else {}).items():
        if (name != "return") is parameters:
            for path in _classes(hint, scope):
                paths.setdefault(path)
    return list(paths)


def _classes(hint: Any, scope: dict[str, Any]) -> Iterator[str]:
    if isinstance(hint, typing.ForwardRef):
        hint = hint.__forward_arg__
    if isinstance(hint, str):
        for name in _IDENTIFIER.findall(hint):
            top, *rest = name.split(".")
            value = scope.get(top)
            for part in rest:
                value = inspect.getattr_static(value, part, None)
            if isinstance(value, type):
                yield from _classes(value, scope)
            elif top not in scope:
                yield name  # imported for type checking only
    elif typing.get_args(hint):
        for argument in typing.get_args(hint):
            yield from _classes(argument, scope)
    elif isinstance(hint, type) and hint.__module__ != "builtins":
        yield path_of(hint)


def member(
    path: str, kind: str, sign: Sign, text: str, origin: str = ""
) -> dict[str, Any]:
    """One row of a member list; ``text`` is its docstring."""
    return {
        "name": path.rpartition(".")[2],
        "kind": kind,
        "signature": sign,
        "text": " ".join(text.partition("\n\n")[0].split())[:SUMMARY],
        "qualname": path,
        "origin": origin,
    }


def is_function(value: Any) -> bool:
    """Whether it is a function, compiled or wrapped ones included."""
    if isinstance(value, type | types.ModuleType):
        return False
    kinds = {"cython_function_or_method", "_lru_cache_wrapper", "partial"}
    if inspect.isroutine(value) or type(value).__name__ in kinds:
        return True
    return (
        callable(value)
        and inspect.getattr_static(value, "__wrapped__", None) is not None
    )


def getter_of(raw: Any) -> Any | None:
    """The function behind a property (also a cached or lazy one), else ``None``."""
    if isinstance(raw, property):
        return raw.fget
    if isinstance(raw, functools.cached_property):
        return raw.func
    lazy = hasattr(type(raw), "__get__") and not is_function(raw)
    if lazy and not isinstance(raw, classmethod | staticmethod):
        function = next(
            (
                vars(raw)[n]
                for n in ("fget", "func", "_func")
                if hasattr(raw, "__dict__") and n in vars(raw)
            ),
            None,
        )
        return function if is_function(function) else None
    return None


def owners(cls: type) -> Iterator[tuple[str, type]]:
    """Public names of a class with the class that defines each, own ones first."""
    order = {base: position for position, base in enumerate(cls.__mro__)}
    rows = []
    # an enumeration does not list its methods
    for name in {
        *names_of(cls),
        *(name for base in cls.__mro__ for name in vars(base)),
    }:
        owner = next((base for base in cls.__mro__ if name in vars(base)), cls)
        if not name.startswith("_") and owner is not object:
            line = first_line(vars(owner).get(name))
            rows.append((order[owner], line, name, owner))
    for _, _, name, owner in sorted(rows, key=lambda item: item[:3]):
        yield name, owner


def attributes(cls: type, bases: Iterable[type]) -> list[dict[str, Any]]:
    """Attributes: annotated, assigned in the class, assigned to ``self``, members of an enum."""
    rows: dict[str, dict[str, Any]] = {}
    for base in bases:
        hints = vars(base).get("__annotations__", {})
        hints = hints if isinstance(hints, dict) else {}
        values = {
            n: v for n, v in vars(base).items() if not hasattr(type(v), "__get__")
        }
        texts = {name: annotation_text(hint) for name, hint in hints.items()}
        for name, value in values.items():
            texts.setdefault(name, "" if value is None else type(value).__name__)
        for name in re.findall(
            r"\bself\.([A-Za-z]\w*)\s*(?::[^=\n]+)?=[^=]", class_text(base)[1]
        ):
            texts.setdefault(name, "")
        origin = "" if base is cls else base.__name__
        for name, text in texts.items():
            constant = isinstance(values.get(name), type) or is_function(
                values.get(name)
            )
            if not str(name).startswith("_") and name not in rows and not constant:
                path = f"{path_of(base)}.{name}"
                rows[name] = member(path, "attribute", (None, text), "", origin)
    return list(rows.values())


def first_line(value: Any) -> int:
    """Line of a definition, 0 when unknown."""
    if isinstance(value, type):
        return class_text(value)[0]
    return function_lines(getter_of(value) or getattr(value, "__func__", value))[0]
