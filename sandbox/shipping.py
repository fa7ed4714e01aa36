"""Modules of the project that run inside the sandbox: their text, with what they import of it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sandbox import inside, server
from sandbox.inside.tagged import encode

ROOT = Path(__file__).parents[1]
PACKAGES = frozenset(
    {"agents", "docgen", "experiments", "indexes", "matsmith", "retrieval", "sandbox", "tests"}
)
#: What every worker has: what may be imported there, and the fork server.
WITHIN = {
    f"{package.__name__}.{path.stem}": path.read_text(encoding="utf-8")
    for package in (inside, server)
    for path in sorted(Path(package.__path__[0]).glob("*.py"))
    if path.stem != "__init__"
}


def order(module: str, function: str, arguments: Sequence[Any] = ()) -> bytes:
    """What asks a worker for ``function(*arguments)`` of a module."""
    call = {"module": module, "function": function, "texts": texts(module)}
    return json.dumps({**call, "arguments": encode(list(arguments))}).encode()


@cache
def texts(module: str) -> dict[str, str]:
    """Dotted name -> source of a module and of all that it imports of the project.

    What every worker has (``sandbox.inside``) is left out.
    """
    found: dict[str, str] = {}
    wanted = [module]
    while wanted:
        name = wanted.pop()
        if name in found or name in WITHIN or name == inside.__name__:
            continue
        file = _file(name)
        if file is None:
            raise ValueError(f"{name} is no module of the project")
        found[name] = file.read_text(encoding="utf-8")
        wanted += _imported(ast.parse(found[name]))
    return found


def _file(name: str) -> Path | None:
    path = ROOT.joinpath(*name.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    known = name.partition(".")[0] in PACKAGES
    return next((file for file in files if known and file.is_file()), None)


def _imported(tree: ast.AST) -> Iterator[str]:
    """Names of the project's modules that a module imports when it runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _file(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            modules = [name for name in inner if _file(name)]
            yield from modules
            if len(modules) < len(inner) and _file(node.module):
                yield node.module
        else:
            yield from _imported(node)
