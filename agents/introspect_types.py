"""What the expressions of a draft are, read from the annotations of the installed libraries.

The second half of ``agents.introspect_probe``: standard library only, sent to the sandbox with it.
"""

from __future__ import annotations

import ast
import builtins
import collections
import enum
import importlib
import inspect
import re
import sys
import types
import typing
from collections import abc
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from indexes.introspection.places import class_source, lines_of

#: What stands for a container in ``Known.value``: equal items; pairs of a dict; places of a tuple.
ITEMS, PAIRS, PLACES = "items", "pairs", "places"
_ITERABLES = (list, set, frozenset, collections.deque, abc.Sequence, abc.MutableSequence, abc.Set,
              abc.Iterable, abc.Iterator, abc.Generator, abc.Collection)  # fmt: skip
_MAPPINGS = (dict, abc.Mapping, abc.MutableMapping, collections.defaultdict,
             collections.OrderedDict)  # fmt: skip
_WITHOUT_FIELDS = {"builtins", "typing", "abc", "collections.abc"}
DEPTH = 6  # of nested annotations
HOMES = 4  # places of one name


@dataclass(frozen=True)
class Known:
    """What an expression is: an object of a library, an instance of a class of it, or a container.

    ``inner`` is what a container holds: of ``ITEMS`` the item, of ``PAIRS`` key and value, of
    ``PLACES`` every place; ``None`` where that is not known.
    """

    value: Any
    instance: bool = False
    inner: tuple[Known | None, ...] = ()

    @property
    def label(self) -> str:
        """Dotted name as the library knows it."""
        name = getattr(self.value, "__qualname__", getattr(self.value, "__name__", ""))
        if isinstance(self.value, types.ModuleType):
            return str(name)
        return f"{getattr(self.value, '__module__', '')}.{name}"


@dataclass(frozen=True, eq=False)
class Method:
    """A function of a class."""

    owner: type
    name: str
    static: Any
    bound: bool

    @property
    def function(self) -> Any:
        """The function itself."""
        return getattr(self.static, "__func__", self.static)

    @property
    def label(self) -> str:
        """Dotted name."""
        return f"{self.owner.__module__}.{self.owner.__qualname__}.{self.name}"

    @property
    def signature(self) -> inspect.Signature:
        """Signature as the draft has to call it."""
        full = inspect.signature(self.function)
        implicit = isinstance(self.static, classmethod) or (
            self.bound and not isinstance(self.static, staticmethod)
        )
        parameters = list(full.parameters.values())
        if implicit and parameters and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL:
            parameters = parameters[1:]
        return full.replace(parameters=parameters)


class Members:
    """Everything that instances of a class may have, read from the class and its source."""

    def __init__(self, owner: type) -> None:
        self.owner = owner
        bases = [cls for cls in owner.__mro__ if cls.__module__ not in _WITHOUT_FIELDS]
        sources_of = [class_source(cls) for cls in bases]
        text = "\n".join(sources_of)
        self.dynamic = any(
            "__getattr__" in vars(cls) or "__getattribute__" in vars(cls)
            for cls in owner.__mro__
            if cls is not object
        )
        # Attributes made by name cannot be listed: such a class is never said to lack one.
        self.open = (
            self.dynamic
            or not all(sources_of)
            or bool(re.search(r"setattr\(self|self\.__dict__|vars\(self\)", text))
        )
        annotated = {n for cls in owner.__mro__ for n in vars(cls).get("__annotations__", {})}
        self.names = sorted({*dir(owner), *annotated, *re.findall(r"\bself\.([A-Za-z_]\w*)", text)})

    def may_have(self, name: str, *, instance: bool) -> bool:
        """Whether the class, or an instance of it, may have an attribute."""
        if hasattr(self.owner, name):
            return True
        return instance and (self.open or name in self.names)


def returned(function: Any, owner: type | None) -> Known | None:
    """What a function says it returns."""
    annotation = getattr(function, "__annotations__", {}).get("return")
    return typed(annotation, getattr(function, "__module__", ""), owner)


