"""Runs inside the sandbox: whether an example runs, and if not, whether what it names is there.

Imports nothing of the project; what it returns is plain data.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import io
import traceback
from contextlib import redirect_stdout

LONGEST = 300  # characters of an error


class _WrongError(Exception):
    """The example names something that is not there, or calls it with wrong arguments."""


class _Instance:
    """A value of a known class that was never made."""

    def __init__(self, cls: type) -> None:
        self.cls = cls


def check(code: str, module: str, symbol: str) -> dict[str, object]:
    """Run an example, with names of the symbol's module where it does not import them.

    Returns
    -------
    dict
        ``verdict`` (``runs``, ``inputs``, ``fails``), ``borrowed`` (names that were taken from the
        module), ``missing`` (names and files that only a user has) and ``error``.
    """
    found: dict[str, object] = {"verdict": "fails", "borrowed": [], "missing": [], "error": ""}
    try:
        tree = ast.parse(code)
        home = importlib.import_module(module)
        free = _free(tree)
        borrowed = {name: getattr(home, name) for name in free if hasattr(home, name)}
        found["borrowed"] = sorted(borrowed)
        found["missing"] = sorted(free - borrowed.keys())
        names: dict[str, object] = {"__name__": "example", **borrowed}
        if not found["missing"]:
            try:
                with redirect_stdout(io.StringIO()):
                    exec(compile(tree, "<example>", "exec"), names)  # noqa: S102 - in the sandbox
            except (OSError, ModuleNotFoundError) as error:
                innermost = traceback.extract_tb(error.__traceback__)[-1]
                if isinstance(error, ImportError) and innermost.filename == "<example>":
                    raise  # its own import
                found["missing"] = [str(error)[:LONGEST]]  # a file, service or package of a user's
            else:
                found["verdict"] = "runs"
                return found
        _Looker({**borrowed}, home, symbol).look(tree.body)
        found["verdict"] = "inputs"
    except _WrongError as error:
        found["error"] = f"looked up: {error}"[:LONGEST]
    except BaseException as error:  # noqa: BLE001 - whatever an example raises is the finding
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == "<example>"]
        place = f" (line {lines[-1]})" if lines else ""
        found["error"] = f"{type(error).__name__}: {error}"[:LONGEST] + place
    return found


def _free(tree: ast.Module) -> set[str]:
    """Names that the code reads and never binds."""
    read: set[str] = set()
    bound = set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound.update((a.asname or a.name).partition(".")[0] for a in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return read - bound


class _Looker:
    """Follows an example without running it: imports for real, values by their class."""

    def __init__(self, names: dict[str, object], home: object, symbol: str) -> None:
        self.names = names
        self.symbol = symbol.rpartition(".")[2]
        owner = getattr(home, symbol.split(".")[-2], None)
        self.owner = owner if inspect.isclass(owner) else None

    def look(self, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                try:
                    exec(compile(ast.Module([node], []), "<example>", "exec"), self.names)  # noqa: S102
                except ImportError as error:
                    raise _WrongError(f"{ast.unparse(node)}: {error}") from None
                continue
            for inner in ast.walk(node):
                if isinstance(inner, ast.Call):
                    self.call(inner)
                elif isinstance(inner, ast.Attribute):
                    self.value(inner)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.names[node.targets[0].id] = self.value(node.value)

    def value(self, node: ast.expr) -> object:
        """An object of the library, an instance of a known class, or ``None`` for unknown."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.Call):
            called = self.value(node.func)
            return _Instance(called) if inspect.isclass(called) else None
        if not isinstance(node, ast.Attribute):
            return None
        holder = self.value(node.value)
        if holder is None and node.attr == self.symbol and self.owner is not None:
            holder = _Instance(self.owner)  # what the example is about, on some object of its class
        if inspect.ismodule(holder) or inspect.isclass(holder):
            if not hasattr(holder, node.attr) and node.attr not in _told(holder):
                raise _WrongError(f"{ast.unparse(node)}: {holder.__name__} has no {node.attr}")
            return getattr(holder, node.attr, None)
        if isinstance(holder, _Instance):
            if not hasattr(holder.cls, node.attr) and not _assigned(holder.cls, node.attr):
                raise _WrongError(f"{ast.unparse(node)}: {holder.cls.__name__} has no {node.attr}")
            member = inspect.getattr_static(holder.cls, node.attr, None)
            if inspect.isfunction(member):
                return _Bound(member)
            made = isinstance(member, (classmethod, staticmethod))
            return getattr(holder.cls, node.attr) if made else None
        return None

    def call(self, node: ast.Call) -> None:
        """Whether the arguments can be bound; with ``*`` or ``**`` nobody knows."""
        called = self.value(node.func)
        starred = any(isinstance(a, ast.Starred) for a in node.args)
        if called is None or starred or any(k.arg is None for k in node.keywords):
            return
        bound = isinstance(called, _Bound)
        function = called.function if isinstance(called, _Bound) else called
        try:
            signature = inspect.signature(function)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return
        given = [None] * (len(node.args) + bound)
        try:
            signature.bind(*given, **{str(k.arg): None for k in node.keywords})
        except TypeError as error:
            raise _WrongError(f"{ast.unparse(node.func)}(...): {error}") from None


class _Bound:
    """A function that is read from an instance."""

    def __init__(self, function: object) -> None:
        self.function = function


def _told(holder: object) -> set[str]:
    found: set[str] = set()
    for cls in getattr(holder, "__mro__", ()):
        found |= set(getattr(cls, "__annotations__", {}))
    return found


def _assigned(cls: type, name: str) -> bool:
    """Whether an object of the class may have an attribute that the class itself has not."""
    if name in _told(cls) or hasattr(cls, "__getattr__"):
        return True
    for owner in cls.__mro__:
        try:
            if f"self.{name}" in inspect.getsource(owner):
                return True
        except (OSError, TypeError):
            continue
    return False
