"""Runs an answer and notes which library functions it calls; runs inside the sandbox.

What it reports is as untrusted as a result.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import linecache
import logging
import os
import sys
import types
import warnings
from typing import Any

from agents.assistant.warned import ABOUT_CODE
from indexes.introspection.places import distribution

LOOKS = 40  # at one place of the code: a loop is not slowed down for ever
MOST = 4000  # names
WARNED, WARNING = 20, 300  # warnings that are kept, characters of one
CALLED, OF = "__called__", "__of__"  # among the builtins, while the code runs
#: Fields of nodes that are not evaluated as they stand: annotations, and the patterns of a match.
UNTOUCHED = ("annotation", "returns", "pattern")


def run_traced(code: str, entry: str, inputs: list[str]) -> dict[str, Any]:
    """What ``entry()`` of the code returns, and what it used: fields of ``answers.Tracer``."""
    trace = Tracer(inputs)
    module = types.ModuleType("main")
    path = os.path.join(os.getcwd(), "main.py")  # noqa: PTH118, PTH109 - no import that is not needed
    with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:  # noqa: PTH123
        file.write(code)  # for tracebacks: it was this program
    linecache.checkcache(path)
    module.__file__ = path
    sys.modules["main"] = module
    tree = ast.parse(code, path)
    tree = ast.fix_missing_locations(Instrument(tree).visit(tree))
    vars(builtins).update({CALLED: trace.called, OF: trace.of})
    sys.addaudithook(trace.audit)
    trace.listen()
    exec(compile(tree, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 -- what a sandbox is for
    function = module.__dict__.get(entry)
    if not callable(function):
        raise NameError(f"the code defines no function {entry!r}")  # noqa: TRY004 -- as the runner
    value = function()
    return {"value": value, **trace.report()}


class Instrument(ast.NodeTransformer):
    """Puts a note beside every call and attribute; the code does what it did."""

    def __init__(self, tree: ast.AST) -> None:
        parts = [
            getattr(node, name, None) for node in ast.walk(tree) for name in UNTOUCHED
        ]
        self.untouched = {id(part) for part in parts}

    def visit(self, node: ast.AST) -> Any:
        """Leave alone what is not evaluated as it stands."""
        return node if id(node) in self.untouched else super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``f(x)`` becomes ``__called__(place, f)(x)``."""
        own = node.func if isinstance(node.func, ast.Attribute) else None
        if own is not None:  # the call says what the attribute is
            own.value = self.visit(own.value)
            self.untouched.add(id(own))
        node = self.generic_visit(node)  # type: ignore[assignment]
        node.func = _note(CALLED, node, node.func)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """``x.a`` becomes ``__of__(place, x, "a").a``."""
        node.value = self.visit(node.value)
        if isinstance(node.ctx, ast.Load):
            node.value = _note(OF, node, node.value, ast.Constant(node.attr))
        return node


def _note(function: str, node: ast.expr, *given: ast.expr) -> ast.Call:
    where = ast.Constant(f"{node.end_lineno}:{node.end_col_offset}:{function}")
    note = ast.Call(ast.Name(function, ast.Load()), [where, *given], [])
    return ast.copy_location(note, node)


class Tracer:
    """What the code used, in the order in which it did."""

    def __init__(self, inputs: list[str]) -> None:
        self.inputs = inputs
        self.looks: dict[str, int] = {}
        self.modules: dict[
            str, str
        ] = {}  # in which what is used is defined, by its label
        self.read: set[str] = set()
        self.warnings: dict[str, None] = {}  # in the order in which they came

    def listen(self) -> None:
        """Note what libraries warn of, also where the code silences it; nothing else changes."""
        warn, show, last_resort = (
            warnings.warn,
            warnings.showwarning,
            logging.lastResort,
        )
        warned = self.warned

        def noting_warn(
            message: Any,
            category: Any = None,
            stacklevel: int = 1,
            *rest: Any,
            **named: Any,
        ) -> None:
            kind = type(message) if isinstance(message, Warning) else category
            warned(message, kind or UserWarning)
            warn(message, category, stacklevel + 1, *rest, **named)

        def noting_show(message: Any, category: Any, *rest: Any, **named: Any) -> None:
            warned(message, category)
            show(message, category, *rest, **named)

        class NotingHandler(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                warned(record.getMessage(), UserWarning)
                if last_resort is not None:
                    last_resort.handle(record)

        warnings.warn = noting_warn
        warnings.showwarning = noting_show
        logging.lastResort = NotingHandler(logging.WARNING)

    def warned(self, message: Any, category: Any) -> None:
        """Note a warning about values."""
        with contextlib.suppress(
            Exception
        ):  # a message may raise anything when it is read
            if not issubclass(category, ABOUT_CODE) and len(self.warnings) < WARNED:
                self.warnings.setdefault(" ".join(str(message).split())[:WARNING])

    def called(self, where: str, function: Any) -> Any:
        """Note a call."""
        self._look(where, _called, function)
        return function

    def of(self, where: str, owner: Any, name: str) -> Any:
        """Note an attribute."""
        self._look(where, _attribute, owner, name)
        return owner

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note an input file that is opened, by its path."""
        if event == "open" and isinstance(arguments[0], str):
            inside = os.path.relpath(arguments[0])
            if len(self.read) < MOST and any(
                f"{inside}/".startswith(f"{n}/") for n in self.inputs
            ):
                self.read.add(inside)

    def report(self) -> dict[str, Any]:
        """All of it as plain data."""
        found = {label: distribution(module) for label, module in self.modules.items()}
        symbols = [
            {"name": label, "distribution": name, "version": version}
            for label, (name, version, _) in found.items()
        ]
        return {
            "symbols": symbols,
            "read": sorted(self.read),
            "warnings": list(self.warnings),
        }

    def _look(self, where: str, name: Any, *given: Any) -> None:
        """Keep the label of what is used, and its module."""
        looks = self.looks.get(where, 0)
        self.looks[where] = looks + 1
        if looks < LOOKS and len(self.modules) < MOST:
            with contextlib.suppress(
                Exception
            ):  # an object may raise anything when it is asked
                label, module = name(*given)
                if label:
                    self.modules.setdefault(label, str(module or ""))


def _called(function: Any) -> tuple[str, str]:
    if type(function).__module__ == "functools":  # a partial or cached function
        function = getattr(function, "func", function)
    function = getattr(function, "__func__", function)
    if not isinstance(function, type) and not hasattr(function, "__qualname__"):
        name = getattr(
            function, "__name__", ""
        )  # a ufunc of numpy has no more than this
        cls = type(function)
        package = cls.__module__.partition(".")[0]
        return (
            f"{package}.{name}" if name else f"{_path(cls)}.__call__"
        ), cls.__module__
    return _path(function), function.__module__


def _path(found: Any) -> str:
    module = found.__module__ or getattr(found, "__objclass__", type(None)).__module__
    return f"{module or 'builtins'}.{found.__qualname__}"


def _attribute(owner: Any, name: str) -> tuple[str, str]:
    if name.startswith("__"):  # of Python, not of the library
        return "", ""
    if isinstance(owner, types.ModuleType):
        return f"{owner.__name__}.{name}", owner.__name__
    cls = owner if isinstance(owner, type) else type(owner)
    home = next((c for c in cls.__mro__ if name in vars(c)), cls)
    if name not in vars(home) and name not in getattr(owner, "__dict__", ()):
        return "", ""  # there is none, or a class makes it by name
    return f"{home.__module__}.{home.__qualname__}.{name}", home.__module__
