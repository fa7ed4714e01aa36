"""One module's syntax tree -> its definitions, before any name is resolved."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Literal

from docgen.sources import SourceError, SourceFile
from docgen.symbols import Kind

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Role = Literal["function", "method", "classmethod", "staticmethod", "property"]
_GENERATED = frozenset(
    {"dataclass", "define", "frozen", "NamedTuple", "TypedDict", "BaseModel"}
)  # decorators and bases that make a constructor from fields
#: Calls whose result is nothing that a user of the library computes with.
_PLUMBING = frozenset({"getLogger", "TypeVar", "TypeVarTuple", "ParamSpec", "NewType"})
MOST_DEFINITIONS = 60_000  # functions and classes of a library
_LONGEST = 200  # characters of a value that are shown


@dataclass(eq=False)
class Defined:
    """What a module, or the class ``owner`` in it, defines."""

    name: str
    node: FunctionNode | ast.ClassDef | ast.Assign | ast.AnnAssign
    module: Module
    owner: Class | None

    @cached_property
    def qualname(self) -> str:
        """Dotted path."""
        return f"{self.owner.qualname if self.owner else self.module.name}.{self.name}"

    @property
    def span(self) -> tuple[int, int]:
        """First and last line, with decorators."""
        decorators = getattr(self.node, "decorator_list", ())
        first = min([self.node.lineno, *(d.lineno for d in decorators)])
        return first, self.node.end_lineno or self.node.lineno


@dataclass(eq=False)
class Constant(Defined):
    """A name that the top level of a module or the body of a class assigns.

    ``told`` is what a string literal after the assignment or its comments say.
    """

    node: ast.Assign | ast.AnnAssign
    comment: str

    @property
    def kind(self) -> Kind:
        """Of its symbol."""
        return "attribute" if self.owner else "constant"

    @property
    def line(self) -> str:
        """The assignment on one line, cut when long; an attribute's with its class."""
        prefix = f"{self.owner.name}." if self.owner else ""
        return prefix + _cut(" ".join(ast.unparse(self.node).split()))

    @property
    def documented(self) -> bool:
        """Whether it is something to look up: a logger or a type variable is not."""
        value = self.node.value
        if self.name.startswith("_") or (value is None and self.owner is None):
            return False
        return not isinstance(value, ast.Call) or last_part(value.func) not in _PLUMBING

    @property
    def literal(self) -> str:
        """The value as source text, cut when long; empty when the source gives no literal."""
        try:
            ast.literal_eval(self.node.value or "")
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return ""
        return _cut(ast.unparse(self.node.value)) if self.node.value is not None else ""


@dataclass(eq=False)
class Function(Defined):
    """A function, method or property."""

    node: FunctionNode
    role: Role
    modifiers: tuple[str, ...]

    @property
    def kind(self) -> Kind:
        """Of its symbol."""
        return self.role if self.role in {"function", "property"} else "method"

    @property
    def receiver(self) -> str:
        """How a method calls its object or class; empty where there is none."""
        spec = self.node.args
        first = [*spec.posonlyargs, *spec.args][:1] if self.owner else []
        return first[0].arg if first and self.role != "staticmethod" else ""

    @property
    def arguments(self) -> list[ast.arg]:
        """Every named parameter, ``self`` or ``cls`` left out."""
        spec = self.node.args
        return [*spec.posonlyargs, *spec.args][bool(self.receiver) :] + spec.kwonlyargs


@dataclass(eq=False, kw_only=True)
class _Scope:
    """What holds definitions."""

    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)


@dataclass(eq=False)
class Class(Defined, _Scope):
    """A class; ``constants`` are the names that its body assigns."""

    node: ast.ClassDef
    kind: ClassVar[Kind] = "class"

    @cached_property
    def fields(self) -> dict[str, ast.AnnAssign]:
        """Annotated names of the body."""
        nodes = ((name, constant.node) for name, constant in self.constants.items())
        return {name: node for name, node in nodes if isinstance(node, ast.AnnAssign)}

    @property
    def generated_constructor(self) -> bool:
        """Whether the constructor is made from the fields (dataclass, NamedTuple, TypedDict)."""
        markers = (*self.node.decorator_list, *self.node.bases)
        return any(last_part(marker) in _GENERATED for marker in markers)


