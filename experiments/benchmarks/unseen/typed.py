"""Reads the verdicts out of what mypy inferred; imported only where mypy is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from mypy import nodes, types

from experiments.benchmarks.unseen.owners import Owners, Position
from experiments.benchmarks.unseen.source import inside

_BY_NAME = frozenset({"getattr", "hasattr", "setattr", "delattr"})
_COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})
_TREE = (nodes.Statement, nodes.Expression, nodes.FuncItem, nodes.Argument)
#: Attributes of a node that lead to a definition elsewhere, or to what mypy made of the node.
_ELSEWHERE = frozenset({"node", "info", "var", "analyzed", "expanded", "original_def", "removed"})


class Reader:
    """Fills ``found`` with the verdicts about one module.

    mypy's own visitors are compiled and cannot be subclassed, so the tree is walked by the
    attributes of its nodes.
    """

    def __init__(
        self,
        inferred: Mapping[nodes.Expression, types.Type],
        packages: tuple[str, ...],
        classes: Sequence[nodes.TypeInfo],
        held: Mapping[str, nodes.TypeInfo],
        found: Owners,
    ) -> None:
        self._inferred = inferred
        self._packages = packages
        self._classes = classes
        self._held = held
        self._found = found
        self._module = ""
        self._selves: dict[nodes.Node, nodes.TypeInfo] = {}

    def read(self, module: nodes.MypyFile) -> None:
        """Read one module."""
        self._module = module.fullname
        every = list(walk(module))
        self._selves = {
            argument.variable: node.info
            for node in every
            if isinstance(node, nodes.FuncDef) and node.info
            for argument in node.arguments[: 2 if node.name in _COMPARISONS else 1]
        }
        for node in every:
            self._expression(node)

    def _expression(self, node: nodes.Node) -> None:
        if isinstance(node, nodes.MemberExpr):
            self._found.attributes[end_of(node), node.name] = self._member(node.expr, node.name)
        elif isinstance(node, nodes.SuperExpr):
            above = node.info.mro[1:] if node.info else []
            self._found.attributes[end_of(node), node.name] = any(
                node.name in base.names and self._is_ours(base.fullname) for base in above
            )
        elif isinstance(node, nodes.CallExpr):
            called = node.callee
            if (
                isinstance(called, nodes.NameExpr | nodes.MemberExpr)
                and called.name == "partial"
                and node.args
            ):
                called = node.args[0]  # the keywords are those of what will be called
            self._found.calls[end_of(node)] = self._callee(called)
            callee, arguments = node.callee, node.args
            by_name = isinstance(callee, nodes.NameExpr) and callee.name in _BY_NAME
            if by_name and len(arguments) > 1 and isinstance(arguments[1], nodes.StrExpr):
                verdict = self._member(arguments[0], arguments[1].value)
                self._found.texts[end_of(node)] = verdict

    def _is_ours(self, fullname: str) -> bool:
        return inside(fullname, self._packages)

    def _defines(self, fullname: str) -> bool:
        # A function inside of a function has no dotted name; only its own module can call it.
        return self._is_ours(fullname if "." in fullname else self._module)

    def _member(self, base: nodes.Expression, name: str) -> bool | None:
        if isinstance(base, nodes.RefExpr) and isinstance(base.node, nodes.MypyFile):
            return self._is_ours(base.node.fullname)
        kind = self._inferred.get(base)
        if kind is None or isinstance(types.get_proper_type(kind), types.AnyType):
            guessed = self._guessed(base)
            kind = types.Instance(guessed, []) if guessed else kind
        return self._owns(kind, name)

    def _guessed(self, base: nodes.Expression) -> nodes.TypeInfo | None:
        """The class of an expression that mypy has no type for."""
        if isinstance(base, nodes.NameExpr) and base.node is not None:
            # In code that is never reached, and the unannotated other side of a comparison.
            return self._selves.get(base.node)
        if isinstance(base, nodes.IndexExpr) and isinstance(base.index, nodes.StrExpr):
            return self._held.get(base.index.value)
        return None

    def _owns(self, kind: types.Type | None, name: str) -> bool | None:
        if kind is None:
            return None
        kind = types.get_proper_type(kind)
        if isinstance(kind, types.UnionType):
            verdicts = {self._owns(item, name) for item in kind.items}
            return True if True in verdicts else None if None in verdicts else False
        info = class_of(kind)
        if info is None:
            return None if isinstance(kind, types.AnyType) else False
        if any(name in base.names and self._is_ours(base.fullname) for base in info.mro):
            return True
        # A base class may speak of what only its subclasses have.
        below = [kind for kind in self._classes if info in kind.mro]
        if any(name in kind.names for kind in below):
            return True
        return None if any(self._is_ours(base.fullname) for base in info.mro) else False

    def _callee(self, callee: nodes.Expression) -> bool | None:
        definition = callee.node if isinstance(callee, nodes.RefExpr) else None
        if definition is None or isinstance(definition, nodes.Var):
            named = ""
        else:
            named = definition.fullname
        if named and self._defines(named):
            return True
        if isinstance(callee, nodes.MemberExpr) and self._member(callee.expr, callee.name):
            return True
        kind = types.get_proper_type(
            self._inferred.get(callee, types.AnyType(types.TypeOfAny.unannotated))
        )
        if isinstance(kind, types.Overloaded):
            kind = kind.items[0]
        if isinstance(kind, types.CallableType):
            if kind.is_type_obj():
                return self._is_ours(kind.type_object().fullname)
            return kind.definition is not None and self._defines(kind.definition.fullname)
        if isinstance(kind, types.TypeType):
            info = class_of(types.get_proper_type(kind.item))
            return info is not None and self._is_ours(info.fullname)
        if isinstance(kind, types.Instance) and kind.type.fullname == "functools.partial":
            return None
        return None if isinstance(kind, types.AnyType) else False


def class_of(kind: types.ProperType) -> nodes.TypeInfo | None:
    """The class whose attributes an expression of this type has."""
    if isinstance(kind, types.TypeType):
        return class_of(types.get_proper_type(kind.item))
    if isinstance(kind, types.TypeVarType):
        return class_of(types.get_proper_type(kind.upper_bound))
    if isinstance(kind, types.TupleType):
        return kind.partial_fallback.type
    if isinstance(kind, types.FunctionLike):
        return kind.type_object() if kind.is_type_obj() else None
    return kind.type if isinstance(kind, types.Instance) else None


def held_under(
    modules: Iterable[nodes.MypyFile], inferred: Mapping[nodes.Expression, types.Type]
) -> dict[str, nodes.TypeInfo]:
    """Which class a key stands for, where everything known to be stored under it is of one."""
    found: dict[str, set[nodes.TypeInfo | None]] = {}
    for node in (node for module in modules for node in walk(module)):
        pairs: list[tuple[nodes.Expression | None, nodes.Expression]] = []
        if isinstance(node, nodes.DictExpr):
            pairs = list(node.items)
        elif isinstance(node, nodes.AssignmentStmt):
            pairs = [
                (target.index, node.rvalue)
                for target in node.lvalues
                if isinstance(target, nodes.IndexExpr)
            ]
        for key, value in pairs:
            stored = types.get_proper_type(inferred.get(value))
            if isinstance(key, nodes.StrExpr) and stored and not isinstance(stored, types.AnyType):
                found.setdefault(key.value, set()).add(class_of(stored))
    return {
        key: kind
        for key, kinds in found.items()
        if len(kinds) == 1 and (kind := next(iter(kinds))) is not None
    }


def end_of(node: nodes.Context) -> Position:
    """Where an expression ends."""
    return (node.end_line or node.line, node.end_column or node.column)


def classes_of(module: nodes.MypyFile) -> list[nodes.TypeInfo]:
    """All classes that a module defines."""
    return [node.info for node in walk(module) if isinstance(node, nodes.ClassDef)]


def walk(module: nodes.MypyFile) -> Iterator[nodes.Node]:
    """Every statement, expression, function and argument of a module."""
    seen: set[int] = set()
    waiting: list[object] = [module.defs]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list | tuple):
            waiting += item
        elif isinstance(item, _TREE) and id(item) not in seen:
            seen.add(id(item))
            yield item
            waiting += [getattr(item, name, None) for name in _children(type(item))]  # type: ignore[arg-type]


@cache
def _children(kind: type[nodes.Node]) -> tuple[str, ...]:
    """Attributes of a kind of node that may hold parts of it."""
    return tuple(
        name
        for name in dir(kind)
        if not name.startswith("_")
        and name not in _ELSEWHERE
        and not callable(getattr(kind, name, None))
    )
