"""One module's syntax tree -> its definitions, before any name is resolved."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from docgen.constants import Constant, constants
from docgen.sources import SourceFile

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_PROPERTIES = frozenset(
    {"property", "cached_property", "abstractproperty", "lazy_property", "lazyproperty"}
)


@dataclass
class Function:
    """A function, method or property."""

    qualname: str
    node: FunctionNode
    role: Literal["function", "method", "classmethod", "staticmethod", "property"]
    modifiers: tuple[str, ...]
    module: Module
    owner: Class | None = None


@dataclass
class Class:
    """A class; ``constants`` are the names that its body assigns, ``fields`` the annotated ones."""

    qualname: str
    node: ast.ClassDef
    module: Module
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    fields: dict[str, ast.AnnAssign] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)

    @property
    def generated_constructor(self) -> bool:
        """Whether the constructor is made from the fields (dataclass, NamedTuple, TypedDict)."""
        decorated = any(
            decorator_name(d) in {"dataclass", "define", "frozen"} for d in self.node.decorator_list
        )
        return decorated or any(
            last_part(base) in {"NamedTuple", "TypedDict", "BaseModel"} for base in self.node.bases
        )


@dataclass
class Module:
    """A module: what it defines and what its import statements bind.

    ``bindings`` maps a local name to the dotted path it stands for; ``stars`` lists modules
    imported with ``*``; ``all`` is ``__all__`` where that is a plain list, else ``None``;
    ``typing_only`` are names that only type checkers see.
    """

    source: SourceFile
    tree: ast.Module
    lines: list[str]
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)
    bindings: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    all: frozenset[str] | None = None
    typing_only: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Dotted name."""
        return self.source.module

    def star_exports(self, name: str) -> bool:
        """Whether ``from this import *`` may bind ``name``."""
        return name in self.all if self.all is not None else not name.startswith("_")

    def segment(self, first: int, last: int) -> str:
        """Source lines ``first`` to ``last`` (from 1, inclusive) without common indent."""
        lines = self.lines[first - 1 : last]
        indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
        return "\n".join(line[indent:] if not line[:indent].strip() else line for line in lines)


def read_module(source: SourceFile) -> Module:
    """Parse a module.

    Raises
    ------
    SyntaxError
        When the text is not Python of the running version (also for null bytes).
    """
    try:
        tree = ast.parse(source.text)
        found = list(statements(tree.body))
    except ValueError as error:  # null bytes
        raise SyntaxError(str(error)) from error
    except (RecursionError, MemoryError) as error:  # how the parser refuses generated code
        raise SyntaxError("nested too deeply") from error
    # not splitlines(): a form feed ends no line of Python
    module = Module(source, tree, source.text.removesuffix("\n").split("\n"))
    for node in found:
        if isinstance(node, ast.Import | ast.ImportFrom):
            _bind(module, node)
        elif isinstance(node, FunctionNode):
            function = _function(module, None, node)
            if function is not None:
                module.functions[node.name] = function
        elif isinstance(node, ast.ClassDef):
            module.classes[node.name] = _class(module, f"{module.name}.{node.name}", node)
        elif isinstance(node, ast.Assign):
            _alias(module, node)
    module.constants = {c.name: c for c in constants(found, module)}
    if module.all is not None and _mentions(tree, "__all__") > 1:
        module.all = None  # it is changed later on
    if "__getattr__" not in module.functions:  # with it, such names are usually loaded lazily
        module.typing_only = frozenset(_typing_only(tree))
    return module


def docstring_of(node: FunctionNode | ast.ClassDef | ast.Module) -> str:
    """The docstring, empty where there is none; text that cannot be stored is replaced."""
    text = ast.get_docstring(node) or ""
    return text.encode(errors="replace").decode()  # an escape can name half a character


def _typing_only(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.If) and last_part(node.test) == "TYPE_CHECKING":
            for inner in statements(node.body):
                if isinstance(inner, ast.Import | ast.ImportFrom):
                    yield from (item.asname or item.name for item in inner.names)


