"""Runs an answer and notes which library functions it calls; runs inside the sandbox.

Standard library only: its text and that of ``indexes.introspection.places`` are sent to the
sandbox as one (see ``agents.assistant.tracing``). What it reports is as untrusted as a result.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import linecache
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from indexes.introspection.places import class_lines, distribution, function_lines

LOOKS = 40  # at one place of the code: a loop is not slowed down for ever
MOST = 4000  # places, symbols
CALLED, OF, AT = "__called__", "__of__", "__at__"  # among the builtins, while the code runs


def run_traced(code: str, entry: str, inputs: list[str]) -> dict[str, Any]:
    """What ``entry()`` of the code returns, and what it used: fields of ``tracing.Trace``."""
    trace = Trace(inputs)
    module = types.ModuleType("main")
    path = os.path.join(os.getcwd(), "main.py")  # noqa: PTH118, PTH109 - no import that is not needed
    with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:  # noqa: PTH123
        file.write(code)  # for tracebacks: it was this program
    linecache.checkcache(path)
    module.__file__ = path
    sys.modules["main"] = module
    tree = Instrument().visit(ast.parse(code, path))
    compiled = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
    notes: dict[str, Callable[..., Any]] = {CALLED: trace.called, OF: trace.of, AT: trace.at}
    vars(builtins).update(notes)
    sys.addaudithook(trace.audit)
    exec(compiled, module.__dict__)  # noqa: S102 -- what a sandbox is for
    function = module.__dict__.get(entry)
    if not callable(function):
        raise NameError(f"the code defines no function {entry!r}")  # noqa: TRY004 -- as the runner
    value = function()
    return {"value": value, **trace.report()}


def place(node: ast.AST) -> str:
    """A node of the code by where it stands, the same on the host."""
    kind = type(node).__name__[0]
    ends = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
    return f"{kind}{':'.join(map(str, ends))}"


class Instrument(ast.NodeTransformer):
    """Puts a note beside every call, attribute and block; the code does what it did."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``f(x)`` becomes ``__called__(place, f)(x)``."""
        where = place(node)
        function = node.func
        if isinstance(function, ast.Attribute):  # the call says what the attribute is
            function.value = self.visit(function.value)
        else:
            node.func = self.visit(function)
        node.func = _note(CALLED, node, where, node.func)
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """``x.a`` becomes ``__of__(place, x, "a").a``."""
        where = place(node)
        node.value = self.visit(node.value)
        if isinstance(node.ctx, ast.Load):
            node.value = _note(OF, node, where, node.value, ast.Constant(node.attr))
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Annotations stay as they are."""
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """See :meth:`visit_AnnAssign`."""
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """See :meth:`visit_AnnAssign`."""
        node.args = self.visit(node.args)
        node.decorator_list = [self.visit(one) for one in node.decorator_list]
        node.body = [self.visit(one) for one in node.body]
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        """A pattern holds no calls."""
        node.guard = self.visit(node.guard) if node.guard else None
        node.body = self._block(node.body)
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Note which blocks are entered."""
        super().generic_visit(node)
        if isinstance(node, ast.If | ast.For | ast.While | ast.Try | ast.ExceptHandler):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if block:
                    setattr(node, name, self._block(block))
        return node

    def _block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        first = block[0]
        note = ast.Expr(_note(AT, first, f"B{first.lineno}:{first.col_offset}"))
        return [ast.copy_location(note, first), *block]


def _note(function: str, node: ast.AST, where: str, *given: ast.expr) -> ast.Call:
    called = ast.Name(function, ast.Load())
    note = ast.Call(called, [ast.Constant(where), *given], [])
    for part in (called, note, *note.args):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return note


