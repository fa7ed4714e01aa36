"""What is sent into a worker: its own program when it starts, and with a call the modules it needs.

An image or an environment holds nothing of this project, so no old copy of it either.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml

from sandbox import inside, server
from sandbox.base import FunctionCall
from sandbox.inside import shipped
from sandbox.inside.tagged import encode

ROOT = Path(__file__).parents[1]
PACKAGES = frozenset(
    {
        "agents",
        "docgen",
        "experiments",
        "foundation",
        "indexes",
        "matsmith",
        "retrieval",
        "sandbox",
        "tests",
    }
)
#: What every worker has: what may be imported there, and the supervisor with its zygote.
WITHIN = {
    f"{package.__name__}.{path.stem}": path.read_text(encoding="utf-8")
    for package in (inside, server)
    for path in sorted(Path(package.__path__[0]).glob("*.py"))
    if path.stem != "__init__"
}
#: Reads the program (8 digits of length first) from stdin and becomes it.
LOADER = """\
import os
size, text = int(os.read(0, 8)), b""
while len(text) < size:
    part = os.read(0, size - len(text))
    if not part:
        raise SystemExit("the host closed the pipe")
    text += part
exec(compile(text, "sandbox/inside/shipped.py", "exec"))
"""
SERVE = ("-s", "-P", "-c", LOADER)  # of Python
#: What the loader executes.
RUNNER = f"""{WITHIN[shipped.__name__]}
finder = Shipped({WITHIN!r})
sys.meta_path.insert(0, finder)
__import__("sandbox.server.serve").server.serve.main(finder)
""".encode()
CALLS = yaml.safe_load(Path(server.__path__[0], "calls.yaml").read_text())


def order_of(code: bytes | FunctionCall) -> bytes:
    """The code of a request as bytes: source, or a call with the text of its modules.

    Raises `UnencodableError` for arguments that cannot be sent.
    """
    if isinstance(code, bytes):
        return code
    order = {
        "module": code.module,
        "function": code.function,
        "texts": texts(code.module),
        "arguments": encode(list(code.arguments)),
    }
    return json.dumps(order).encode()


@cache
def texts(module: str) -> dict[str, str]:
    """Dotted name -> source of a module and of all that it imports of the project.

    What every worker has (``sandbox.inside``) is left out.
    """
    sources: dict[str, str] = {}
    wanted = [module]
    while wanted:
        name = wanted.pop()
        if name in sources or name in WITHIN or name == inside.__name__:
            continue
        file = _file(name)
        if file is None:
            raise ValueError(f"{name} is not a module of the project")
        sources[name] = file.read_text(encoding="utf-8")
        wanted += _imported(ast.parse(sources[name]))
    return sources


def _file(name: str) -> Path | None:
    if name.partition(".")[0] not in PACKAGES:
        return None
    path = ROOT.joinpath(*name.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def _imported(tree: ast.AST) -> Iterator[str]:
    """Names of the project's modules that a module imports when it runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _file(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from filter(_file, [node.module, *inner])
        else:
            yield from _imported(node)
