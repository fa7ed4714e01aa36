"""Which functions a call may reach, by mypy's types; what cannot be followed keeps its order."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mypy import nodes, types

from experiments.unseen.mutations_signatures import Signatures
from experiments.unseen.owners import Position
from experiments.unseen.typed import class_of, end_of, walk

_CHECKS = frozenset({"isinstance", "issubclass"})
NOT_READ = "called where types are not known"
_BY_NAME = frozenset({"getattr", "setattr", "hasattr", "delattr", "attrgetter", "methodcaller"})


@dataclass(frozen=True)
class Reached:
    """What a call may reach.

    Attributes
    ----------
    functions
        Full names.
    named
        A name, where the call may also reach whatever is called so: the type is not known. That
        of a method begins with a dot.
    unbound
        Methods that are called on their class, so that the receiver is an argument.
    """

    functions: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    unbound: frozenset[str] = frozenset()

    def __or__(self, other: Reached) -> Reached:
        return Reached(
            self.functions | other.functions,
            self.named | other.named,
            self.unbound | other.unbound,
        )


@dataclass(frozen=True)
class Call:
    """One call.

    Attributes
    ----------
    functions
        Full names of the functions of ours that it may reach.
    positional, named
        How many arguments it gives by position, and the names of the others.
    spread
        Whether it gives ``**arguments`` too.
    """

    functions: frozenset[str] = frozenset()
    positional: int = 0
    named: frozenset[str] = frozenset()
    spread: bool = False


class CallReader:
    """Reads calls, and marks the functions that they do not allow to be changed.

    Parameters
    ----------
    inferred
        mypy's type of every expression.
    signatures
        All functions; what must not move is marked there.
    words
        Words of others: a name of unknown owner that is none of them is ours.
    every
        Whether each call counts, or only those with positional arguments.
    """

    def __init__(
        self,
        inferred: Mapping[nodes.Expression, types.Type],
        signatures: Signatures,
        words: Iterable[str],
        *,
        every: bool = False,
    ) -> None:
        self._every = every
        self._inferred = inferred
        self._signatures = signatures
        self._words = frozenset(words)
        self._counted: list[frozenset[str]] = []

    def read(self, file: nodes.MypyFile) -> dict[Position, Call]:
        """The calls of a module, by where they end."""
        parts = list(walk(file))
        self._keep_values(parts)
        calls: dict[Position, Call] = {}
        for node in parts:
            if isinstance(node, nodes.CallExpr):
                end, call = end_of(node), self._call(node)
                if end in calls:  # Python misplaces what stands in an f-string
                    for name in call.functions | calls[end].functions:
                        self._signatures.keep(name, NOT_READ)
                calls[end] = call
        return calls

    def settle(self) -> None:
        """Keep every function that is reached by the same call as one that is kept."""
        signatures, before = self._signatures, -1
        while len(signatures.kept) != before:
            before = len(signatures.kept)
            signatures.keep_unlike()
            for reached in self._counted:
                groups = {signatures.group(name) for name in reached}
                kept = reached & set(signatures.kept)
                if len(groups) > 1 or kept:
                    for name in reached:
                        signatures.keep(name, "one call may reach several functions")

    def _call(self, node: nodes.CallExpr) -> Call:
        reached = self._callee(node.callee)
        functions = set(reached.functions)
        given = node.arg_kinds.count(nodes.ARG_POS)
        star = nodes.ARG_STAR in node.arg_kinds
        for name in reached.named:
            possible = self._possible(name)
            if name.removeprefix(".") not in self._words:
                functions |= set(possible)
            elif given or star or self._every:
                for fullname in possible:
                    self._signatures.keep(fullname, "called on a value of unknown type")
        for fullname in functions | reached.unbound:
            function = self._signatures.functions.get(fullname)
            if star:
                self._signatures.keep(fullname, "called with *arguments")
            elif given and fullname in reached.unbound:
                self._signatures.keep(fullname, "called on its class")
            elif function is not None and given > len(function.parameters):
                self._signatures.keep(fullname, "called with other arguments than it takes")
        ours = frozenset(functions & set(self._signatures.functions))
        if given or self._every:
            self._counted.append(ours)
        return Call(
            ours,
            given,
            frozenset(name for name in node.arg_names if name),
            spread=nodes.ARG_STAR2 in node.arg_kinds,
        )

    def _possible(self, name: str) -> list[str]:
        """Methods called ``.name``; functions and classes called ``name``: modules are known."""
        known = self._signatures.functions
        method = name.startswith(".")
        return [
            full
            for full in self._signatures.called(name.removeprefix("."))
            if ("." in known[full].qualname and not full.endswith(".__init__")) is method
        ]

    # --- who is called -----------------------------------------------------------------------

    def _callee(self, callee: nodes.Expression) -> Reached:
        if isinstance(callee, nodes.SuperExpr):
            return self._above(callee)
        if isinstance(callee, nodes.RefExpr):
            found = self._definition(callee)
            if found is not None:
                return found
        if isinstance(callee, nodes.MemberExpr):
            found = self._member(self._inferred.get(callee.expr), callee.name)
            if found is not None:
                return found
        return self._value(self._inferred.get(callee))

    def _definition(self, callee: nodes.RefExpr) -> Reached | None:
        node = callee.node
        if node is None and isinstance(callee, nodes.NameExpr):
            return Reached(named=frozenset({callee.name}))
        if isinstance(node, nodes.TypeInfo):
            return self._constructor(node)
        if isinstance(node, nodes.TypeAlias):
            info = class_of(types.get_proper_type(node.target))
            return self._constructor(info) if info else Reached()
        if isinstance(node, nodes.FuncDef | nodes.Decorator | nodes.OverloadedFuncDef):
            if isinstance(callee, nodes.MemberExpr) and node.info:
                return self._method(node.info, node.name, on_class=True)
            function = node.func if isinstance(node, nodes.Decorator) else node
            # A function inside of a method may have the full name of another method.
            known = self._signatures.definitions.get(node.fullname)
            return Reached(frozenset({node.fullname} if function is known else ()))
        return None

    def _above(self, callee: nodes.SuperExpr) -> Reached:
        """Whatever comes next in the order of classes, of this class and of its subclasses."""
        found = set()
        here = callee.info
        for info in self._below(here) if here else ():
            after = info.mro[info.mro.index(here) + 1 :] if here else []
            first = next((base for base in after if callee.name in base.names), None)
            if first is not None:
                found.add(f"{first.fullname}.{callee.name}")
        return Reached(frozenset(found))

    def _below(self, info: nodes.TypeInfo) -> Iterator[nodes.TypeInfo]:
        yield from (kind for kind in self._signatures.classes if info in kind.mro)

    def _constructor(self, info: nodes.TypeInfo) -> Reached:
        first = next((base for base in info.mro if "__init__" in base.names), None)
        return Reached(frozenset({f"{first.fullname}.__init__"} if first else ()))

    def _member(self, kind: types.Type | None, name: str) -> Reached | None:
        """Method ``name`` of a value; ``None`` when it is an attribute that holds something."""
        if kind is None:
            return Reached(named=frozenset({f".{name}"}))
        kind = types.get_proper_type(kind)
        if isinstance(kind, types.UnionType):
            found = Reached()
            for item in kind.items:
                found |= self._member(item, name) or Reached(named=frozenset({f".{name}"}))
            return found
        if isinstance(kind, types.NoneType):
            return Reached()
        if isinstance(kind, types.LiteralType):
            kind = kind.fallback
        info = class_of(kind)
        if info is None:
            return Reached(named=frozenset({f".{name}"}))
        return self._method(
            info, name, on_class=isinstance(kind, types.TypeType | types.FunctionLike)
        )

    def _method(self, info: nodes.TypeInfo, name: str, *, on_class: bool) -> Reached | None:
        holders = [*self._below(info)]
        first = next((base for base in info.mro if name in base.names), None)
        if first is not None:
            holders.append(first)
        functions: set[str] = set()
        unbound: set[str] = set()
        for holder in holders:
            symbol = holder.names.get(name)
            if symbol is None:
                continue
            function = symbol.node.func if isinstance(symbol.node, nodes.Decorator) else symbol.node
            if not isinstance(function, nodes.FuncDef | nodes.OverloadedFuncDef):
                return None
            bound = function.is_static or function.is_class or not on_class
            (functions if bound else unbound).add(f"{holder.fullname}.{name}")
        return Reached(frozenset(functions), unbound=frozenset(unbound))

    def _value(self, kind: types.Type | None) -> Reached:
        """A value is called: a class in a variable; functions in variables are kept anyway."""
        if kind is None:
            return Reached()
        kind = types.get_proper_type(kind)
        if isinstance(kind, types.UnionType):
            found = Reached()
            for item in kind.items:
                found |= self._value(item)
            return found
        holds_class = isinstance(kind, types.TypeType) or (
            isinstance(kind, types.FunctionLike) and kind.is_type_obj()
        )
        info = class_of(kind) if holds_class else None
        found = Reached()
        for below in self._below(info) if info is not None else ():
            found |= self._constructor(below)
        return found

    # --- functions that are values -----------------------------------------------------------

    def _keep_values(self, parts: Sequence[nodes.Node]) -> None:
        """A function that is stored or handed on may be called from anywhere."""
        harmless: set[int] = set()
        texts = frozenset(node.value for node in parts if isinstance(node, nodes.StrExpr))
        for node in parts:
            if isinstance(node, nodes.CallExpr):
                harmless.add(id(node.callee))
                if isinstance(node.callee, nodes.NameExpr) and node.callee.name in _CHECKS:
                    harmless |= {id(part) for a in node.args for part in _listed(a)}
                self._keep_named(node, texts)
            elif isinstance(node, nodes.ComparisonExpr):
                harmless |= {id(operand) for operand in node.operands}
            elif isinstance(node, nodes.ClassDef):
                bases = [*node.base_type_exprs, *node.decorators, node.metaclass]
                harmless |= {id(base) for base in bases}
            elif isinstance(node, nodes.Decorator):
                harmless |= {id(decorator) for decorator in node.decorators}
            elif isinstance(node, nodes.MemberExpr):
                harmless.add(id(node.expr))
        for node in parts:
            if id(node) not in harmless and isinstance(node, nodes.RefExpr | nodes.SuperExpr):
                self._keep_value(node)

    def _keep_value(self, node: nodes.RefExpr | nodes.SuperExpr) -> None:
        if isinstance(node, nodes.SuperExpr):
            reached = self._above(node)
        else:
            found = self._definition(node)
            if found is None and isinstance(node, nodes.MemberExpr):
                found = self._member(self._inferred.get(node.expr), node.name)
            reached = found or Reached()
        for name in reached.named:
            reached |= Reached(frozenset(self._possible(name)))
        for fullname in reached.functions | reached.unbound:
            self._signatures.keep(fullname, "used as a value")

    def _keep_named(self, node: nodes.CallExpr, texts: frozenset[str]) -> None:
        """``getattr(x, name)``: whatever may be called so."""
        if not isinstance(node.callee, nodes.NameExpr | nodes.MemberExpr):
            return
        if node.callee.name not in _BY_NAME:
            return
        kind = self._inferred.get(node.args[0])
        info = class_of(types.get_proper_type(kind)) if kind is not None else None
        names = {item.value for item in node.args if isinstance(item, nodes.StrExpr)}
        found = {full for name in names or texts for full in self._signatures.called(name)}
        if info is not None:
            holders = {holder.fullname for holder in (*self._below(info), *info.mro)}
            every = found if names else set(self._signatures.functions)
            found = {name for name in every if name.rpartition(".")[0] in holders}
        for fullname in found:
            self._signatures.keep(fullname, "looked up by its name")


def _listed(node: nodes.Expression) -> Iterator[nodes.Expression]:
    """A class, or the classes of a tuple or a union of them."""
    yield node
    if isinstance(node, nodes.TupleExpr):
        for item in node.items:
            yield from _listed(item)
    elif isinstance(node, nodes.OpExpr):
        yield from _listed(node.left)
        yield from _listed(node.right)


def keep_unread(
    signatures: Signatures, tree: ast.Module, calls: Collection[Position], *, every: bool = False
) -> None:
    """Keep what is called in f-strings and in code that mypy does not look at."""
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    formatted = {id(node) for text in texts for node in ast.walk(text)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not (node.args or every):
            continue
        end = (node.end_lineno or 0, node.end_col_offset or 0)
        if id(node) in formatted or end not in calls:
            callee = node.func
            name = getattr(callee, "attr", None) or getattr(callee, "id", None)
            for fullname, function in signatures.functions.items():
                constructor = fullname.endswith(".__init__")
                if function.called == name or (name is None and constructor):
                    signatures.keep(fullname, NOT_READ)