def field(owner: type, name: str) -> Known | None:
    """What a class says that an attribute of its instances is."""
    for cls in owner.__mro__:
        if name in vars(cls).get("__annotations__", {}):
            return typed(cls.__annotations__[name], cls.__module__, owner)
    return None


def typed(annotation: Any, module: str, owner: type | None, depth: int = DEPTH) -> Known | None:
    """An instance of what an annotation says; ``None`` where that is not known for certain.

    Parameters
    ----------
    module
        Where the annotation stands; its names are looked up there.
    owner
        What ``Self`` is.
    """
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        try:  # the library's own text: it was imported, so it may run here
            annotation = eval(annotation, {}, _Names(module))  # noqa: S307
        except Exception:  # noqa: BLE001 -- an annotation may hold anything
            return None
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if depth == 0 or annotation is Any:
        return None
    if isinstance(annotation, typing.TypeVar):
        return _instance(_bound(annotation, owner))
    if annotation is getattr(typing, "Self", 0):
        return None if owner is None else Known(owner, instance=True)
    if isinstance(annotation, str):
        return typed(annotation, module, owner, depth - 1)
    if origin is None:
        return _instance(annotation)
    inner = tuple(
        typed(part, module, owner, depth - 1) for part in inside if part is not type(None)
    )
    if origin in {typing.Union, types.UnionType}:
        return common(list(inner))
    if origin in {typing.Annotated, typing.Final, typing.ClassVar}:
        return typed(inside[0], module, owner, depth - 1)
    if origin is tuple and inside[-1] is not ...:
        return Known(PLACES, instance=True, inner=inner)
    if origin in _ITERABLES or origin is tuple:
        return Known(ITEMS, instance=True, inner=inner[:1])
    if origin in _MAPPINGS and len(inner) == 2:
        return Known(PAIRS, instance=True, inner=inner)
    return None


class _Names(dict[str, Any]):
    """Names as a module sees them, those imported for type checkers only included."""

    def __init__(self, module: str) -> None:
        super().__init__(vars(sys.modules.get(module)) if module in sys.modules else {})
        self.module = module

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            return getattr(builtins, name)
        found = _type_checking_import(name, self.module)
        return Any if found is None else found


def _bound(variable: typing.TypeVar, owner: type | None) -> Any:
    """What a class, or one that it inherits from, puts in place of a type variable."""
    for cls in owner.__mro__ if owner is not None else ():
        for base in vars(cls).get("__orig_bases__", ()):
            parameters = getattr(typing.get_origin(base), "__parameters__", ())
            given = dict(zip(parameters, typing.get_args(base), strict=False))
            if isinstance(given.get(variable), type):
                return given[variable]
    return None


def _instance(value: Any) -> Known | None:
    if not isinstance(value, type) or value.__module__ == "builtins":
        return None
    return Known(value, instance=True)


@lru_cache(maxsize=2048)
def _type_checking_import(name: str, module: str) -> Any:
    pattern = rf"^[ ]+from ([\w.]+) import (?:\([^)]*\b{name}\b[^)]*\)|.*\b{name}\b)"
    match = re.search(pattern, "".join(lines_of(module)), re.MULTILINE)
    if match is None or match[1].startswith("."):
        return None
    try:
        return getattr(importlib.import_module(match[1]), name, None)
    except Exception:  # noqa: BLE001 -- a library may raise anything at import
        return None


def item_of(known: Known | None) -> Known | None:
    """What a loop over something yields."""
    if known is None:
        return None
    if known.value == PLACES:
        return known.inner[0] if len(set(known.inner)) == 1 else None
    if known.inner:
        return known.inner[0]
    if not isinstance(known.value, type):
        return None
    if not known.instance:
        return Known(known.value, instance=True) if issubclass(known.value, enum.Enum) else None
    iterated = _method_returns(known.value, "__iter__")
    return item_of(iterated) if iterated else _method_returns(known.value, "__getitem__")