@dataclass(eq=False)
class Module(_Scope):
    """A module: what it defines and what its import statements bind.

    ``bindings`` maps a local name to the dotted path it stands for; ``stars`` lists modules
    imported with ``*``; ``all`` is ``__all__`` where that is a plain list, else ``None``;
    ``typing_only`` are names that only type checkers see.
    """

    source: SourceFile
    node: ast.Module
    lines: list[str]
    bindings: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    all: frozenset[str] | None = None
    typing_only: frozenset[str] = frozenset()
    kind: ClassVar[Kind] = "module"

    @property
    def name(self) -> str:
        """Dotted name."""
        return self.source.module

    qualname = name

    @property
    def span(self) -> tuple[int, int]:
        """First and last line."""
        return 1, max(1, len(self.lines))

    def star_exports(self, name: str) -> bool:
        """Whether ``from this import *`` may bind ``name``."""
        return name in self.all if self.all is not None else not name.startswith("_")

    def segment(self, first: int, last: int) -> str:
        """Source lines ``first`` to ``last`` (from 1, inclusive) without common indent."""
        lines = self.lines[first - 1 : last]
        indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
        return "\n".join(
            line[indent:] if not line[:indent].strip() else line for line in lines
        )


def read_modules(sources: Sequence[SourceFile]) -> tuple[list[Module], dict[str, str]]:
    """Modules, and why other files (by path) are none."""
    modules: list[Module] = []
    room = MOST_DEFINITIONS
    unreadable: dict[str, str] = {}
    for source in sources:
        try:
            module = read_module(source)
        except SyntaxError as error:
            place = f", line {error.lineno}" if error.lineno else ""
            unreadable[source.path] = f"{error.msg}{place}"
            continue
        room -= _definitions(module)
        if room < 0:
            raise SourceError(
                f"package {source.package}: more than {MOST_DEFINITIONS} functions and"
                " classes; give the packages below it that you need"
            )
        modules.append(module)
    return modules, unreadable


def _definitions(holder: Module | Class) -> int:
    inner = sum(map(_definitions, holder.classes.values()))
    return len(holder.functions) + len(holder.classes) + inner


def read_module(source: SourceFile) -> Module:
    """Parse a module; a SyntaxError also for null bytes and what is nested too deeply."""
    try:
        tree = ast.parse(source.text)
        nodes = list(statements(list(_imported(tree.body))))
    except ValueError as error:  # null bytes
        raise SyntaxError(str(error)) from error
    except (
        RecursionError,
        MemoryError,
    ) as error:  # how the parser refuses generated code
        raise SyntaxError("nested too deeply") from error
    # not splitlines(): a form feed ends no line of Python
    module = Module(source, tree, source.text.removesuffix("\n").split("\n"))
    _fill(module, None, nodes)
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            bind(module, node)
        elif isinstance(node, ast.Assign):
            _alias(module, node)
    named = (
        isinstance(node, ast.Name) and node.id == "__all__" for node in ast.walk(tree)
    )
    if module.all is not None and sum(named) > 1:
        module.all = None  # it is changed later on
    if (
        "__getattr__" not in module.functions
    ):  # with it, such names are usually loaded lazily
        module.typing_only = frozenset(_typing_only(tree))
    return module


def _imported(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """What an import runs: not what stands under ``if __name__ == "__main__":``."""
    for node in body:
        match node:
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()])):
                yield from node.orelse
            case _:
                yield node


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


