"""Names that code puts together or takes apart at run time.

``getattr(pair, f"{name}_a")`` works under other names when the fixed part, ``_a``, stays and the
rest is renamed like the text ``name`` may hold: ``volume_a`` becomes ``dorel_a`` and the text
``"volume"`` becomes ``"dorel"``. So no code has to change. Where that text must stay, because it
may be another library's, the whole name stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from experiments.benchmarks.unseen.owners import Position
from experiments.benchmarks.unseen.source import Module

_BY_NAME = frozenset({"getattr", "hasattr", "setattr", "delattr"})
_OF_A_DICT = frozenset({"get", "pop", "setdefault"})
_REFLECTING = frozenset({"__dir__", "__dict__"})
_REFLECTING_CALLS = frozenset({"vars", "dir", "asdict"})


@dataclass(frozen=True, order=True)
class Affix:
    """The fixed parts of a name that is put together: ``before`` and ``after`` the rest."""

    before: str
    after: str

    def stem(self, name: str) -> str | None:
        """The rest of a name that has these parts, ``None`` for any other name."""
        rest = name.removeprefix(self.before).removesuffix(self.after)
        whole = self.before + rest + self.after == name
        return rest if whole and rest.strip("_") and rest.isidentifier() else None


def affixes(module: Module) -> set[Affix]:
    """Fixed parts of the names that a module looks up, or passes as keywords, by f-strings."""
    found: set[Affix] = set()
    for name in _names_put_together(module.tree):
        parts = name.values if isinstance(name, ast.JoinedStr) else [name.left, name.right]
        texts = ["", ""]
        places = [place for place, part in enumerate(parts) if not isinstance(part, ast.Constant)]
        if len(places) != 1:
            continue
        for place, part in enumerate(parts):
            if isinstance(part, ast.Constant):
                texts[place > places[0]] += str(part.value)
        # Without an underscore it would be a part of a word, as the s of a plural.
        if texts[0].endswith("_") or texts[1].startswith("_"):
            found.add(Affix(*texts))
    return found


def _names_put_together(tree: ast.Module) -> Iterator[ast.JoinedStr | ast.BinOp]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        names: list[ast.expr | None] = []
        if _called(node) in _BY_NAME:
            names += node.args[1:2]
        for keyword in node.keywords:
            if keyword.arg is None and isinstance(keyword.value, ast.Dict):
                names += keyword.value.keys
            elif keyword.arg is None and isinstance(keyword.value, ast.DictComp):
                names.append(keyword.value.key)
        for name in names:
            if isinstance(name, ast.JoinedStr) or (
                isinstance(name, ast.BinOp) and isinstance(name.op, ast.Add)
            ):
                yield name


def texts_in(module: Module) -> set[str]:
    """Every text in the code of a module; documentation does not count."""
    every = {
        id(node): node.value
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Expr):
            every.pop(id(node.value), None)
    return set(every.values())


def subscripts(module: Module) -> set[str]:
    """Every text that a module looks up with ``[...]``."""
    return {
        node.slice.value
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    }


def reflects(module: Module) -> bool:
    """Whether a module asks objects for the names of their attributes, or turns them into keys."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute):
            by_name = node.attr in _REFLECTING
            if by_name or (node.attr == "as_dict" and _is_super(node.value)):
                return True
        elif isinstance(node, ast.Call) and _called(node) in _REFLECTING_CALLS:
            return True
    return False


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _is_super(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )


def texts_that_name(text: str, calls: Mapping[Position, bool | None]) -> set[Position]:
    """Where the texts end that name a keyword, as in ``kwargs["name"]``, or a ``namedtuple``.

    Keywords of a function that hands them only to other libraries are theirs.
    """
    found: set[Position] = set()
    for node in ast.walk(ast.parse(text)):
        found.update(_end(name) for name in named_tuple(node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.args.kwarg:
            name = node.args.kwarg.arg
            inside = list(ast.walk(node))
            onward = [
                calls.get(_end(call))
                for call in inside
                if isinstance(call, ast.Call)
                and any(word.arg is None and _is(word.value, name) for word in call.keywords)
            ]
            if not onward or any(verdict is not False for verdict in onward):
                found.update(_end(key) for key in _keys_of(name, inside))
    return found


def named_tuple(node: ast.AST) -> list[ast.Constant]:
    """The texts of ``namedtuple("Name", ["field", ...])``: its name and those of its fields."""
    if not (isinstance(node, ast.Call) and _called(node) == "namedtuple"):
        return []
    return [
        inner
        for argument in node.args
        for inner in ast.walk(argument)
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
    ]


def _keys_of(name: str, nodes: Sequence[ast.AST]) -> Iterator[ast.Constant]:
    for node in nodes:
        key: ast.expr | None = None
        if isinstance(node, ast.Subscript) and _is(node.value, name):
            key = node.slice
        elif isinstance(node, ast.Compare) and _is(node.comparators[0], name):
            key = node.left
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _OF_A_DICT
            and _is(node.func.value, name)
        ):
            key = node.args[0] if node.args else None
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _end(node: ast.expr) -> Position:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