def at(known: Known | None, index: ast.expr) -> Known | None:
    """What stands at an index or a key."""
    if known is None or not known.instance:
        return None
    if isinstance(index, ast.Slice):  # what a class makes of a slice, no annotation tells
        return known if known.value == ITEMS else None
    if known.value == PLACES:
        place = index.value if isinstance(index, ast.Constant) else None
        if isinstance(place, int) and -len(known.inner) <= place < len(known.inner):
            return known.inner[place]
        return None
    if known.inner:
        return known.inner[-1]
    if not isinstance(known.value, type):
        return None
    if issubclass(known.value, abc.Sequence):  # says what a slice gives as well
        return item_of(known)
    return _method_returns(known.value, "__getitem__")


def _method_returns(owner: type, name: str) -> Known | None:
    function = inspect.getattr_static(owner, name, None)
    return returned(function, owner) if isinstance(function, types.FunctionType) else None


def items(*inner: Known | None) -> Known:
    """A container of equal items."""
    return Known(ITEMS, instance=True, inner=inner)


def places(*inner: Known | None) -> Known:
    """A tuple."""
    return Known(PLACES, instance=True, inner=inner)


def pairs(key: Known | None, value: Known | None) -> Known:
    """A dict."""
    return Known(PAIRS, instance=True, inner=(key, value))


def common(known: list[Known | None]) -> Known | None:
    """What all are, if they are the same."""
    return known[0] if known and all(one == known[0] for one in known) else None


def built_in(name: str, given: list[Known | None]) -> Known | None:
    """What a built-in function makes of its arguments."""
    first = item_of(given[0]) if given else None
    if name in {"list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"}:
        return items(first)
    if name in {"next", "min", "max"} and len(given) == 1:
        return first
    if name == "enumerate":
        return items(places(None, first))
    if name == "zip":
        return items(places(*map(item_of, given)))
    if name == "dict" and given and given[0] is not None and given[0].value == PAIRS:
        return given[0]
    return None


def of_dict(known: Known, method: str) -> Known | None:
    """What a method of a dict returns."""
    key, value = known.inner
    made = {"items": items(places(key, value)), "keys": items(key), "values": items(value)}
    return made.get(method, value if method in {"get", "pop", "setdefault"} else None)


def combined(node: ast.expr, known: list[Known | None]) -> Known | None:
    """What an expression is, from what its parts are."""
    if isinstance(node, ast.Tuple):
        return places(*known)
    if isinstance(node, ast.List | ast.Set):
        return items(common(known))
    if isinstance(node, ast.Dict) and None not in node.keys:
        half = len(node.keys)
        return pairs(common(known[:half]), common(known[half:]))
    if isinstance(node, ast.IfExp):
        return common(known[1:])
    return None


def locate(name: str) -> Any | None:
    """The object of a dotted name, ``None`` when there is none."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            try:
                found = getattr(found, part)
            except AttributeError:
                return None
        return found
    return None


def importable(name: str) -> types.ModuleType | None:
    """A package, ``None`` for anything else."""
    try:
        module = importlib.import_module(name)
    except Exception:  # noqa: BLE001 -- a library may raise anything at import
        return None
    return module if hasattr(module, "__path__") else None


def homes_of(package: str, name: str) -> list[str]:
    """Dotted names of the public classes and functions of a package that are called ``name``."""
    top = importable(package)
    if top is None or not name.isidentifier():
        return []
    pattern = re.compile(rf"^(?:class|def) {re.escape(name)}\b", re.MULTILINE)
    found = []
    for folder in top.__path__:
        for file in sorted(Path(folder).rglob("*.py")):
            parts = [package, *file.relative_to(folder).with_suffix("").parts]
            if any(part.startswith(("test", "_")) and part != "__init__" for part in parts[1:]):
                continue
            if pattern.search(file.read_text(encoding="utf-8", errors="replace")):
                module = ".".join(part for part in parts if part != "__init__")
                found.append(f"{module}.{name}")
    return found[:HOMES]