def _fill(module: Module, owner: Class | None, body: Sequence[ast.stmt]) -> None:
    """Functions, classes, constants and fields of a body."""
    scope = owner or module
    for node, after in pairwise([*body, ast.Pass()]):
        if isinstance(node, FunctionNode):
            if (function := _function(module, owner, node)) is not None:
                scope.functions[node.name] = function
        elif isinstance(node, ast.ClassDef):
            inner = scope.classes[node.name] = Class(node.name, node, module, owner)
            _fill(module, inner, list(statements(node.body)))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in (
                node.targets if isinstance(node, ast.Assign) else [node.target]
            ):
                if isinstance(target, ast.Name):
                    comment = _comment(node, after, module.lines)
                    scope.constants[target.id] = Constant(
                        target.id, node, module, owner, comment
                    )


def _comment(node: ast.stmt, after: ast.stmt, lines: Sequence[str]) -> str:
    match after:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return " ".join(text.encode(errors="replace").decode().split())
    end = node.end_lineno or node.lineno
    behind = (
        lines[end - 1]
        .encode()[node.end_col_offset or 0 :]
        .decode(errors="replace")
        .strip()
    )
    above: list[str] = []
    for line in reversed(lines[max(0, node.lineno - 1 - 10) : node.lineno - 1]):
        if not line.strip().startswith("#"):
            break
        above.insert(0, line)
    comments = [*above, *([behind] if behind.startswith("#") else [])]
    marked = [c for c in comments if c.strip().startswith("#:")]
    words = (c.strip().lstrip("#:").strip() for c in marked or comments)
    return " ".join(
        w for w in words if any(map(str.isalnum, w)) and not w.startswith("noqa")
    )


def _function(
    module: Module, owner: Class | None, node: FunctionNode
) -> Function | None:
    """A definition, or ``None`` for an overload of one that follows or a property's setter."""
    names = {last_part(d) for d in node.decorator_list}
    overload = "overload" in names and not module.source.is_stub
    if overload or {"setter", "deleter"} & names:
        return None
    role: Role = "function" if owner is None else "method"
    if owner is not None and any(name.endswith("property") for name in names):
        role = "property"  # cached, lazy, a library's own
    elif owner is not None and "classmethod" in names:
        role = "classmethod"
    elif owner is not None and "staticmethod" in names:
        role = "staticmethod"
    modifiers = {
        role: role in {"classmethod", "staticmethod"},
        "abstract": {"abstractmethod", "abstractproperty"} & names,
        "async": isinstance(node, ast.AsyncFunctionDef),
        "deprecated": "deprecated" in names,
    }
    on = tuple(word for word, holds in modifiers.items() if holds)
    return Function(node.name, node, module, owner, role, on)


def bind(module: Module, node: ast.Import | ast.ImportFrom) -> None:
    """Note which names an import statement binds in ``module``."""
    if isinstance(node, ast.Import):
        for name in node.names:
            root = name.name.partition(".")[0]
            module.bindings[name.asname or root] = name.name if name.asname else root
        return
    base = node.module or ""
    if node.level:
        parts = module.name.split(".")
        drop = node.level - 1 if module.source.is_package else node.level
        base = ".".join(
            [*parts[: len(parts) - drop], *([node.module] if node.module else [])]
        )
    for name in node.names:
        if name.name == "*":
            module.stars.append(base)
        else:
            module.bindings[name.asname or name.name] = f"{base}.{name.name}"


def _alias(module: Module, node: ast.Assign) -> None:
    """``Old = New`` at module level binds ``Old`` to ``New``; ``__all__ = [...]`` is kept."""
    value = node.value
    targets = [t.id for t in node.targets if isinstance(t, ast.Name)]
    if "__all__" in targets:
        texts = [getattr(e, "value", None) for e in getattr(value, "elts", [None])]
        plain = [text for text in texts if isinstance(text, str)]
        module.all = frozenset(plain) if plain == texts else None
    elif isinstance(value, ast.Name | ast.Attribute):
        dotted = ast.unparse(value)
        for target in targets:
            if target != dotted:
                module.bindings.setdefault(target, f"{module.name}.{dotted}")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