class Trace:
    """What the code used, by place."""

    def __init__(self, inputs: list[str]) -> None:
        self.inputs = inputs
        self.found: dict[str, set[str]] = {}
        self.looks: dict[str, int] = {}
        self.objects: dict[str, Any] = {}
        self.read: set[str] = set()

    def called(self, where: str, function: Any) -> Any:
        """Note a call."""
        if self._look(where):
            self._add(where, *_called(function))
        return function

    def of(self, where: str, owner: Any, name: str) -> Any:
        """Note an attribute."""
        if self._look(where):
            self._add(where, *_attribute(owner, name))
        return owner

    def at(self, where: str) -> None:
        """Note a block."""
        if len(self.found) < MOST:
            self.found.setdefault(where, set())

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note an input file that is opened."""
        if event == "open" and isinstance(arguments[0], str):
            inside = arguments[0].removeprefix(os.path.join(os.getcwd(), ""))  # noqa: PTH118, PTH109
            top = inside.removeprefix("./").partition("/")[0]
            if top in self.inputs:
                self.read.add(top)

    def report(self) -> dict[str, Any]:
        """All of it as plain data."""
        used = {label for labels in self.found.values() for label in labels}
        symbols = {}
        for label in sorted(used):
            with contextlib.suppress(Exception):  # an object may raise anything when it is asked
                symbols[label] = _symbol(self.objects[label])
        places = {where: sorted(labels) for where, labels in self.found.items()}
        return {"places": places, "symbols": symbols, "read": sorted(self.read)}

    def _look(self, where: str) -> bool:
        looks = self.looks.get(where, 0)
        self.looks[where] = looks + 1
        return looks < LOOKS and len(self.found) < MOST

    def _add(self, where: str, label: str, found: Any) -> None:
        labels = self.found.setdefault(where, set())
        if label and len(self.objects) < MOST:
            labels.add(label)
            self.objects.setdefault(label, found)


def _called(function: Any) -> tuple[str, Any]:
    """Dotted name of what is called, and what has a place in a file."""
    return _quietly(lambda: _name_of(function))


def _name_of(function: Any) -> tuple[str, Any]:
    function = getattr(function, "func", function) if _partial(function) else function
    function = getattr(function, "__func__", function)
    if not isinstance(function, type) and not hasattr(function, "__qualname__"):
        name = getattr(function, "__name__", "")  # a ufunc of numpy has no more than this
        module = type(function).__module__.partition(".")[0]
        return (f"{module}.{name}" if name else f"{_path(type(function))}.__call__"), type(function)
    return _path(function), function


def _partial(function: Any) -> bool:
    return type(function).__module__ == "functools" and hasattr(function, "func")


def _path(found: Any) -> str:
    module = found.__module__ or getattr(found, "__objclass__", type(None)).__module__
    return f"{module or 'builtins'}.{found.__qualname__}"


def _attribute(owner: Any, name: str) -> tuple[str, Any]:
    def look() -> tuple[str, Any]:
        if name.startswith("__"):  # of Python, not of the library
            return "", None
        if isinstance(owner, types.ModuleType):
            return f"{owner.__name__}.{name}", owner
        cls = owner if isinstance(owner, type) else type(owner)
        home = next((c for c in cls.__mro__ if name in vars(c)), cls)
        if name not in vars(home) and name not in getattr(owner, "__dict__", ()):
            return "", None  # there is none, or a class makes it by name
        found = vars(home).get(name, home)
        return f"{home.__module__}.{home.__qualname__}.{name}", found if _code(found) else home

    return _quietly(look)


def _code(found: Any) -> Any:
    """What of an attribute stands in a file; ``None``: a plain value."""
    for name in ("fget", "func", "__func__"):
        found = getattr(found, name, None) or found
    return found if isinstance(found, type | types.FunctionType) else None


def _symbol(found: Any) -> dict[str, Any]:
    """Distribution, version, file and line of what a label names."""
    owner = _code(found) or found
    module = owner.__name__ if isinstance(owner, types.ModuleType) else owner.__module__
    name, version, path = distribution(str(module or ""))
    line = class_lines(owner)[0] if isinstance(owner, type) else function_lines(owner)[0]
    return {"distribution": name, "version": version, "path": path, "line": line}


def _quietly(look: Callable[[], tuple[str, Any]]) -> tuple[str, Any]:
    """What ``look`` finds; an object may raise anything when it is asked what it is."""
    try:
        return look()
    except Exception:  # noqa: BLE001 -- see above
        return "", None
