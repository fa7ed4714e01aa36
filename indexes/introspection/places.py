"""Where live objects come from: modules, lines, paths. Nothing here raises."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import inspect
import linecache
import re
import sys
import types
from collections.abc import Mapping
from typing import Any


def function_lines(function: Any) -> list[int]:
    """First and last line, zeros when unknown."""
    with contextlib.suppress(ValueError):
        function = inspect.unwrap(function) if callable(function) else function
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType):
        return [0, 0]
    last = max(
        (line for _, _, line in code.co_lines() if line), default=code.co_firstlineno
    )
    return [code.co_firstlineno, last]


def class_text(cls: type) -> tuple[int, str]:
    """First line and text of a class, 0 and empty when unknown."""
    return _class_text(cls.__module__, cls.__name__)


@functools.lru_cache(maxsize=4096)
def _class_text(module: str, name: str) -> tuple[int, str]:
    """``inspect.getsource`` would parse the whole file for each class."""
    lines = lines_of(module)
    head = re.compile(rf"([ \t]*)class {re.escape(name)}\b")
    for start, line in enumerate(lines):
        if match := head.match(line):
            after = re.compile(rf"[ \t]{{0,{len(match[1])}}}[^\s#)\]}}]")
            rest = lines[start + 1 :]
            end = next(
                (i for i, text in enumerate(rest) if after.match(text)), len(rest)
            )
            return start + 1, line + "".join(rest[:end])
    return 0, ""


def lines_of(module: str) -> list[str]:
    """Source lines of a module, none when it is compiled."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return linecache.getlines(file) if file.endswith(".py") else []


def reachable(module: str, qualname: str) -> Any | None:
    """What stands at a path that is loaded already."""
    value: Any = sys.modules.get(module)
    for part in qualname.split("."):
        value = inspect.getattr_static(value, part, None)
        value = (
            getattr(value, "__func__", value)
            if isinstance(value, staticmethod)
            else value
        )
    return value


def path_of(cls: type) -> str:
    """Qualified name of a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


@functools.lru_cache(maxsize=512)
def distribution(module: str) -> tuple[str, str, str]:
    """Distribution, version and file (relative to where it was imported from) of a module."""
    top = module.partition(".")[0]
    name = next(iter(_distributions().get(top, ())), "")
    version = importlib.metadata.version(name) if name else ""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    roots = [root for root in sys.path if root and file.startswith(f"{root}/")]
    return (
        name or top,
        version,
        file.removeprefix(f"{max(roots, key=len)}/") if roots else "",
    )


@functools.lru_cache(maxsize=1)
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


def names_of(value: Any) -> list[str]:
    """What ``dir`` lists, nothing when the library raises."""
    with contextlib.suppress(Exception):
        return list(map(str, dir(value)))
    return []


def value_of(value: Any, name: str) -> Any:
    """An attribute, ``None`` when there is none or the library raises."""
    with contextlib.suppress(Exception):  # lazy names of a library may raise anything
        return getattr(value, name)
