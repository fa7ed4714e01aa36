"""Which functions of the libraries have parameters that may change places, and which never.

Whatever cannot be followed to its end keeps its order: the list of reasons is part of the report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mypy import nodes

from experiments.unseen.typed import walk

#: Base classes of others that never call a constructor with positional arguments.
_HARMLESS_BASES = frozenset(
    {"builtins.object", "abc.ABC", "monty.json.MSONable", "typing.Protocol", "typing.Generic"}
)
_HARMLESS_METACLASSES = frozenset({"abc.ABCMeta", "builtins.type"})
#: Arguments of ``@dataclass`` under which the order of the fields is only that of the constructor.
_HARMLESS_FIELDS = frozenset({"eq", "frozen", "repr", "slots", "unsafe_hash"})
_IN_ORDER = frozenset({"astuple", "fields"})
#: Methods that monty calls.
_CALLED_BY_OTHERS = frozenset({"as_dict", "from_dict"})


@dataclass(frozen=True)
class Parameter:
    """One parameter that can be given by position and by name."""

    name: str
    default: bool


@dataclass(frozen=True)
class Function:
    """A function, method or constructor of the libraries.

    Attributes
    ----------
    module, qualname
        Where it is defined; the constructor of a dataclass is ``Class.__init__``.
    parameters
        What can be given by position and by name, without the receiver.
    by_name
        Parameters with a default that can be given by name only.
    dataclass
        Whether it is made from the fields of a dataclass.
    """

    module: str
    qualname: str
    parameters: tuple[Parameter, ...]
    by_name: tuple[str, ...] = ()
    dataclass: bool = False

    @property
    def fullname(self) -> str:
        """Dotted name."""
        return f"{self.module}.{self.qualname}"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters that can be given by position."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def called(self) -> str:
        """The name by which it is called: that of the class for a constructor."""
        *before, name = self.qualname.split(".")
        return before[-1] if name == "__init__" and before else name


@dataclass
class Signatures:
    """All functions, what keeps them as they are, and which must stay alike.

    Attributes
    ----------
    functions
        By full name.
    kept
        Full name to the first reason why its parameters stay in place.
    classes
        All classes, those of the scripts too.
    definitions
        What mypy made of each function, by full name.
    """

    functions: dict[str, Function] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    classes: list[nodes.TypeInfo] = field(default_factory=list)
    definitions: dict[str, nodes.FuncDef] = field(default_factory=dict)
    _parents: dict[str, str] = field(default_factory=dict)

    def keep(self, fullname: str, why: str) -> None:
        """The function, if it is one of ours, keeps its order."""
        self.kept.setdefault(fullname, why)

    def group(self, fullname: str) -> str:
        """One name for all methods that override each other, and so must stay alike."""
        while (above := self._parents.get(fullname, fullname)) != fullname:
            fullname = above
        return fullname

    def join(self, one: str, other: str) -> None:
        """Two methods must stay alike."""
        self._parents[self.group(one)] = self.group(other)

    def members(self) -> dict[str, list[Function]]:
        """Functions by group."""
        found: dict[str, list[Function]] = {}
        for name, function in self.functions.items():
            found.setdefault(self.group(name), []).append(function)
        return found

    def called(self, name: str) -> list[str]:
        """Full names of all functions that are called by this name."""
        return [full for full, function in self.functions.items() if function.called == name]

    def keep_unlike(self) -> None:
        """Methods that override each other change together or, with other parameters, not."""
        for members in self.members().values():
            alike = len({member.parameters for member in members}) == 1
            reasons = [self.kept[m.fullname] for m in members if m.fullname in self.kept]
            for member in members:
                if not alike:
                    self.keep(member.fullname, "overridden with other parameters")
                elif reasons:
                    self.keep(member.fullname, reasons[0])


def read_signatures(
    files: Mapping[str, nodes.MypyFile],
    ours: Sequence[str],
    *,
    overridden: Iterable[str],
) -> Signatures:
    """All functions of the libraries, and the reasons that lie in their definitions.

    Parameters
    ----------
    files
        mypy's trees by module name: the libraries' and the scripts'.
    ours
        Names of the modules of the libraries.
    overridden
        Members that the libraries' classes override of classes of others.
    """
    found = Signatures()
    for name, file in files.items():
        imported = _imported(file)
        parts = list(walk(file))
        found.classes += [node.info for node in parts if isinstance(node, nodes.ClassDef)]
        if name not in ours:
            continue
        for node in parts:
            if isinstance(node, nodes.ClassDef) and "@" not in node.info.fullname:
                _read_class(found, name, node, imported, ours)
        bodies = [
            file.defs,
            *(node.defs.body for node in parts if isinstance(node, nodes.ClassDef)),
        ]
        for body in bodies:
            for definition in _functions(body):
                _read_function(found, file, definition)
    protected = {*overridden, *_CALLED_BY_OTHERS}
    for full, function in found.functions.items():
        if "." in function.qualname and function.qualname.rpartition(".")[2] in protected:
            found.keep(full, "overrides a method of others, or is called by them")
    _join_overriding(found)
    return found


def _imported(file: nodes.MypyFile) -> dict[str, str]:
    """Names that a module imports, with where from."""
    found = {}
    for statement in file.imports:
        if isinstance(statement, nodes.ImportFrom):
            for name, alias in statement.names:
                found[alias or name] = f"{statement.id}.{name}"
        elif isinstance(statement, nodes.Import):
            found |= {alias: name for name, alias in statement.ids if alias}
    return found


def _functions(body: Sequence[nodes.Statement]) -> Iterator[nodes.FuncDef | nodes.Decorator]:
    """Functions of a module or a class, not those inside of functions."""
    for statement in body:
        if isinstance(statement, nodes.FuncDef | nodes.Decorator):
            yield statement
        elif isinstance(statement, nodes.OverloadedFuncDef):
            yield from _functions(statement.items)
        elif isinstance(statement, nodes.IfStmt):
            for block in (*statement.body, statement.else_body):
                yield from _functions(block.body if block else ())
        elif isinstance(statement, nodes.TryStmt):
            for block in (statement.body, *statement.handlers, statement.else_body):
                yield from _functions(block.body if block else ())
        elif isinstance(statement, nodes.WithStmt):
            yield from _functions(statement.body.body)


def _read_function(
    found: Signatures, file: nodes.MypyFile, node: nodes.FuncDef | nodes.Decorator
) -> None:
    function = node.func if isinstance(node, nodes.Decorator) else node
    fullname, module = function.fullname, file.fullname
    if fullname in found.functions and found.functions[fullname].dataclass:
        return  # made by mypy
    if fullname in found.functions:
        found.keep(fullname, "defined more than once")
        return
    if "@" in fullname:
        return  # of a class inside of a function
    qualname = fullname[len(module) + 1 :]
    kinds = list(zip(function.arg_names, function.arg_kinds, strict=True))
    by_name = tuple(name for name, kind in kinds if kind == nodes.ARG_NAMED_OPT and name)
    found.functions[fullname] = Function(module, qualname, _parameters(function), by_name)
    found.definitions[fullname] = function
    name = function.name
    if function.is_property or (isinstance(node, nodes.Decorator) and node.decorators):
        found.keep(fullname, "decorated")
    if name.startswith("__") and name.endswith("__") and name != "__init__":
        found.keep(fullname, "called by Python")
    if nodes.ARG_STAR in function.arg_kinds or any(
        argument.pos_only for argument in function.arguments
    ):
        found.keep(fullname, "takes positional arguments only")


def _parameters(function: nodes.FuncDef) -> tuple[Parameter, ...]:
    pairs = list(zip(function.arg_names, function.arg_kinds, strict=True))
    receiver = bool(function.info) and not function.is_static
    return tuple(
        Parameter(name or "", default=kind == nodes.ARG_OPT)
        for name, kind in pairs[int(receiver) :]
        if kind in (nodes.ARG_POS, nodes.ARG_OPT)
    )


def _read_class(
    found: Signatures,
    module: str,
    node: nodes.ClassDef,
    imported: Mapping[str, str],
    ours: Sequence[str],
) -> None:
    info = node.info
    constructor = f"{info.fullname}.__init__"
    symbol = info.names.get("__init__")
    if symbol is not None and symbol.plugin_generated and "dataclass" in info.metadata:
        # With a base class that mypy does not know, its own constructor takes anything.
        parameters = tuple(
            Parameter(field["name"], default=field["has_default"])
            for field in info.metadata["dataclass"]["attributes"]
            if field["is_in_init"] and not field["kw_only"]
        )
        function = Function(module, constructor[len(module) + 1 :], parameters, dataclass=True)
        found.functions[constructor] = function
        if reason := _field_order_matters(node, found):
            found.keep(constructor, reason)
    for reason in _called_by_others(node, imported, ours):
        for base in info.mro:  # the inherited constructor is called too
            found.keep(f"{base.fullname}.__init__", reason)


def _called_by_others(
    node: nodes.ClassDef, imported: Mapping[str, str], ours: Sequence[str]
) -> Iterator[str]:
    """Reasons why code of others may construct the class, in an order that they know."""
    for base in node.base_type_exprs:
        origin = _origin(base, imported)
        if origin not in _HARMLESS_BASES and not _is_defined_in(base, ours):
            yield f"{node.name} is a subclass of {origin}"
    if (
        node.metaclass is not None
        and _origin(node.metaclass, imported) not in _HARMLESS_METACLASSES
    ):
        yield f"{node.name} has a metaclass"
    for decorator in node.decorators:
        called = decorator.callee if isinstance(decorator, nodes.CallExpr) else decorator
        if _origin(called, imported) != "dataclasses.dataclass":
            yield f"{node.name} is decorated"
    if "__new__" in node.info.names:
        yield f"{node.name} has a __new__"


def _is_defined_in(base: nodes.Expression, ours: Sequence[str]) -> bool:
    if not isinstance(base, nodes.RefExpr) or not isinstance(base.node, nodes.TypeInfo):
        return False
    return base.node.module_name in ours


def _origin(expression: nodes.Expression, imported: Mapping[str, str]) -> str:
    if isinstance(expression, nodes.IndexExpr):
        return _origin(expression.base, imported)
    if isinstance(expression, nodes.RefExpr) and isinstance(expression.node, nodes.TypeInfo):
        return expression.node.fullname
    if isinstance(expression, nodes.NameExpr):
        return imported.get(expression.name, expression.fullname or expression.name)
    if isinstance(expression, nodes.MemberExpr):
        return f"{_origin(expression.expr, imported)}.{expression.name}"
    return "?"


def _field_order_matters(node: nodes.ClassDef, found: Signatures) -> str:
    for decorator in node.decorators:
        if isinstance(decorator, nodes.CallExpr):
            given = {name for name in decorator.arg_names if name}
            if not given <= _HARMLESS_FIELDS:
                return "a dataclass with an order of its own"
    if any(field["is_init_var"] for field in node.info.metadata["dataclass"]["attributes"]):
        return "a dataclass with an order of its own"  # __post_init__ gets them in this order
    related = [base for base in node.info.mro[1:] if "dataclass" in base.metadata]
    if related:
        for base in related:
            found.keep(f"{base.fullname}.__init__", "fields are inherited")
        return "fields are inherited"
    return ""


def keep_ordered_fields(found: Signatures, texts: Iterable[str]) -> None:
    """Where the fields of some dataclass are asked for in their order, all of them keep it."""
    asked = rf"\b(?:{'|'.join(sorted(_IN_ORDER))})\("
    pattern = re.compile(rf"{asked}|^[ \t]*case .*\(|__match_args__", re.MULTILINE)
    if any(pattern.search(text) for text in texts):
        for name, function in found.functions.items():
            if function.dataclass:
                found.keep(name, "the order of fields is asked for")


def _join_overriding(found: Signatures) -> None:
    for info in found.classes:
        for name in info.names:
            mine = f"{info.fullname}.{name}"
            for base in info.mro[1:]:
                other = f"{base.fullname}.{name}"
                if name != "__init__" and other in found.functions and mine in found.functions:
                    found.join(mine, other)
                elif name != "__init__" and name in base.names:
                    for one in (mine, other):
                        found.keep(one, "overridden by what is no function of the library")
