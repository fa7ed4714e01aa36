"""Environments ready for bubblewrap: built, and their packages compiled.

Without bytecode a worker takes several times as long to start. The compiler reads foreign source,
so it runs as an answer does, and hands the bytes over; the host writes them beside the sources,
unread.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from sandbox import compiling, environments, stoppable
from sandbox.base import SandboxConfig
from sandbox.bubblewrap import Bubblewrap
from sandbox.pool import PooledSandbox

#: For one share; what is not compiled by then is compiled when it is imported.
SECONDS = 300.0
SHARE = 50  # modules that are compiled together: a result has at most 16 MB
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sources:
    """A folder with modules, where the sandbox shows it, and where it is noted that it is done."""

    folder: Path
    inside: str
    stamp: Path


def bubblewrap(config: SandboxConfig) -> Bubblewrap:
    """The backend; its environment is prepared when the first worker starts."""
    return Bubblewrap(config, lambda: prepare(config))


def prepare(
    config: SandboxConfig, *, say: Callable[[str], None] = lambda _: None
) -> environments.Environment:
    """Build the environment and compile its packages, unless that is done."""
    environment = environments.build(config.env, say=say)
    for sources in _sources(environment):
        if sources.stamp.exists() or not os.access(sources.stamp.parent, os.W_OK):
            continue  # done, or somebody else's cache
        with FileLock(sources.stamp.with_suffix(".lock")):
            if not sources.stamp.exists():
                _compile(sources, config, environment)
                sources.stamp.touch()
    return environment


def _sources(environment: environments.Environment) -> list[Sources]:
    places = [
        Sources(
            environment.packages.parent,
            f"/env/lib/{environment.python}",
            environment.folder / environments.BYTECODE,
        )
    ]
    own = environment.own
    if own is not None and os.access(own, os.W_OK):
        cache = own / environments.COMPILED  # replaced with the packages
        cache.mkdir(exist_ok=True)
        places.append(
            Sources(own, environments.IN_FRONT, cache / environments.BYTECODE)
        )
    return places


def _compile(
    sources: Sources, config: SandboxConfig, environment: environments.Environment
) -> None:
    files = {
        f"{sources.inside}/{path.relative_to(sources.folder).as_posix()}": path
        for path in sorted(sources.folder.rglob("*.py"))
    }
    log.info("compiling %d modules of %s, once", len(files), environment.name)
    tag = environment.python.replace("python", "cpython-").replace(".", "")
    backend = Bubblewrap(config, lambda: environment)
    stoppable.run(_compile_inside(files, tag, backend))


async def _compile_inside(
    files: Mapping[str, Path], tag: str, backend: Bubblewrap
) -> None:
    """Compile sources, by the names that the sandbox shows them under."""
    workers = SandboxConfig(workers=os.cpu_count() or 1)
    names, count = list(files), len(files) // SHARE + 1
    async with PooledSandbox(backend, workers, "") as sandbox:

        async def compile_share(share: Sequence[str]) -> None:
            done = await sandbox.call(
                compiling.__name__,
                compiling.compile_all.__name__,
                [list(share)],
                timeout=SECONDS,
            )
            compiled = done.result if isinstance(done.result, list) else []
            for name, data in zip(share, compiled, strict=False):
                if isinstance(data, bytes) and data:
                    source = files[name]
                    cached = f"{environments.COMPILED}/{source.stem}.{tag}.pyc"
                    _write(source.parent / cached, data)

        shares = [names[start::count] for start in range(count)]
        await asyncio.gather(*map(compile_share, shares))


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
