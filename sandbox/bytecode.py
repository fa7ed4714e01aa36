"""Compiles the packages of an environment inside the isolation that will import them.

Without bytecode a worker takes several times as long to start. The compiler reads foreign source,
so it runs jailed and hands the bytes over; the host only writes them beside the sources, unread.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import struct
import subprocess
import tempfile
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
resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 30, 4 << 30))
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
    places = [(environment.folder, library, f"/env/lib/{environment.python}")]
    if environment.own is not None and os.access(environment.own, os.W_OK):
        kept = environment.own / "__pycache__"  # replaced with the packages
        kept.mkdir(exist_ok=True)
        places.append((kept, environment.own, overlays.INSIDE))
    for folder, root, inside in places:
        stamp = folder / STAMP
        if stamp.exists() or not os.access(folder, os.W_OK):  # somebody else's cache
            continue
        with FileLock(stamp.with_suffix(".lock")):
            if not stamp.exists():
                _precompile(environment, root, jailed(["-I", "-S", "-c", COMPILER, inside]))
                stamp.touch()


def _precompile(environment: Environment, root: Path, command: Sequence[str]) -> None:
    tag = environment.python.replace("python", "cpython-").replace(".", "")
    wanted = [
        (source, source.parent / "__pycache__" / f"{source.stem}.{tag}.pyc")
        for source in sorted(root.rglob("*.py"))
    ]
    wanted = [pair for pair in wanted if not pair[1].exists()]
    if wanted:
        log.info("compiling %d modules of %s, once", len(wanted), environment.name)
    shares = [wanted[start :: os.cpu_count() or 1] for start in range(os.cpu_count() or 1)]
    with ThreadPoolExecutor(len(shares)) as pool:
        list(pool.map(lambda share: _compile(root, command, share), shares))


def _compile(root: Path, command: Sequence[str], share: Sequence[tuple[Path, Path]]) -> None:
    names = json.dumps([source.relative_to(root).as_posix() for source, _ in share])
    with tempfile.TemporaryFile() as compiled:
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(  # noqa: S603 - our own isolation
                command, input=names.encode(), stdout=compiled, stderr=subprocess.DEVNULL, env={},
                cwd="/", timeout=SECONDS, check=False,
            )  # fmt: skip
        compiled.seek(0)
        for (_, target), data in zip(share, _blobs(compiled), strict=False):
            _write(target, data)


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
