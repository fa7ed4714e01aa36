"""What the expressions of a draft are, read from the annotations of the installed libraries.

The second half of ``agents.introspect_probe``: standard library only, sent to the sandbox with it.
"""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import itertools
import linecache
import re
import sys
import types
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

#: What stands for a container in ``Known.value``: equal items; pairs of a dict; places of a tuple.
ITEMS, PAIRS, PLACES = "items", "pairs", "places"
_ITERABLES = frozenset(
    {"list", "List", "set", "Set", "frozenset", "Sequence", "MutableSequence", "deque"}
    | {"Iterable", "Iterator", "Generator", "Collection", "AbstractSet"}
)
_MAPPINGS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "OrderedDict"})
DEPTH = 6  # of nested annotations


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
        sources_of = [_source(cls) for cls in owner.__mro__ if cls is not object]
        text = "\n".join(source for source in sources_of if source)
        self.dynamic = any(
            "__getattr__" in vars(cls) or "__getattribute__" in vars(cls)
            for cls in owner.__mro__
            if cls is not object
        )
        # Attributes made by name cannot be listed: such a class is never said to lack one.
        self.open = (
            self.dynamic
            or any(source is None for source in sources_of)
            or bool(re.search(r"setattr\(self|self\.__dict__|vars\(self\)", text))
        )
        annotated = {n for cls in owner.__mro__ for n in vars(cls).get("__annotations__", {})}
        self.names = sorted({*dir(owner), *annotated, *re.findall(r"\bself\.([A-Za-z_]\w*)", text)})

    def may_have(self, name: str, *, instance: bool) -> bool:
        """Whether the class, or an instance of it, may have an attribute."""
        if hasattr(self.owner, name):
            return True
        return instance and (self.open or name in self.names)


@lru_cache(maxsize=512)
def _source(cls: type) -> str | None:
    """Text of a class; ``inspect.getsource`` would parse the whole file each time."""
    if cls.__module__ in {"builtins", "typing", "abc", "collections.abc"}:
        return ""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None) or ""
    lines = linecache.getlines(file) if file.endswith(".py") else []
    head = re.compile(rf"(\s*)class {re.escape(cls.__name__)}\b")
    for start, line in enumerate(lines):
        if match := head.match(line):
            return line + "".join(_indented(lines[start + 1 :], len(match[1])))
    return None


def _indented(lines: list[str], depth: int) -> Iterator[str]:
    """Lines until the next statement that is indented by no more than ``depth``."""
    after = re.compile(rf"\s{{0,{depth}}}(?:class|def|async def|if|@|\w+\s*[:=])")
    return itertools.takewhile(lambda line: not after.match(line), lines)


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


def typed(annotation: Any, module: str, owner: type | None) -> Known | None:
    """An instance of what an annotation says; ``None`` where that is not known for certain.

    Parameters
    ----------
    module
        Where the annotation stands; its names are looked up there.
    owner
        What ``Self`` is.
    """
    if annotation is None:
        return None
    if not isinstance(annotation, str):
        plain = isinstance(annotation, type) and not typing.get_args(annotation)
        if plain:
            return _instance(annotation)
        annotation = "Self" if annotation is getattr(typing, "Self", 0) else _text(annotation)
    try:
        tree = ast.parse(annotation.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    return _typed(tree, module, owner, DEPTH)


def _text(annotation: Any) -> str:
    text = re.sub(r"ForwardRef\('([^']*)'[^)]*\)", r"\1", str(annotation))
    return re.sub(r"\btyping\.|<class '([^']*)'>", r"\1", text)


def _typed(node: ast.expr, module: str, owner: type | None, depth: int) -> Known | None:
    if depth == 0:
        return None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return typed(node.value, module, owner)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _one_of([node.left, node.right], module, owner, depth)
    if isinstance(node, ast.Subscript):
        return _parametrised(node, module, owner, depth)
    name = ast.unparse(node)
    if name.rpartition(".")[2] == "Self":
        return None if owner is None else Known(owner, instance=True)
    found = _named(name, module)
    return _instance(_bound(found, owner) if isinstance(found, typing.TypeVar) else found)


def _bound(variable: typing.TypeVar, owner: type | None) -> Any:
    """What a class, or one that it inherits from, puts in place of a type variable."""
    for cls in owner.__mro__ if owner is not None else ():
        for base in vars(cls).get("__orig_bases__", ()):
            parameters = getattr(typing.get_origin(base), "__parameters__", ())
            given = dict(zip(parameters, typing.get_args(base), strict=False))
            if isinstance(given.get(variable), type):
                return given[variable]
    return None


def _one_of(options: list[ast.expr], module: str, owner: type | None, depth: int) -> Known | None:
    """What all alternatives but ``None`` are."""
    rest = [o for o in options if not (isinstance(o, ast.Constant) and o.value is None)]
    known = [_typed(option, module, owner, depth - 1) for option in rest]
    return known[0] if known and all(one == known[0] for one in known) else None


def _parametrised(node: ast.Subscript, module: str, owner: type | None, depth: int) -> Known | None:
    name = ast.unparse(node.value).rpartition(".")[2]
    inside = node.slice
    parts = list(inside.elts) if isinstance(inside, ast.Tuple) else [inside]
    if name in {"Optional", "Union"}:
        return _one_of(parts, module, owner, depth)
    if name in {"Annotated", "Final", "ClassVar"}:
        return _typed(parts[0], module, owner, depth - 1)
    endless = isinstance(parts[-1], ast.Constant) and parts[-1].value is ...
    inner = tuple(_typed(part, module, owner, depth - 1) for part in parts)
    if name in _ITERABLES or (name in {"tuple", "Tuple"} and endless):
        return Known(ITEMS, instance=True, inner=inner[:1])
    if name in {"tuple", "Tuple"}:
        return Known(PLACES, instance=True, inner=inner)
    if name in _MAPPINGS and len(inner) == 2:
        return Known(PAIRS, instance=True, inner=inner)
    return None


def _instance(value: Any) -> Known | None:
    if not isinstance(value, type) or value.__module__ == "builtins":
        return None
    return Known(value, instance=True)


@lru_cache(maxsize=2048)
def _named(name: str, module: str) -> Any:
    """The object of a name in a module, also of one that is imported for type checkers only."""
    found: Any = sys.modules.get(module)
    first, *rest = name.split(".")
    here = hasattr(found, first)
    found = getattr(found, first) if here else _type_checking_import(first, module)
    for part in rest:
        found = getattr(found, part, None)
    return found


def _type_checking_import(name: str, module: str) -> Any:
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    text = "".join(linecache.getlines(file)) if file.endswith(".py") else ""
    pattern = rf"^[ ]+from ([\w.]+) import (?:\([^)]*\b{name}\b[^)]*\)|.*\b{name}\b)"
    match = re.search(pattern, text, re.MULTILINE)
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
    if issubclass(known.value, Sequence):  # says what a slice gives as well
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