def _mentions(tree: ast.Module, name: str) -> int:
    return sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body, and those under its ``if``, ``try`` and ``with``.

    Of alternatives the first comes last: where later ones replace earlier ones, a name is what
    ``try`` makes it, not what ``except ImportError`` does.
    """
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from statements(node.orelse)
        elif isinstance(node, ast.Try):
            for handler in node.handlers:
                yield from statements(handler.body)
        if isinstance(node, ast.If | ast.Try | ast.With):
            yield from statements(node.body)
        if isinstance(node, ast.Try):
            yield from statements([*node.orelse, *node.finalbody])


def last_part(node: ast.expr) -> str:
    """``c`` of ``a.b.c``, ``a.b.c(...)`` or ``a.b.c[...]``; empty for other expressions."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return last_part(inner)
    return ""


decorator_name = last_part


def _class(module: Module, qualname: str, node: ast.ClassDef) -> Class:
    found = Class(qualname, node, module)
    body = list(statements(node.body))
    for item in body:
        if isinstance(item, FunctionNode):
            function = _function(module, found, item)
            if function is not None:
                found.functions[item.name] = function
        elif isinstance(item, ast.ClassDef):
            found.classes[item.name] = _class(module, f"{qualname}.{item.name}", item)
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            found.fields[item.target.id] = item
    found.constants = {c.name: c for c in constants(body, module, found)}
    return found


def _function(module: Module, owner: Class | None, node: FunctionNode) -> Function | None:
    """A definition, or ``None`` for an overload stub or a property's setter."""
    names = [decorator_name(d) for d in node.decorator_list]
    if {"overload", "setter", "deleter"}.intersection(names):
        return None
    role: Literal["function", "method", "classmethod", "staticmethod", "property"] = "function"
    if owner is not None:
        role = "method"
        if _PROPERTIES.intersection(names):
            role = "property"
        elif "classmethod" in names:
            role = "classmethod"
        elif "staticmethod" in names:
            role = "staticmethod"
    modifiers: list[str] = [role] if role in {"classmethod", "staticmethod"} else []
    if {"abstractmethod", "abstractproperty"}.intersection(names):
        modifiers.append("abstract")
    if isinstance(node, ast.AsyncFunctionDef):
        modifiers.append("async")
    if "deprecated" in names:
        modifiers.append("deprecated")
    prefix = owner.qualname if owner else module.name
    return Function(f"{prefix}.{node.name}", node, role, tuple(modifiers), module, owner)


def _bind(module: Module, node: ast.Import | ast.ImportFrom) -> None:
    if isinstance(node, ast.Import):
        for name in node.names:
            if name.asname:
                module.bindings[name.asname] = name.name
            else:
                root = name.name.partition(".")[0]
                module.bindings[root] = root
        return
    base = node.module or ""
    if node.level:
        parts = module.name.split(".")
        drop = node.level - 1 if module.source.is_package else node.level
        base = ".".join([*parts[: len(parts) - drop], *([node.module] if node.module else [])])
    for name in node.names:
        if name.name == "*":
            module.stars.append(base)
        else:
            module.bindings[name.asname or name.name] = f"{base}.{name.name}"


def _texts(node: ast.expr) -> frozenset[str] | None:
    """The strings of a list display, ``None`` for anything that is more than that."""
    if not isinstance(node, ast.List | ast.Tuple):
        return None
    texts = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    return frozenset(texts) if len(texts) == len(node.elts) else None


def _alias(module: Module, node: ast.Assign) -> None:
    """``Old = New`` at module level binds ``Old`` to ``New``; ``__all__ = [...]`` is kept."""
    if any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
        module.all = _texts(node.value)
        return
    value = node.value
    if isinstance(value, ast.Name | ast.Attribute):
        dotted = ast.unparse(value)
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id != dotted:
                module.bindings.setdefault(target.id, f"{module.name}.{dotted}")
