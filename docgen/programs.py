"""Finds unit tests, and makes each one a plain program: set-up, body, assertions."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

from docgen.assertions import Assertion, Unusable, is_assertion, read

_SETUP = ("setUpClass", "setup_class", "setUp", "setup_method")
_FILES = ("test_*.py", "*_test.py")
_FOREIGN = frozenset({"pytest", "unittest", "__future__"})


@dataclass(frozen=True)
class Rejected:
    """A test as pytest names it, or one assertion of it (its line), that became no property."""

    test: str
    reason: str
    line: int | None = None


@dataclass(frozen=True)
class Program:
    """A test as a plain program, and the names of both.

    The preamble has what the body needs of the module (imports, constants, helpers), the body
    set-up and test in order, an `Assertion` where the test asserts.
    """

    test: str
    task_id: str
    preamble: tuple[ast.stmt, ...]
    body: tuple[ast.stmt | Assertion, ...]

    @property
    def assertions(self) -> tuple[Assertion, ...]:
        """The assertions, in the order of the body."""
        return tuple(part for part in self.body if isinstance(part, Assertion))


def test_files(path: Path) -> list[Path]:
    """Files with unit tests: ``path`` itself, or those below it that pytest would collect."""
    if path.is_file():
        return [path]
    return sorted({file for pattern in _FILES for file in path.rglob(pattern)})


def collect(path: Path) -> tuple[list[Program], list[Rejected]]:
    """Every unit test below ``path`` as a program, and those that cannot be one."""
    programs: list[Program] = []
    rejected: list[Rejected] = []
    for file in test_files(path):
        relative = str(file.relative_to(path)) if path.is_dir() else file.name
        try:
            module = _parse(file)
        except (SyntaxError, ValueError) as error:
            rejected.append(Rejected(relative, f"the file is not Python: {error}"))
            continue
        for test in _tests(module, relative, file.stem):
            try:
                programs += test.programs(rejected)
            except Unusable as error:
                rejected.append(Rejected(test.name, str(error)))
    return _distinct(programs), rejected


def _parse(file: Path) -> ast.Module:
    """The module, after what the ``conftest.py`` beside it defines."""
    module = ast.parse(file.read_text(encoding="utf-8"))
    conftest = file.with_name("conftest.py")
    if conftest.is_file():
        module.body = ast.parse(conftest.read_text(encoding="utf-8")).body + module.body
    _Imports().visit(module)
    return ast.fix_missing_locations(module)


class _Imports(ast.NodeTransformer):
    """``np = pytest.importorskip("numpy")`` as ``import numpy as np``."""

    def _import(self, node: ast.Assign | ast.Expr) -> ast.stmt:
        call, target = (
            node.value,
            node.targets[0] if isinstance(node, ast.Assign) else None,
        )
        called = isinstance(call, ast.Call) and ast.unparse(call.func).endswith(
            "importorskip"
        )
        if not (
            called
            and isinstance(call, ast.Call)
            and isinstance(target, ast.Name | None)
        ):
            return node
        alias = ast.alias(
            str(ast.literal_eval(call.args[0])), target.id if target else None
        )
        return ast.copy_location(ast.Import(names=[alias]), node)

    visit_Assign = visit_Expr = _import  # noqa: N815 - as `ast` calls them


def _distinct(programs: Sequence[Program]) -> list[Program]:
    taken: Counter[str] = Counter()
    result = []
    for program in programs:
        taken[program.task_id] += 1
        count = taken[program.task_id]
        result.append(
            replace(program, task_id=program.task_id + f"_{count}" * (count > 1))
        )
    return result


def _tests(module: ast.Module, relative: str, stem: str) -> Iterator[_Test]:
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("test"):
                yield _Test(module, node, None, f"{relative}::{node.name}", stem)
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name.startswith("test"):
                    name = f"{relative}::{node.name}::{item.name}"
                    yield _Test(module, item, _whole(node, module), name, stem)


def _whole(cls: ast.ClassDef, module: ast.Module) -> ast.ClassDef:
    """A test class with what those of its bases define that stand in its module or conftest."""
    bases = {ast.unparse(base) for base in cls.bases}
    above = [
        n
        for n in module.body
        if isinstance(n, ast.ClassDef) and n.name in bases - {cls.name}
    ]
    inherited = [item for base in above for item in _whole(base, module).body]
    whole = copy(cls)
    whole.body = [*inherited, *cls.body]
    return whole


@dataclass(frozen=True)
class _Test:
    module: ast.Module
    node: ast.FunctionDef | ast.AsyncFunctionDef
    owner: ast.ClassDef | None
    name: str
    stem: str

    def programs(self, rejected: list[Rejected]) -> list[Program]:
        """One program, or one for each row of a parametrised test."""
        if isinstance(self.node, ast.AsyncFunctionDef):
            raise Unusable("an asynchronous test")
        decorators = [
            *self.node.decorator_list,
            *(self.owner.decorator_list if self.owner else []),
        ]
        rows: list[list[ast.stmt]] = [[]]
        for decorator in decorators:
            name = ast.unparse(decorator).partition("(")[0].rpartition(".")[2]
            if name.startswith("skip") or name == "xfail":
                raise Unusable(f"it is marked {name}")
            if name == "patch":
                raise Unusable("it patches the library")
            if name == "parametrize":
                if len(rows) > 1:
                    raise Unusable("parametrised twice")
                rows = _rows(decorator)
        # What is wrong with an assertion is wrong in every row: told once.
        return [self._program(row, rejected if row is rows[0] else []) for row in rows]

    def _program(self, row: list[ast.stmt], rejected: list[Rejected]) -> Program:
        given = {name for statement in row for name in bound(statement)}
        fixtures, helpers = self._fixtures(given)
        statements = [
            *deepcopy(row),
            *fixtures,
            *self._setup(),
            *deepcopy(self.node.body),
        ]
        if self.owner is not None:
            statements = _without_self(statements, self.owner)
        body = list(self._split(statements, rejected))
        if not any(isinstance(part, Assertion) for part in body):
            raise Unusable("no assertion that fixes a value")
        words = [self.stem.removeprefix("test_"), self.node.name.removeprefix("test")]
        task_id = re.sub(r"[^a-z0-9]+", "_", "_".join(words).lower()).strip("_")
        definitions = [
            s for s in self.module.body if not _is_test_class(s) and not _is_fixture(s)
        ]
        preamble = needed([*definitions, *helpers.values()], list(_nodes(body)))
        return Program(self.name, task_id, tuple(preamble), tuple(body))

    def _setup(self) -> list[ast.stmt]:
        members = self.owner.body if self.owner else []
        methods = {n.name: n for n in members if isinstance(n, ast.FunctionDef)}
        body = [
            s
            for name in _SETUP
            if name in methods
            for s in deepcopy(methods[name].body)
        ]
        return [
            statement for statement in body if "super()" not in ast.unparse(statement)
        ]

    def _fixtures(
        self, given: set[str]
    ) -> tuple[list[ast.stmt], dict[str, ast.FunctionDef]]:
        """Calls of the fixtures that the test asks for, and what they call."""
        fixtures = {
            node.name: node
            for node in [*self.module.body, *(self.owner.body if self.owner else [])]
            if isinstance(node, ast.FunctionDef) and _is_fixture(node)
        }
        calls: dict[str, ast.stmt] = {}
        helpers: dict[str, ast.FunctionDef] = {}

        def ask(name: str) -> None:
            if name in calls or name in given:
                return
            if name not in fixtures:
                raise Unusable(f"it needs the fixture {name}")
            parameters = [
                p.arg for p in fixtures[name].args.args if p.arg not in {"self", "cls"}
            ]
            for parameter in parameters:
                ask(parameter)
            helper = helpers[f"make_{name}"] = deepcopy(fixtures[name])
            helper.name, helper.decorator_list = f"make_{name}", []
            helper.args.args = [
                p for p in helper.args.args if p.arg not in {"self", "cls"}
            ]
            helper.body = _returning(helper.body, name)
            call = f"{name} = make_{name}({', '.join(parameters)})"
            calls[name] = ast.parse(call).body[0]

        for parameter in self.node.args.args:
            if parameter.arg not in {"self", "cls"}:
                ask(parameter.arg)
        return list(calls.values()), helpers

    def _split(
        self, statements: Sequence[ast.stmt], rejected: list[Rejected]
    ) -> Iterator[ast.stmt | Assertion]:
        for statement in statements:
            if _is_docstring(statement):
                continue
            if is_assertion(statement):
                try:
                    yield read(statement)
                except Unusable as error:
                    rejected.append(Rejected(self.name, str(error), statement.lineno))
            elif any(
                is_assertion(s) for s in ast.walk(statement) if isinstance(s, ast.stmt)
            ):
                inner = type(statement).__name__.lower()
                reason = (
                    f"an assertion inside a block ({inner}) has no value of its own"
                )
                rejected.append(Rejected(self.name, reason, statement.lineno))
            else:
                yield statement


def _rows(decorator: ast.expr) -> list[list[ast.stmt]]:
    """Assignments for each row of ``pytest.mark.parametrize``."""
    odd = Unusable("parametrised in a way that is not written out")
    if not isinstance(decorator, ast.Call) or len(decorator.args) < 2:
        raise odd
    try:
        given = ast.literal_eval(decorator.args[0])
    except ValueError:
        raise odd from None
    names = (
        [n.strip() for n in given.split(",")] if isinstance(given, str) else list(given)
    )
    table = decorator.args[1]
    if not isinstance(table, ast.List | ast.Tuple):
        raise odd
    rows = []
    for row in table.elts:
        values = [row]
        if isinstance(row, ast.Call) and ast.unparse(row.func).endswith("param"):
            values = row.args
        elif len(names) > 1 and isinstance(row, ast.Tuple | ast.List):
            values = row.elts
        if len(values) != len(names):
            raise odd
        pairs = zip(names, map(ast.unparse, values), strict=True)
        rows.append([ast.parse(f"{name} = {value}").body[0] for name, value in pairs])
    return rows


def _returning(body: Sequence[ast.stmt], name: str) -> list[ast.stmt]:
    """The body of a fixture as that of a function: what it yields is returned, no tear-down."""
    result: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield):
            return [*result, ast.Return(value=statement.value.value)]
        if any(isinstance(node, ast.Yield) for node in ast.walk(statement)):
            raise Unusable(f"the fixture {name} yields inside a block")
        if not _is_docstring(statement):
            result.append(statement)
    return result


def _is_test_class(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ClassDef) and statement.name.startswith("Test")


def _is_fixture(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.FunctionDef) and any(
        "fixture" in ast.unparse(decorator) for decorator in statement.decorator_list
    )


def _nodes(body: Iterable[ast.stmt | Assertion]) -> Iterator[ast.AST]:
    for part in body:
        if isinstance(part, Assertion):
            yield from (part.actual, part.expected, *part.body)
        else:
            yield part


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _without_self(
    statements: Sequence[ast.stmt], owner: ast.ClassDef
) -> list[ast.stmt]:
    """``self.tree`` of a test class as the plain name ``tree``."""
    methods = {n.name for n in owner.body if isinstance(n, ast.FunctionDef)}
    taken = {n.id for s in statements for n in ast.walk(s) if isinstance(n, ast.Name)}
    constants = [deepcopy(n) for n in owner.body if isinstance(n, ast.Assign)]

    class Plain(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
            self.generic_visit(node)
            if not (
                isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
            ):
                return node
            if node.attr in methods:
                raise Unusable(f"it calls {node.attr}() of its class")
            if node.attr.startswith("assert") or node.attr == "fail":
                return node
            name = f"own_{node.attr}" if node.attr in taken else node.attr
            return ast.copy_location(ast.Name(id=name, ctx=node.ctx), node)

    used = [Plain().visit(statement) for statement in statements]
    names = {n.id for s in used for n in ast.walk(s) if isinstance(n, ast.Name)}
    return [c for c in constants if set(bound(c)) & names] + used


def bound(statement: ast.stmt) -> list[str]:
    """Names that a statement of a module defines."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [(a.asname or a.name).partition(".")[0] for a in statement.names]
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return [statement.name]
    return [
        n.id
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]


