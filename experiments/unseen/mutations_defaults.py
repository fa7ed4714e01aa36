"""Default values become others; what relied on an old one is given it by name."""

# ruff: noqa: N802 - libcst names the methods of a transformer after its nodes

from __future__ import annotations

import ast
import random
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from experiments.unseen.mutations_calls import Call
from experiments.unseen.mutations_order import by_name, in_parentheses, with_text
from experiments.unseen.mutations_signatures import Function, Signatures
from experiments.unseen.mutations_texts import change_default
from experiments.unseen.owners import Position

_FACTORS = (0.4, 0.6, 1.5, 2.5)
_SMALL = 20
_DEFAULT = re.compile(r"\bdefaults?\b", re.IGNORECASE)
_MARKED = re.compile(r"`+(\w+)`+")


@dataclass(frozen=True)
class NewDefault:
    """A default that became another; both as they stand in the source."""

    before: str
    after: str


#: New defaults by full name of the function and name of the parameter.
NewDefaults = Mapping[str, Mapping[str, NewDefault]]


def choose_defaults(
    signatures: Signatures,
    modules: Mapping[str, str],
    seed: int,
    relied: Collection[tuple[str, str]],
) -> dict[str, dict[str, NewDefault]]:
    """The new defaults of public functions: numbers above zero, and yes or no.

    Parameters
    ----------
    signatures
        All functions; those that are kept there keep their defaults.
    modules
        Source of the libraries.
    relied
        Full name and parameter of each default that must stay as it is.
    """
    chosen: dict[str, dict[str, NewDefault]] = {}
    for module, text in modules.items():
        for qualname, documents, node in _definitions(ast.parse(text)):
            fullname = f"{module}.{qualname}"
            if fullname not in signatures.functions or fullname in signatures.kept:
                continue
            if not _is_public(qualname):
                continue
            for name, default in _defaults(node):
                if (fullname, name) in relied:
                    continue
                chance = random.Random(f"{seed} default {fullname} {name}")  # noqa: S311
                if not (new := _other(default.value, chance)):
                    continue
                before = ast.get_source_segment(text, default) or ""
                told = [change_default(document, name, before, new) for document in documents]
                if None not in told:
                    chosen.setdefault(fullname, {})[name] = NewDefault(before, new)
    return chosen


def _definitions(
    tree: ast.AST, scope: tuple[str, ...] = (), outer: tuple[str, ...] = ()
) -> Iterator[tuple[str, list[str], ast.FunctionDef]]:
    """Functions with their qualified names, and the docstrings that speak of their parameters."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            text = ast.get_docstring(node, clean=False)
            yield from _definitions(node, (*scope, node.name), (text,) if text else ())
        elif isinstance(node, ast.FunctionDef):
            own = ast.get_docstring(node, clean=False)
            texts = [*(outer if node.name == "__init__" else ()), *([own] if own else ())]
            yield ".".join([*scope, node.name]), texts, node
        elif isinstance(node, ast.If | ast.Try):
            yield from _definitions(node, scope, outer)


def _is_public(qualname: str) -> bool:
    return not any(part.startswith("_") for part in qualname.split(".") if part != "__init__")


def _defaults(node: ast.FunctionDef) -> Iterator[tuple[str, ast.Constant]]:
    arguments = node.args
    by_position = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(reversed(by_position), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    for argument, default in pairs:
        if isinstance(default, ast.Constant):
            yield argument.arg, default


def _other(value: object, chance: random.Random) -> str:
    """Another value of the same kind, as source; empty for what is left alone.

    Zero and negative numbers often stand for something else than a number.
    """
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int) and value > _SMALL:
        return str(round(value * chance.choice(_FACTORS)))
    if isinstance(value, int) and value > 0:
        return str(chance.choice([value + 1, value + 2, 2 * value + 1]))
    if isinstance(value, float) and value > 0:
        new = float(f"{value * chance.choice(_FACTORS):.2g}")
        return "" if new == value else repr(new)
    return ""


def relied_on(
    functions: Mapping[str, Function],
    calls: Iterable[Mapping[Position, Call]],
    *,
    spread: bool = False,
) -> set[tuple[str, str]]:
    """Defaults that calls rely on, or may rely on, by full name and parameter.

    Parameters
    ----------
    spread
        Only of calls with ``**arguments``, which may give them or not.
    """
    return {
        (fullname, name)
        for by_end in calls
        for call in by_end.values()
        for fullname in call.functions
        for name in not_given(functions[fullname], call)
        if call.spread or not spread
    }


def not_given(function: Function, call: Call) -> list[str]:
    """Parameters with a default that a call does not give; ``**arguments`` may give any."""
    return [
        parameter.name
        for index, parameter in enumerate(function.parameters)
        if parameter.default and index >= call.positional and parameter.name not in call.named
    ] + [name for name in function.by_name if name not in call.named]


def given_values(
    text: str,
    functions: Mapping[str, Function],
    defaults: NewDefaults,
    calls: Mapping[Position, Call],
) -> Iterator[bool]:
    """Whether it is the old default, for each argument whose parameter has a new one."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        call = calls.get((node.end_lineno or 0, node.end_col_offset or 0), Call())
        for fullname in call.functions & set(defaults):
            given = dict(zip(functions[fullname].names, node.args, strict=False))
            given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
            for name, new in defaults[fullname].items():
                if name in given:
                    old = ast.parse(new.before, mode="eval").body
                    yield ast.dump(given[name]) == ast.dump(old)


