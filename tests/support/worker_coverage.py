"""Lines that run inside sandbox workers, for `make coverage`.

A worker has no ``coverage``, no folder of ours and no way to write a file. Here it is sent a tracer
in front of its program, which marks every line of the project that runs in a byte of a file shared
with the host: the supervisor maps it once, and what it forks inherits the map. Nothing of the
product knows of this; it happens only while the tests run under ``coverage``.
"""

from __future__ import annotations

import os
import tempfile
from itertools import count
from pathlib import Path

import coverage

from sandbox import bubblewrap, worker
from sandbox.shipping import PACKAGES, ROOT

LINES = 1024  # bytes for each file, more than any has lines
INSIDE = "/coverage"  # where a worker under bubblewrap sees the file
TRACER = """\
import mmap, sys
def trace_workers(places, offsets):
    for place in places:
        try:
            with open(place, "r+b") as file:
                marks = mmap.mmap(file.fileno(), 0)
            break
        except OSError:
            pass
    else:
        return
    def trace_call(frame, event, argument):
        offset = offsets.get(frame.f_code.co_filename)
        if offset is None:
            return None
        def trace_line(frame, event, argument):
            if event == "line":
                marks[offset + frame.f_lineno] = 1
            return trace_line
        marks[offset + frame.f_lineno] = 1
        return trace_line
    sys.settrace(trace_call)
"""


class WorkerCoverage:
    """The file of marks of all workers that this process starts."""

    def __init__(self, host: coverage.Coverage) -> None:
        self._host = host
        self._names = sorted(
            path.relative_to(ROOT).as_posix()
            for package in PACKAGES - {"tests"}
            for path in ROOT.joinpath(package).rglob("*.py")
        )
        descriptor, name = tempfile.mkstemp(prefix="matsmith-coverage-")
        os.truncate(descriptor, LINES * len(self._names))
        os.close(descriptor)
        self._file = Path(name)
        self._file.chmod(0o666)  # workers run as somebody else where the host is root

    def begin(self) -> None:
        """Trace the workers that are opened from now on."""
        offsets = dict(zip(self._names, count(0, LINES), strict=False))
        program = [
            TRACER,
            f"trace_workers({[INSIDE, str(self._file)]!r}, {offsets!r})",
            f"exec(compile({worker.RUNNER!r}, 'sandbox/inside/shipped.py', 'exec'))",
        ]
        worker.RUNNER = "\n".join(program).encode()
        bubblewrap.CONFINEMENT["bubblewrap"] += ["--bind", str(self._file), INSIDE]

    def save(self) -> None:
        """Write what ran as one more file of data, beside those of ``coverage``."""
        marks = self._file.read_bytes()
        self._file.unlink()
        lines = {
            str(ROOT / name): {
                line for line in range(LINES) if marks[index * LINES + line]
            }
            for index, name in enumerate(self._names)
        }
        data = coverage.CoverageData(
            basename=self._host.get_data().base_filename(),
            suffix=f"workers.{os.getpid()}",
        )
        data.add_lines({name: numbers for name, numbers in lines.items() if numbers})
        data.write()
