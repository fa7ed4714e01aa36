"""Where the values that a function returns come from: data flow through its syntax tree.

The code is read, never executed: what ran, and which library functions it called, is told by the
trace of its run. The analysis is conservative: it may name a literal or call that a value does
not really depend on, but leaves none out that it can see, and says where it cannot see.
"""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Collection, Mapping, Sequence

from agents.assistant.cells import Cell, Tag, merged, without_numbers, without_text
from agents.assistant.tracer import place
from agents.assistant.tracing import Trace, is_library

MOST_STEPS = 50_000  # expressions read, those of a loop or a called function each time
MOST_LITERALS = 500  # that are told apart
DEPTH = 8  # of functions that call each other
_PASSES = 2  # through the body of a loop: once more for what it carries over
_COUNTED = frozenset({"range", "round", "print"})  # numbers in their arguments are no data


class TooLargeError(Exception):
    """There is too much code to follow."""


Scope = dict[str, Cell]


def flows(
    code: str, entry: str, trace: Trace | None, inputs: Collection[str]
) -> tuple[dict[str, set[Tag]], set[Tag]]:
    """What each value of the returned dict depends on.

    Parameters
    ----------
    trace
        Of the run of this code; ``None``: there is none.
    inputs
        Names of the input files.

    Returns
    -------
    by_key, rest
        By the keys of the dict that are literals; and what holds for every other.
    """
    reader = Reader(trace, inputs)
    try:
        cell = reader.returned(ast.parse(code), entry)
        return {key: part.tags | cell.own for key, part in (cell.keys or {}).items()}, cell.tags
    except (SyntaxError, ValueError, RecursionError, TooLargeError):
        return {}, {Tag("unknown", "the code is too long or too deep to be followed")}