def spoken_of(texts: Sequence[str]) -> set[str]:
    """Names that are marked as code in a sentence that speaks of defaults."""
    sentences = [part for text in texts for part in re.split(r"(?<=[.!?])\s|\n\s*\n", text)]
    return {
        name
        for sentence in sentences
        if _DEFAULT.search(sentence)
        for name in _MARKED.findall(sentence)
    }


def apply_defaults(
    text: str,
    module: str,
    *,
    functions: Mapping[str, Function],
    defaults: NewDefaults,
    calls: Mapping[Position, Call],
) -> str:
    """Rewrite one module of a library."""
    wrapper = MetadataWrapper(cst.parse_module(text))
    positions = wrapper.resolve(PositionProvider)
    lines = text.splitlines() or [""]
    rewriter = _Rewriter(module, functions, defaults, calls, lines, positions)
    return wrapper.visit(rewriter).code


@dataclass
class _Rewriter(cst.CSTTransformer):
    module: str
    functions: Mapping[str, Function]
    defaults: NewDefaults
    calls: Mapping[Position, Call]
    lines: list[str]
    positions: Mapping[cst.CSTNode, CodeRange]

    def __post_init__(self) -> None:
        self._scope: list[str] = []

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        """A call that relied on an old default gives it by name."""
        end = self.positions[original_node].end
        place = end.line, len(self.lines[end.line - 1][: end.column].encode())
        call = self.calls.get(place, Call())
        added = []
        for fullname in sorted(call.functions & set(self.defaults)):
            changed = self.defaults[fullname]
            for name in not_given(self.functions[fullname], call):
                if name in changed:
                    value = cst.parse_expression(changed[name].before)
                    added.append(by_name(cst.Arg(value), name, value))
        if not added:
            return updated_node
        arguments = [a.with_changes(value=in_parentheses(a.value)) for a in updated_node.args]
        if arguments and isinstance(trailing := arguments[-1].comma, cst.Comma):
            # The comma before the closing bracket stays there, with its line break.
            inner = arguments[-2].comma if len(arguments) > 1 else cst.MaybeSentinel.DEFAULT
            arguments[-1] = arguments[-1].with_changes(comma=inner)
            added = [*(a.with_changes(comma=inner) for a in added[:-1]),
                     added[-1].with_changes(comma=trailing)]  # fmt: skip
        return updated_node.with_changes(args=[*arguments, *added])

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
        """The defaults, and what the docstring says about them."""
        changed = self.defaults.get(".".join([self.module, *self._scope]), {})
        self._scope.pop()
        if not changed:
            return updated_node
        parameters = updated_node.params.with_changes(
            params=[_changed(p, changed) for p in updated_node.params.params],
            kwonly_params=[_changed(p, changed) for p in updated_node.params.kwonly_params],
        )
        return updated_node.with_changes(
            params=parameters, body=_retold(updated_node.body, changed)
        )

    def leave_ClassDef(
        self,
        original_node: cst.ClassDef,  # noqa: ARG002
        updated_node: cst.ClassDef,
    ) -> cst.ClassDef:
        """What the docstring of the class says about the defaults of its constructor."""
        changed = self.defaults.get(".".join([self.module, *self._scope, "__init__"]), {})
        self._scope.pop()
        return updated_node.with_changes(body=_retold(updated_node.body, changed))


def _changed(parameter: cst.Param, changed: Mapping[str, NewDefault]) -> cst.Param:
    new = changed.get(parameter.name.value)
    return parameter.with_changes(default=cst.parse_expression(new.after)) if new else parameter


def _retold(body: cst.BaseSuite, changed: Mapping[str, NewDefault]) -> cst.BaseSuite:
    def retell(raw: str) -> str:
        for name, new in changed.items():
            raw = change_default(raw, name, new.before, new.after) or raw
        return raw

    return with_text(body, retell)
