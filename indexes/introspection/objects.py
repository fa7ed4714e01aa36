"""What live objects are: functions, properties, who defines a member, attributes."""

from __future__ import annotations

import functools
import inspect
import re
import types
from collections.abc import Iterable, Iterator
from typing import Any

from .places import class_lines, class_source, function_lines, names_of, path_of
from .texts import annotation_text, member


def is_function(found: Any) -> bool:
    """Whether it is a function, compiled or wrapped ones included."""
    if isinstance(found, type | types.ModuleType):
        return False
    kinds = {"cython_function_or_method", "_lru_cache_wrapper", "partial"}
    if inspect.isroutine(found) or type(found).__name__ in kinds:
        return True
    return callable(found) and inspect.getattr_static(found, "__wrapped__", None) is not None


def getter_of(raw: Any) -> Any | None:
    """The function behind a property (also a cached or lazy one), else ``None``."""
    if isinstance(raw, property):
        return raw.fget
    if isinstance(raw, functools.cached_property):
        return raw.func
    lazy = hasattr(type(raw), "__get__") and not is_function(raw)
    if lazy and not isinstance(raw, classmethod | staticmethod):
        function = next((vars(raw)[n] for n in ("fget", "func", "_func")
                         if hasattr(raw, "__dict__") and n in vars(raw)), None)  # fmt: skip
        return function if is_function(function) else None
    return None


def owners(cls: type) -> Iterator[tuple[str, type]]:
    """Public names of a class with the class that defines each, own ones first."""
    order = {base: position for position, base in enumerate(cls.__mro__)}
    found = []
    # an enumeration does not list its methods
    for name in {*names_of(cls), *(name for base in cls.__mro__ for name in vars(base))}:
        owner = next((base for base in cls.__mro__ if name in vars(base)), cls)
        if not name.startswith("_") and owner is not object:
            line = first_line(vars(owner).get(name))
            found.append((order[owner], line, name, owner))
    for _, _, name, owner in sorted(found, key=lambda item: item[:3]):
        yield name, owner


def attributes(cls: type, bases: Iterable[type]) -> list[dict[str, str]]:
    """Attributes: annotated, assigned in the class, assigned to ``self``, members of an enum."""
    found: dict[str, dict[str, str]] = {}
    for base in bases:
        hints = vars(base).get("__annotations__", {})
        hints = hints if isinstance(hints, dict) else {}
        values = {n: v for n, v in vars(base).items() if not hasattr(type(v), "__get__")}
        texts = {name: annotation_text(hint) for name, hint in hints.items()}
        for name, value in values.items():
            texts.setdefault(name, "" if value is None else type(value).__name__)
        for name in re.findall(r"\bself\.([A-Za-z]\w*)\s*(?::[^=\n]+)?=[^=]", class_source(base)):
            texts.setdefault(name, "")
        origin = "" if base is cls else base.__name__
        for name, text in texts.items():
            constant = isinstance(values.get(name), type) or is_function(values.get(name))
            if not str(name).startswith("_") and name not in found and not constant:
                sign = f"-> {text}" if text else ""
                found[name] = member(name, "attribute", sign, "", f"{path_of(base)}.{name}", origin)
    return list(found.values())


def first_line(found: Any) -> int:
    """Line of a definition, 0 when unknown."""
    if isinstance(found, type):
        return class_lines(found)[0]
    return function_lines(getter_of(found) or getattr(found, "__func__", found))[0]