class Reader:
    """Walks the code in the order in which it runs."""

    def __init__(self, trace: Trace | None, inputs: Collection[str]) -> None:
        self._trace = trace
        self._inputs = inputs
        #: Each with the variables around it, which it sees.
        self._functions: dict[str, tuple[ast.AST, Scope]] = {}
        self._everywhere: set[Tag] = set()
        self._module: Scope = {}
        self._conditions: list[set[Tag]] = []  # what decides whether the current line runs
        self._returns: list[Cell] = []
        self._depth = 0
        self._steps = 0
        self._literals: set[Tag] = set()
        self._yields: dict[int, list[ast.expr]] = {}

    def returned(self, tree: ast.Module, entry: str) -> Cell:
        """What the entry function returns."""
        self._block(tree.body, self._module)
        function = self._functions.get(entry)
        if function is None:
            return Cell([Tag("unknown", "the function is not defined in the plain way")])
        cell = self._enter(*function, [], {})
        return Cell(cell.own | self._everywhere, cell.keys)

    # --- statements ------------------------------------------------------------------------

    def _block(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        for statement in body:
            self._statement(statement, scope)

    def _branch(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        """A block that runs under a condition, if it did."""
        reached = self._trace is None or any(
            f"B{s.lineno}:{s.col_offset}" in self._trace.places for s in body[:1]
        )
        if reached:
            self._block(body, scope)

    def _statement(self, node: ast.stmt, scope: Scope) -> None:  # noqa: C901, PLR0912 -- one case each
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._functions[node.name] = node, scope
            scope.pop(node.name, None)
            for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                self._value(default, scope)
        elif isinstance(node, ast.ClassDef):
            scope[node.name] = self._everything(node.body)
        elif isinstance(node, ast.Assign):
            value = self._value(node.value, scope)
            for target in node.targets:
                self._bind(target, value, scope)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._bind(node.target, self._value(node.value, scope), scope)
        elif isinstance(node, ast.AugAssign):
            value = self._value(node.value, scope)
            self._absorb(node.target, value.tags, scope)
        elif isinstance(node, ast.Return):
            value = self._value(node.value, scope) if node.value else Cell()
            self._returns.append(self._conditioned(value))
        elif isinstance(node, ast.If | ast.While):
            tags = self._value(node.test, scope).tags
            for _ in range(_PASSES if isinstance(node, ast.While) else 1):
                self._under(tags, [node.body, node.orelse], scope)
            if any(isinstance(last, ast.Return | ast.Continue | ast.Break)
                   for last in (*node.body[-1:], *node.orelse[-1:])):  # fmt: skip
                self._conditions[-1] |= tags  # what follows hangs on it as well
        elif isinstance(node, ast.For | ast.AsyncFor):
            items = self._value(node.iter, scope)
            for _ in range(_PASSES):
                self._bind(node.target, items, scope)
                self._branch(node.body, scope)
            self._branch(node.orelse, scope)
        elif isinstance(node, ast.Try):
            self._branch(node.body, scope)
            for handler in node.handlers:
                self._branch(handler.body, scope)
            self._branch(node.orelse, scope)
            self._branch(node.finalbody, scope)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                value = self._value(item.context_expr, scope)
                if item.optional_vars is not None:
                    self._bind(item.optional_vars, value, scope)
            self._block(node.body, scope)
        elif isinstance(node, ast.Match):
            tags = self._value(node.subject, scope).tags
            for case in node.cases:
                for name in ast.walk(case.pattern):
                    if isinstance(name, ast.MatchAs | ast.MatchStar) and name.name:
                        scope[name.name] = Cell(tags)
                self._under(tags, [case.body], scope)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            said = f"a function sets {', '.join(node.names)} outside of itself"
            self._everywhere.add(Tag("unknown", said[:60]))
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self._value(child, scope)

    def _under(self, tags: set[Tag], bodies: Sequence[list[ast.stmt]], scope: Scope) -> None:
        """Blocks that run because of a condition; what one binds anew, the others may have kept."""
        self._conditions.append(set(tags))
        results = []
        for body in bodies:
            inner = dict(scope)
            if body:
                self._branch(body, inner)
            results.append(inner)
        self._conditions.pop()
        for name in {name for result in results for name in result}:
            cells = {id(result[name]): result[name] for result in results if name in result}
            kept = list(cells.values())
            scope[name] = kept[0] if len(kept) == 1 else merged(kept)

    def _bind(self, target: ast.expr, value: Cell, scope: Scope) -> None:
        value = self._conditioned(value)
        if isinstance(target, ast.Name):
            scope[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._bind(part, value, scope)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, value, scope)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            owner = scope.get(target.value.id)
            key = target.slice.value if isinstance(target.slice, ast.Constant) else None
            if owner is not None and owner.keys is not None and isinstance(key, str):
                known = owner.keys.get(key)
                sure = known is None or not any(self._conditions)
                owner.keys[key] = value if sure or known is None else merged([known, value])
            else:
                self._absorb(target, value.tags, scope)
        else:
            self._absorb(target, value.tags, scope)

    def _absorb(self, target: ast.expr, tags: set[Tag], scope: Scope) -> None:
        """An object is changed: whatever its name stands for depends on ``tags``, too."""
        while isinstance(target, ast.Attribute | ast.Subscript | ast.Call):
            target = target.func if isinstance(target, ast.Call) else target.value
        if isinstance(target, ast.Name):
            cell = scope.get(target.id) or self._module.get(target.id)
            if cell is not None:
                cell.own |= tags.union(*self._conditions)

    def _conditioned(self, value: Cell) -> Cell:
        value.own |= set().union(*self._conditions)
        return value

    # --- expressions -----------------------------------------------------------------------

    def _value(self, node: ast.expr, scope: Scope) -> Cell:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise TooLargeError
        if isinstance(node, ast.Constant):
            return self._constant(node)
        if isinstance(node, ast.Name):
            return self._name(node.id, scope)
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
            minus = "-" if isinstance(node.op, ast.USub) else ""
            cell = self._constant(node.operand)
            return Cell(t._replace(text=minus + t.text) if t.kind == "number" else t
                        for t in cell.own)  # fmt: skip
        if isinstance(node, ast.Dict):
            return self._dict(node, scope)
        if isinstance(node, ast.Call):
            return self._call(node, scope)
        if isinstance(node, ast.Attribute):
            return Cell(self._value(node.value, scope).tags | self._used(node))
        if isinstance(node, ast.Subscript):
            return self._item(node, scope)
        if isinstance(node, ast.Lambda):
            return self._enter(node, scope, [], {})
        if isinstance(node, ast.NamedExpr):
            value = self._value(node.value, scope)
            self._bind(node.target, value, scope)
            return value
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            inner, tags = dict(scope), set[Tag]()
            for generator in node.generators:
                self._bind(generator.target, self._value(generator.iter, inner), inner)
                for test in generator.ifs:
                    tags |= self._value(test, inner).tags
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            return Cell(tags.union(*(self._value(part, inner).tags for part in parts)))
        if isinstance(node, ast.JoinedStr):
            shown = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
            return Cell(set().union(*(self._value(part, scope).tags for part in shown)))
        children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return Cell(set().union(*(self._value(child, scope).tags for child in children)))

    def _constant(self, node: ast.Constant) -> Cell:
        value = node.value
        if isinstance(value, bool) or value is None or value is Ellipsis:
            return Cell()
        if isinstance(value, int | float | complex):
            return self._literal(Tag("number", _short(value), node.lineno))
        if isinstance(value, bytes):
            return self._literal(Tag("text", _short(value), node.lineno))
        name = str(value).removeprefix("./")
        files = [
            each for each in self._inputs
            if name.partition("/")[0] == each or ("*" in name and fnmatch.fnmatch(each, name))
        ]  # fmt: skip
        if files:
            return Cell(Tag("file", each) for each in files)
        return self._literal(Tag("text", str(value)[:60], node.lineno))

    def _literal(self, tag: Tag) -> Cell:
        if tag not in self._literals and len(self._literals) >= MOST_LITERALS:
            return Cell([Tag(tag.kind, "...")])
        self._literals.add(tag)
        return Cell([tag])

    def _name(self, name: str, scope: Scope) -> Cell:
        cell = scope.get(name) or self._module.get(name)
        if cell is not None:
            return cell
        function = self._functions.get(name)  # handed on: somebody calls it
        return Cell() if function is None else self._enter(*function, [], {})

    def _dict(self, node: ast.Dict, scope: Scope) -> Cell:
        cell = Cell(keys={})
        assert cell.keys is not None
        for key, item in zip(node.keys, node.values, strict=True):
            value = self._value(item, scope)
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                cell.keys[key.value] = value
            elif key is None and value.keys is not None:
                cell.keys.update(value.keys)
                cell.own |= value.own
            else:
                cell.own |= value.tags | (self._value(key, scope).tags if key else set())
        return cell

    def _item(self, node: ast.Subscript, scope: Scope) -> Cell:
        owner = self._value(node.value, scope)
        index = node.slice
        if isinstance(index, ast.Constant):
            if owner.keys is not None and index.value in owner.keys:
                part = owner.keys[str(index.value)]
                part.own |= owner.own
                return part  # itself: what is changed in it is changed in its owner
            return Cell(owner.tags)  # which item is no data
        tags = {tag for tag in self._value(index, scope).tags if tag.kind not in {"number", "text"}}
        return Cell(owner.tags | tags)

    def _call(self, node: ast.Call, scope: Scope) -> Cell:
        given = [self._value(argument, scope) for argument in node.args]
        named = {
            keyword.arg or "": without_text(self._value(keyword.value, scope))
            for keyword in node.keywords
        }
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        function = self._functions.get(name) if name not in scope else None
        if function is not None:
            return self._enter(*function, given, named)
        if name == "dict" and not given and "" not in named:
            return Cell(keys=named)
        if name in _COUNTED:
            given = [without_numbers(cell) for cell in given]
        arguments: set[Tag] = set().union(*(cell.tags for cell in (*given, *named.values())))
        receiver: set[Tag] = set()
        if isinstance(node.func, ast.Attribute):
            owner = self._value(node.func.value, scope)
            if node.func.attr == "update" and owner.keys is not None and not any(self._conditions):
                for part in (*given, Cell(keys=named)):
                    owner.keys.update(part.keys or {})
                    owner.own |= part.own
                return Cell()
            if isinstance(node.func.value, ast.Constant):  # ", ".join(...): how it is written
                owner = Cell()
            receiver = owner.tags
            self._absorb(node.func.value, arguments | self._used(node), scope)
        else:
            receiver = self._value(node.func, scope).tags
        return Cell(arguments | receiver | self._used(node))

    def _used(self, node: ast.expr) -> set[Tag]:
        """The library's function or attribute here, as the trace says."""
        if self._trace is None:
            return {Tag("unknown", "it is not known which functions the code called")}
        labels = self._trace.places.get(place(node), ())
        return {Tag("call", label) for label in labels if is_library(label, self._trace)}

    def _enter(
        self, function: ast.AST, around: Scope, given: Sequence[Cell], named: Mapping[str, Cell]
    ) -> Cell:
        """What a function of the code returns for these arguments."""
        assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if self._depth == DEPTH:
            return Cell([Tag("unknown", "a function calls itself")])
        self._depth += 1
        arguments = function.args
        names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        scope: Scope = dict(around)
        defaults = dict(zip(reversed(names), reversed(arguments.defaults), strict=False))
        defaults |= {a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults,
                                              strict=True) if d is not None}  # fmt: skip
        for name, default in defaults.items():
            scope[name] = self._value(default, self._module)
        scope |= dict(zip(names, given, strict=False)) | dict(named)
        rest = merged([*given[len(names) :], *named.values()])
        for extra in filter(None, (arguments.vararg, arguments.kwarg)):
            scope[extra.arg] = rest
        outer, self._returns = self._returns, []
        self._conditions.append(set())
        try:
            if isinstance(function, ast.Lambda):
                return self._value(function.body, scope)
            self._block(function.body, scope)
            found = self._returns + [self._value(part, scope) for part in self._yielded(function)]
            return found[0] if len(found) == 1 else merged(found)
        finally:
            self._conditions.pop()
            self._returns = outer
            self._depth -= 1

    def _yielded(self, function: ast.AST) -> list[ast.expr]:
        if id(function) not in self._yields:
            self._yields[id(function)] = [
                node.value for node in ast.walk(function)
                if isinstance(node, ast.Yield | ast.YieldFrom) and node.value is not None
            ]  # fmt: skip
        return self._yields[id(function)]

    def _everything(self, body: Sequence[ast.stmt]) -> Cell:
        """All that stands in a class: its methods are called from anywhere."""
        tags: set[Tag] = set()
        for node in (node for statement in body for node in ast.walk(statement)):
            if isinstance(node, ast.Constant):
                tags |= self._constant(node).own
            elif isinstance(node, ast.Call | ast.Attribute):
                tags |= self._used(node)
        return Cell(tags)


def _short(value: object) -> str:
    try:
        return repr(value)[:60]
    except ValueError:  # an integer of more digits than Python prints
        return "a number of many digits"
