"""Compiles the packages of an environment inside the isolation that will import them.

Without bytecode a worker takes several times as long to start. The compiler reads foreign source,
so it runs as an answer does, and hands the bytes over; the host only writes them beside the
sources, unread.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from filelock import FileLock

from sandbox.base import SandboxConfig
from sandbox.environments import IN_FRONT, Environment
from sandbox.pool import PooledSandbox
from sandbox.worker import Backend

log = logging.getLogger(__name__)
STAMP = ".bytecode"
SECONDS = 300.0  # for one share; what is not compiled by then is compiled when imported
SHARE = 50  # modules that are compiled together: a result has at most 16 MB
COMPILER = """\
import py_compile
def compiled(name):
    try:
        with open(py_compile.compile(name, cfile="/tmp/compiled", doraise=True), "rb") as file:
            return file.read()
    except Exception:
        return b""
"""


def precompile(environment: Environment, backend: Backend) -> None:
    """Write the bytecode of an environment's packages, unless it is there."""
    library = environment.packages.parent
    tag = environment.python.replace("python", "cpython-").replace(".", "")
    places = [(environment.folder, library, f"/env/lib/{environment.python}")]
    if environment.own is not None and os.access(environment.own, os.W_OK):
        kept = environment.own / "__pycache__"  # replaced with the packages
        kept.mkdir(exist_ok=True)
        places.append((kept, environment.own, IN_FRONT))
    for folder, root, inside in places:
        stamp = folder / STAMP
        if stamp.exists() or not os.access(folder, os.W_OK):  # somebody else's cache
            continue
        with FileLock(stamp.with_suffix(".lock")):
            if not stamp.exists():
                targets = {
                    f"{inside}/{source.relative_to(root).as_posix()}": source.parent
                    / f"__pycache__/{source.stem}.{tag}.pyc"
                    for source in sorted(root.rglob("*.py"))
                }
                log.info("compiling %d modules of %s, once", len(targets), environment.name)
                asyncio.run(_compile(targets, backend))
                stamp.touch()


async def _compile(targets: Mapping[str, Path], backend: Backend) -> None:
    """Compile the sources, as the sandbox shows them, each to its target on the host."""

    async def compile_share(names: Sequence[str]) -> None:
        code = f"{COMPILER}\ndef main():\n    return list(map(compiled, {names!r}))\n"
        done = await sandbox.run(code, "main", timeout=SECONDS)
        found = done.result if isinstance(done.result, list) else []
        for name, data in zip(names, found, strict=False):
            if isinstance(data, bytes) and data:
                _write(targets[name], data)

    wanted, count = list(targets), len(targets) // SHARE + 1
    config = SandboxConfig(workers=os.cpu_count() or 1)
    async with PooledSandbox(backend, config, "") as sandbox:
        await asyncio.gather(*(compile_share(wanted[start::count]) for start in range(count)))


def _write(target: Path, data: bytes) -> None:
    if target.parent.is_symlink():
        return
    target.parent.mkdir(exist_ok=True)
    target.parent.chmod(0o755)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    Path(temporary).chmod(0o644)
    Path(temporary).replace(target)
