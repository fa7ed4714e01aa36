"""Describes what the installed libraries offer at run time; a page of plain data per module."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib
import inspect
import signal
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .objects import (
    TEXT,
    annotated,
    attributes,
    class_signature,
    docstring,
    first_line,
    getter_of,
    is_function,
    member,
    owners,
    returned,
    signature,
)
from .places import (
    class_text,
    distribution,
    function_lines,
    lines_of,
    names_of,
    path_of,
    reachable,
    value_of,
)

IMPORT_SECONDS = 60


def pages(
    modules: list[str], packages: list[str], path: str | None
) -> list[dict[str, Any]]:
    """One page per module: its symbols, or why it cannot be imported.

    Parameters
    ----------
    packages
        Import names; classes from elsewhere are described when one of theirs inherits from them.
    path
        Folder to import from before the installed packages.
    """
    warnings.simplefilter("ignore")
    if path is not None:
        sys.path.insert(0, str(Path(path).resolve()))
    return [page(name, tuple(packages)) for name in modules]


def page(name: str, packages: tuple[str, ...]) -> dict[str, Any]:
    """What one module offers."""
    module, error = _import(name)
    if module is None:
        return {"module": name, "error": error}
    file = getattr(module, "__file__", None) or ""
    reader = Reader(module, packages)
    reader.read()
    return {
        "module": name,
        "error": None,
        "digest": hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else "",
        "symbols": [*reader.symbols.values()],
        "exports": reader.exports,
        "origins": reader.origins,
        "problems": reader.problems,
    }


def _import(name: str) -> tuple[types.ModuleType | None, str | None]:
    def stop(_number: int, _frame: Any) -> None:
        raise TimeoutError(f"the import takes longer than {IMPORT_SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(IMPORT_SECONDS)
    try:
        return importlib.import_module(name), None
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- a library may raise anything
        return None, f"{type(error).__name__}: {error}"[:500]
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Reader:
    """Collects the symbols of one module, and what else can be imported from it."""

    def __init__(self, module: types.ModuleType, packages: tuple[str, ...]) -> None:
        self.module = module
        self.packages = packages
        self.symbols: dict[str, dict[str, Any]] = {}
        self.exports: dict[str, str] = {}
        self.origins: dict[str, list[str]] = {}  # of the classes of other libraries
        self.problems: list[str] = []

    def read(self) -> None:
        """Describe the module and everything that is defined in it."""
        here = self.module.__name__
        own = []
        for attribute in sorted(names_of(self.module)):
            with self._noting(f"{here}.{attribute}"):
                value = value_of(self.module, attribute)
                if isinstance(inner := value_of(value, "__wrapped__"), type):
                    value = inner  # a class behind a decorator
                if not (isinstance(value, type) or is_function(value)):
                    continue
                qualname = self._home(attribute, value)
                if qualname == f"{here}.{attribute}":
                    own.append((first_line(value), attribute, qualname, value))
                elif qualname is not None:
                    self.exports[attribute] = qualname
        members = []
        for _, attribute, qualname, value in sorted(own, key=lambda item: item[:2]):
            with self._noting(qualname):
                describe = self._class if isinstance(value, type) else self._function
                row = describe(qualname, value)
                if not attribute.startswith("_"):
                    members.append(row)
        self._add(
            here,
            "module",
            docstring=docstring(self.module),
            lines=[1, max(1, len(lines_of(here)))],
            members=members,
        )

    @contextlib.contextmanager
    def _noting(self, what: str) -> Iterator[None]:
        """Go on after an object that raises when it is looked at."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 -- a library may raise anything
            self.problems.append(f"{what}: {type(error).__name__}: {error}"[:500])

    def _home(self, attribute: str, value: Any) -> str | None:
        """Qualified name of what a name of this module stands for."""
        here = f"{self.module.__name__}.{attribute}"
        module, name = value_of(value, "__module__"), value_of(value, "__qualname__")
        if module == self.module.__name__ and name == attribute:
            return here
        if (
            isinstance(module, str)
            and isinstance(name, str)
            and reachable(module, name) is value
        ):
            return f"{module}.{name}"
        # made at run time, or by a decorator that hides where: it belongs where it is bound
        return None if attribute in self._imports else here

    @functools.cached_property
    def _imports(self) -> set[str]:
        """Names that the module's import statements bind."""
        with contextlib.suppress(SyntaxError, ValueError):
            tree = ast.parse("".join(lines_of(self.module.__name__)))
            nodes = (
                node
                for node in ast.walk(tree)
                if isinstance(node, ast.Import | ast.ImportFrom)
            )
            return {item.asname or item.name for node in nodes for item in node.names}
        return set()

    def _class(self, qualname: str, cls: type) -> dict[str, Any]:
        """Describe a class, its own members, and the classes of others that it inherits from.

        Returns its row in a list of members.
        """
        row = member(qualname, "class", class_signature(cls), docstring(cls))
        if qualname in self.symbols:
            return row
        self._add(qualname, "class")  # reserves the place: bases may lead back here
        members: list[dict[str, Any]] = []
        elsewhere: dict[str, list[str]] = {}
        for name, owner in owners(cls):
            raw = vars(owner).get(name, inspect.getattr_static(cls, name, None))
            path = f"{qualname if owner is cls else path_of(owner)}.{name}"
            if owner is not cls and not self._ours(owner):
                if owner.__module__.partition(".")[0] not in sys.stdlib_module_names:
                    elsewhere.setdefault(path_of(owner), []).append(name)
            elif isinstance(raw, type):
                if owner is cls and path_of(raw) == path:
                    members.append(self._class(path, raw))
            elif getter_of(raw) is not None or is_function(
                getattr(raw, "__func__", raw)
            ):
                members.append(self._function(path, raw, cls, owner))
        listed = {member["name"] for member in members}
        bases = [base for base in cls.__mro__ if base is cls or self._ours(base)]
        members += [m for m in attributes(cls, bases) if m["name"] not in listed]
        start, source = class_text(cls)
        text = docstring(cls)
        init = vars(cls).get("__init__")
        if (
            init is not None
            and (constructor := docstring(init))
            and constructor != text
        ):
            text = f"{text}\n\nConstructor: {constructor}".strip()
        modifiers = {
            "abstract": inspect.isabstract(cls),
            "deprecated": hasattr(cls, "__deprecated__"),
        }
        self._add(
            qualname,
            "class",
            signature=row["signature"],
            docstring=text[:TEXT],
            lines=[start, max(0, start + source.count("\n") - 1)],
            modifiers=[word for word, on in modifiers.items() if on],
            bases=[path_of(base) for base in cls.__bases__ if base is not object],
            types=annotated(getattr(cls, "__init__", None), parameters=True),
            members=members,
            elsewhere=elsewhere,
        )
        for base in cls.__mro__[1:]:
            if path_of(base) in elsewhere:
                self.origins[path_of(base)] = list(distribution(base.__module__))
                self._class(path_of(base), base)
        return row

    def _function(
        self, path: str, raw: Any, cls: type | None = None, owner: type | None = None
    ) -> dict[str, Any]:
        """Describe a function or property, unless ``cls`` inherits it; returns its row."""
        getter = getter_of(raw) if cls is not None else None
        function = getattr(raw, "__func__", raw) if cls is not None else raw
        kind = "function" if cls is None else "method"
        receiver = cls.__name__ if cls is not None else "Self"
        if getter is not None:
            kind, function = "property", getter
            sign = returned(getter, receiver)
        else:
            if isinstance(raw, classmethod | staticmethod):
                kind = "classmethod" if isinstance(raw, classmethod) else "staticmethod"
            sign = signature(
                function, drop=kind in {"method", "classmethod"}, receiver=receiver
            )
        text = docstring(function)
        if owner is cls:
            modifiers = {
                kind: kind in {"classmethod", "staticmethod"},
                "abstract": getattr(function, "__isabstractmethod__", False) is True,
                "async": inspect.iscoroutinefunction(function),
                "deprecated": hasattr(function, "__deprecated__"),
            }
            classes = annotated(function, parameters=False)
            self._add(
                path,
                kind if kind in {"function", "property"} else "method",
                signature=sign,
                docstring=text,
                lines=function_lines(function),
                modifiers=[word for word, on in modifiers.items() if on],
                types=annotated(function, parameters=True),
                returns=classes[0] if len(classes) == 1 else "",
            )
        origin = "" if owner is cls or owner is None else owner.__name__
        return member(path, kind, sign, text, origin)

    def _add(self, qualname: str, kind: str, **facts: Any) -> None:
        self.symbols[qualname] = {"qualname": qualname, "kind": kind, **facts}

    def _ours(self, cls: type) -> bool:
        return any(
            cls.__module__ == name or cls.__module__.startswith(f"{name}.")
            for name in self.packages
        )