def needed(definitions: Sequence[ast.stmt], nodes: Iterable[ast.AST]) -> list[ast.stmt]:
    """The definitions that ``nodes`` use, transitively, in their order."""
    wanted = {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}
    included: set[int] = set()
    size = -1
    while size != len(wanted):
        size = len(wanted)
        for index, statement in enumerate(definitions):
            if index not in included and set(bound(statement)) & wanted:
                included.add(index)
                wanted |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
    plain = (_plain_import(definitions[index], wanted) for index in sorted(included))
    # A conftest and the module often import the same.
    return list(
        {ast.unparse(part): part for part in plain if part is not None}.values()
    )


def _plain_import(statement: ast.stmt, wanted: set[str]) -> ast.stmt | None:
    """An import reduced to the names in use; ``None`` for the test framework's own."""
    if not isinstance(statement, ast.Import | ast.ImportFrom):
        return statement
    root = getattr(statement, "module", None) or statement.names[0].name
    if root.partition(".")[0] in _FOREIGN:
        return None
    reduced = deepcopy(statement)
    reduced.names = [
        a for a in reduced.names if bound(ast.Import(names=[a]))[0] in wanted
    ]
    return reduced


def only_asked(
    program: Program, numbers: Iterable[int]
) -> tuple[list[ast.stmt], list[tuple[ast.stmt | Assertion, int]]]:
    """Preamble and body without the assertions that are not asked, and what only they use.

    Each part of the body has its number among the assertions (-1: it is none).
    """
    wanted = {id(program.assertions[number]): number for number in numbers}
    assigned = {
        name
        for part in program.body
        if isinstance(part, ast.Assign)
        for name in bound(part)
    }
    parts: list[tuple[ast.stmt | Assertion, int]] = []
    names: set[str] = set()
    used: list[ast.AST] = []
    for part in reversed(program.body):
        if isinstance(part, Assertion):
            if id(part) not in wanted:
                continue
            nodes: Sequence[ast.AST] = [part.actual, *part.body]
        else:
            nodes = [part]
            targets = (
                part.targets
                if isinstance(part, ast.Assign)
                else [part.target]
                if isinstance(part, ast.AnnAssign)
                else []
            )
            plain = all(isinstance(target, ast.Name | ast.Tuple) for target in targets)
            if targets and plain and not set(bound(part)) & names:
                continue  # it served an expected value only
            if _receiver(part) in assigned - names:
                continue  # it changes what is not looked at
        parts.insert(0, (part, wanted.get(id(part), -1)))
        names |= {
            n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)
        }
        used += nodes
    return needed(program.preamble, used), parts


def _receiver(statement: ast.stmt) -> str:
    """``tree`` of the statement ``tree.trunk.grow()``, else empty."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=node))):
            while isinstance(node, ast.Attribute):
                node = node.value
            return node.id if isinstance(node, ast.Name) else ""
    return ""


def text_of(statements: Iterable[ast.stmt]) -> str:
    """Source text of a module, functions and classes set apart."""
    lines = []
    for statement in statements:
        apart = "\n\n" if isinstance(statement, ast.FunctionDef | ast.ClassDef) else ""
        lines.append(f"{apart}{ast.unparse(statement)}{apart}")
    return "\n".join(lines).strip()
