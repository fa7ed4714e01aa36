"""Parameters change places; every call is rewritten so that it means what it meant."""

# ruff: noqa: N802 - libcst names the methods of a transformer after its nodes

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from experiments.unseen.mutations_calls import Call
from experiments.unseen.mutations_signatures import Function, Parameter, Signatures
from experiments.unseen.mutations_texts import reorder_parameters
from experiments.unseen.owners import Position
from experiments.unseen.rewrite import placeholder

_LITERALS = (cst.BaseNumber, cst.SimpleString, cst.ConcatenatedString)
_BRACKETS = (cst.Tuple, cst.List, cst.Dict, cst.Set)


def choose_orders(signatures: Signatures, seed: int) -> dict[str, tuple[str, ...]]:
    """New order of parameters, by full name of each function whose parameters change places.

    What must be given changes places with what must be given, what has a default with what has
    one. Methods that override each other get the same order.
    """
    chosen: dict[str, tuple[str, ...]] = {}
    for group, members in signatures.members().items():
        if any(member.fullname in signatures.kept for member in members):
            continue
        old = members[0].parameters
        chance = random.Random(f"{seed} order {group}")  # noqa: S311 - an order, not a secret
        new = [
            name
            for default in (False, True)
            for name in _moved([p.name for p in old if p.default is default], chance)
        ]
        if new != _names(old):
            chosen |= {member.fullname: tuple(new) for member in members}
    return chosen


def _moved(names: list[str], chance: random.Random) -> list[str]:
    """Another order of the names, where there is one."""
    moved = list(names)
    while len(names) > 1 and moved == names:
        chance.shuffle(moved)
    return moved


def _names(parameters: Sequence[Parameter]) -> list[str]:
    return [parameter.name for parameter in parameters]


@dataclass(frozen=True)
class Reordered:
    """A module after the change; ``masks`` says where its masks are now."""

    text: str
    masks: Mapping[tuple[int, int], str]


def apply_orders(
    text: str,
    module: str,
    *,
    functions: Mapping[str, Function],
    orders: Mapping[str, tuple[str, ...]],
    calls: Mapping[Position, Call],
    masks: Mapping[tuple[int, int], str],
) -> Reordered:
    """Rewrite one module of a library, or a script that uses it.

    Parameters
    ----------
    functions
        All functions of the libraries.
    orders
        New order of parameters by full name.
    calls
        The calls, by where they end.
    masks
        Where (line from 1, column) a mask stands for a name, and which mask.
    """
    wrapper = MetadataWrapper(cst.parse_module(text))
    rewriter = _Rewriter(
        module=module,
        functions=functions,
        orders=orders,
        calls=calls,
        masks=masks,
        lines=text.splitlines() or [""],
        positions=wrapper.resolve(PositionProvider),
    )
    done = wrapper.visit(rewriter).code
    return _unmasked(done, rewriter.masked) if masks else Reordered(done, {})


def _unmasked(text: str, masked: Mapping[str, str]) -> Reordered:
    """Put the names back in the place of the marks, and remember where they are."""
    places: dict[tuple[int, int], str] = {}
    lines = text.split("\n")
    for number, line in enumerate(lines):
        rest, done = line, ""
        while found := min(
            ((rest.find(mark), mark) for mark in map(placeholder, masked) if mark in rest),
            default=None,
        ):
            start, mark = found
            mask = mark.removesuffix(placeholder(""))
            done += rest[:start]
            places[number + 1, len(done)] = mask
            done += masked[mask]
            rest = rest[start + len(mark) :]
        lines[number] = done + rest
    return Reordered("\n".join(lines), places)


