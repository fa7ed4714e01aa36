"""Compiles the packages of an environment inside the isolation that will import them.

Without bytecode a worker takes several times as long to start. The compiler reads foreign source,
so it runs jailed and hands the bytes over; the host only writes them beside the sources, unread.
"""

from __future__ import annotations

import json
import logging
import os
import struct
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from filelock import FileLock

from sandbox import overlays
from sandbox.environments import Environment

log = logging.getLogger(__name__)
STAMP = ".bytecode"
SECONDS = 900  # for a whole environment; what is not compiled by then is compiled when imported
MOST = 64 << 20  # bytes of one compiled module
#: Reads names as JSON, writes each one's bytecode with its length before it (0: not Python).
COMPILER = """\
import json, os, py_compile, resource, struct, sys
resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
out = os.fdopen(os.dup(1), "wb")
for name in json.load(sys.stdin):
    data = b""
    try:
        py_compile.compile(os.path.join(sys.argv[1], name), cfile="/tmp/compiled", doraise=True)
        with open("/tmp/compiled", "rb") as file:
            data = file.read()
    except Exception:
        pass
    out.write(struct.pack(">I", len(data)) + data)
out.flush()
"""


def precompile(environment: Environment, jailed: Callable[[Sequence[str]], list[str]]) -> None:
    """Write the bytecode of an environment's packages, unless it is there."""
    library = environment.packages.parent
    _precompile(environment, environment.folder, library, f"/env/lib/{environment.python}", jailed)
    if environment.own is not None and os.access(environment.own, os.W_OK):
        kept = environment.own / "__pycache__"  # replaced with the packages
        kept.mkdir(exist_ok=True)
        _precompile(environment, kept, environment.own, overlays.INSIDE, jailed)


def _precompile(
    environment: Environment,
    folder: Path,
    root: Path,
    inside: str,
    jailed: Callable[[Sequence[str]], list[str]],
) -> None:
    """Compile what lies below ``root``, shown as ``inside``; ``folder`` holds the stamp."""
    stamp = folder / STAMP
    if stamp.exists() or not os.access(folder, os.W_OK):  # somebody else's cache
        return
    with FileLock(stamp.with_suffix(".lock")):
        if stamp.exists():
            return
        tag = environment.python.replace("python", "cpython-").replace(".", "")
        wanted = [
            (source, source.parent / "__pycache__" / f"{source.stem}.{tag}.pyc")
            for source in sorted(root.rglob("*.py"))
        ]
        wanted = [pair for pair in wanted if not pair[1].exists()]
        if wanted:
            log.info("compiling %d modules of %s, once", len(wanted), environment.name)
        command = jailed(["-I", "-S", "-c", COMPILER, inside])
        shares = [wanted[start :: os.cpu_count() or 1] for start in range(os.cpu_count() or 1)]
        with ThreadPoolExecutor(len(shares)) as pool:
            list(pool.map(lambda share: _compile(root, command, share), shares))
        stamp.touch()


def _compile(root: Path, command: Sequence[str], share: Sequence[tuple[Path, Path]]) -> None:
    if not share:
        return
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(  # noqa: S603 - our own isolation
        command, stdin=pipe, stdout=pipe, stderr=nothing, env={}, cwd="/"
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        end = threading.Timer(SECONDS, process.kill)
        end.start()
        try:
            names = [source.relative_to(root).as_posix() for source, _ in share]
            process.stdin.write(json.dumps(names).encode())
            process.stdin.close()
            for (_, target), data in zip(share, _blobs(process.stdout), strict=False):
                _write(target, data)
        except BrokenPipeError:
            log.warning("the packages could not be compiled: workers will start slowly")
        finally:
            end.cancel()
            process.kill()


def _blobs(stream: IO[bytes]) -> Iterator[bytes]:
    """What the compiler sent; ends early when it died."""
    while len(head := stream.read(4)) == 4:
        size = struct.unpack(">I", head)[0]
        if size > MOST or len(data := stream.read(size)) < size:
            return
        yield data


def _write(target: Path, data: bytes) -> None:
    if not data or target.parent.is_symlink():
        return
    target.parent.mkdir(exist_ok=True)
    target.parent.chmod(0o755)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    Path(temporary).chmod(0o644)
    Path(temporary).replace(target)