@dataclass
class _Rewriter(cst.CSTTransformer):
    module: str
    functions: Mapping[str, Function]
    orders: Mapping[str, tuple[str, ...]]
    calls: Mapping[Position, Call]
    masks: Mapping[tuple[int, int], str]
    lines: list[str]
    positions: Mapping[cst.CSTNode, CodeRange]
    masked: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._scope: list[str] = []

    # --- masks -------------------------------------------------------------------------------

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        """A name behind a mask becomes a mark, so that it can be found again."""
        start = self.positions[original_node].start
        if mask := self.masks.get((start.line, start.column)):
            self.masked[mask] = original_node.value
            return updated_node.with_changes(value=placeholder(mask))
        return updated_node

    def leave_SimpleString(
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.SimpleString:
        """A key behind a mask."""
        start = self.positions[original_node].start
        opening = len(original_node.prefix) + len(original_node.quote)
        if mask := self.masks.get((start.line, start.column + opening)):
            self.masked[mask] = original_node.raw_value
            return _with_raw(updated_node, placeholder(mask))
        return updated_node

    # --- calls -------------------------------------------------------------------------------

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """The arguments go where their parameters went."""
        end = self.positions[original_node].end
        place = end.line, len(self.lines[end.line - 1][: end.column].encode())
        call = self.calls.get(place)
        reached = sorted(name for name in call.functions if name in self.orders) if call else []
        if not reached:
            return updated_node
        old = _names(self.functions[reached[0]].parameters)
        return updated_node.with_changes(
            args=_rearranged(updated_node.args, old, self.orders[reached[0]])
        )

    # --- definitions -------------------------------------------------------------------------

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        """Remember where we are."""
        self._scope.append(node.name.value)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        """Remember where we are."""
        self._scope.append(node.name.value)

    def leave_FunctionDef(
        self,
        original_node: cst.FunctionDef,  # noqa: ARG002 - libcst gives both
        updated_node: cst.FunctionDef,
    ) -> cst.FunctionDef:
        """The parameters, and their list in the docstring."""
        fullname = ".".join([self.module, *self._scope])
        self._scope.pop()
        if fullname not in self.orders:
            return updated_node
        order = self.orders[fullname]
        parameters = _reordered_parameters(updated_node.params, order)
        body = with_text(updated_node.body, lambda raw: reorder_parameters(raw, order))
        return updated_node.with_changes(params=parameters, body=body)

    def leave_ClassDef(
        self,
        original_node: cst.ClassDef,  # noqa: ARG002
        updated_node: cst.ClassDef,
    ) -> cst.ClassDef:
        """The fields of a dataclass, and the list of the constructor's parameters."""
        constructor = ".".join([self.module, *self._scope, "__init__"])
        self._scope.pop()
        if constructor not in self.orders:
            return updated_node
        order, fields = self.orders[constructor], self.functions[constructor].dataclass
        body = with_text(
            updated_node.body, lambda raw: reorder_parameters(raw, order, fields=fields)
        )
        if fields:
            body = _reordered_fields(body, order)
        return updated_node.with_changes(body=body)


def _rearranged(
    arguments: Sequence[cst.Arg], old: Sequence[str], new: Sequence[str]
) -> list[cst.Arg]:
    """The same values for the same parameters.

    Where it is of no consequence in which order they are evaluated, the values change places;
    else those that would be misplaced are given by name, where they are.
    """
    count = sum(argument.keyword is None and not argument.star for argument in arguments)
    given = dict(zip(old, (argument.value for argument in arguments[:count]), strict=False))
    if _may_change_places(list(given.values())):
        first = next((i for i, name in enumerate(new) if name not in given), len(new))
        values = {**{name: given[name] for name in new[:first]}, **given}
    else:
        first = next((i for i in range(count) if old[i] != new[i]), count)
        values = given
    done = [
        slot.with_changes(value=value) if index < first else by_name(slot, name, value)
        for index, (slot, (name, value)) in enumerate(
            zip(arguments[:count], values.items(), strict=True)
        )
    ]
    return [*done, *arguments[count:]]


def in_parentheses(value: cst.BaseExpression) -> cst.BaseExpression:
    """A generator needs parentheses of its own where it is not the only argument."""
    if isinstance(value, cst.GeneratorExp) and not value.lpar:
        return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return value


def by_name(slot: cst.Arg, name: str, value: cst.BaseExpression) -> cst.Arg:
    """The argument with another value, given by name."""
    plain = cst.SimpleWhitespace("")
    return slot.with_changes(
        keyword=cst.Name(name),
        value=in_parentheses(value),
        equal=cst.AssignEqual(whitespace_before=plain, whitespace_after=plain),
    )


def _may_change_places(values: Sequence[cst.BaseExpression]) -> bool:
    """Whether nothing changes when the values are evaluated in another order.

    Reading has no effect on reading; one single value may do more, if all others are local
    names or literals.
    """
    effects = [value for value in values if not _only_reads(value)]
    others = [value for value in values if _only_reads(value)]
    fixed = all(isinstance(value, cst.Name | cst.BaseNumber | cst.SimpleString) for value in others)
    return not effects or (len(effects) == 1 and fixed and not _binds(effects[0]))


def _binds(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.NamedExpr | cst.Await | cst.Yield) or any(
        _binds(child) for child in node.children
    )


def _only_reads(node: cst.BaseExpression) -> bool:
    if isinstance(node, (cst.Name, cst.Lambda, *_LITERALS)):
        return True
    if isinstance(node, cst.Attribute):
        return _only_reads(node.value)
    if isinstance(node, (*_BRACKETS, cst.BinaryOperation, cst.UnaryOperation, cst.Comparison,
                         cst.BooleanOperation, cst.Subscript, cst.IfExp)):  # fmt: skip
        return not any(_acts(child) for child in node.children)
    return False


def _acts(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Call | cst.Await | cst.Yield | cst.NamedExpr | cst.BaseComp):
        return True
    return any(_acts(child) for child in node.children)


def _reordered_parameters(parameters: cst.Parameters, order: Sequence[str]) -> cst.Parameters:
    """Parameters change places; commas and line breaks stay where they are."""
    by_name = {slot.name.value: slot for slot in parameters.params}
    receiver = [name for name in by_name if name not in order]
    done = [
        slot.with_changes(
            name=by_name[name].name,
            annotation=by_name[name].annotation,
            equal=by_name[name].equal,
            default=by_name[name].default,
        )
        for slot, name in zip(parameters.params, [*receiver, *order], strict=True)
    ]
    return parameters.with_changes(params=done)


def _reordered_fields(body: cst.BaseSuite, order: Sequence[str]) -> cst.BaseSuite:
    """Fields change places, each with the text below it, if there is one."""
    statements: list[cst.CSTNode] = list(body.body)
    places: dict[str, list[int]] = {}
    for index, statement in enumerate(statements):
        if (name := _field(statement)) in order:
            places[name] = [index]
            if index + 1 < len(statements) and _text_of(statements[index + 1]) is not None:
                places[name].append(index + 1)
    done: list[cst.CSTNode] = []
    taken = {index for indices in places.values() for index in indices}
    following = iter(sorted(places, key=order.index))
    for index, statement in enumerate(statements):
        if any(index == indices[0] for indices in places.values()):
            first, *text = (statements[i] for i in places[next(following)])
            # Blank lines belong to the place.
            done += [first.with_changes(leading_lines=_lines_before(statement)), *text]
        elif index not in taken:
            done.append(statement)
    return body.with_changes(body=done)


def _lines_before(statement: cst.CSTNode) -> Sequence[cst.EmptyLine]:
    return statement.leading_lines if isinstance(statement, cst.SimpleStatementLine) else ()


def _field(statement: cst.CSTNode) -> str:
    if isinstance(statement, cst.SimpleStatementLine):
        first = statement.body[0]
        if isinstance(first, cst.AnnAssign) and isinstance(first.target, cst.Name):
            return first.target.value
    return ""


def _text_of(statement: cst.CSTNode) -> cst.SimpleString | None:
    if isinstance(statement, cst.SimpleStatementLine):
        first = statement.body[0]
        if isinstance(first, cst.Expr) and isinstance(first.value, cst.SimpleString):
            return first.value
    return None


def with_text(body: cst.BaseSuite, edit: Callable[[str], str]) -> cst.BaseSuite:
    """The body of a function or a class with its docstring edited, if it has one."""
    if not body.body or (text := _text_of(body.body[0])) is None:
        return body
    return body.with_deep_changes(text, value=_with_raw(text, edit(text.raw_value)).value)


def _with_raw(node: cst.SimpleString, raw: str) -> cst.SimpleString:
    return node.with_changes(value=f"{node.prefix}{node.quote}{raw}{node.quote}")
