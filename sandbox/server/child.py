"""The jailed process: runs the code, and writes what became of it."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import resource
import struct
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any, NoReturn

from sandbox.inside.decoding import restore
from sandbox.inside.shipped import Shipped
from sandbox.inside.tagged import KEEP, OUT, UnencodableError, dumps
from sandbox.server.catches import CaughtExceptions
from sandbox.server.jails import Jail
from sandbox.server.kernel import renumber
from sandbox.server.outputs import Outputs

NICE = 5  # of the code: the supervisor that watches it comes first
MAIN = "main.py"
STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
RESULT_DESCRIPTOR = len(STREAMS)
FAILED = 70  # exit code: something failed before the code
BROKEN = 71  # exit code: the code broke what writes its result
FRAMES = 30  # of a traceback
#: Our files, as tracebacks name them: frames of these at the beginning are not shown.
#: Modules that the host sends are compiled under their path in the project.
_OURS = (
    __file__,
    "sandbox/server/catches.py",
    "sandbox/inside/shipped.py",
    "<frozen importlib._bootstrap>",
)


def child(jail: Jail, number: int, fds: list[int], shipped: Shipped) -> NoReturn:
    """Become the jailed process, run the code, write the result; never returns.

    ``shipped`` imports our own modules, for a call of one of them; other code cannot see it.
    ``fds`` are the job, and the write ends for stdout, stderr, the result and for failures before
    the code.
    """
    job, *streams, failures = fds
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        # 0 stdin (null), 1 stdout, 2 stderr, 3 result, 4 failures, 5 job
        failures, job = renumber([null, *streams, failures, job])[-2:]
        request, code = _read_job(job)
        # The job, and whatever the zygote had open.
        os.closerange(job, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        _enter(jail, number, request)
        _open_streams()
        with contextlib.suppress(OSError), open(MAIN, "wb") as file:
            file.write(code)  # for tracebacks; code larger than the disk runs without
        _reseed()
        gc.enable()  # the zygote keeps it off, so that pages stay shared
    except BaseException:  # noqa: BLE001 - told to the supervisor, which tells the host
        os.write(failures, traceback.format_exc().encode())
        os._exit(FAILED)
    try:  # from here on a fault is the code's: nothing is written to ``failures``
        os.close(failures)
        view = memoryview(_message(jail, request, code, shipped))
        while view:
            view = view[os.write(RESULT_DESCRIPTOR, view) :]
        os._exit(0)
    finally:  # also where the code has closed the descriptors: never back into the zygote
        os._exit(BROKEN)


def _read_job(descriptor: int) -> tuple[dict[str, Any], bytes]:
    """The host's request, and the code."""
    size = os.fstat(descriptor).st_size
    data = bytearray()
    while len(data) < size:
        data += os.pread(descriptor, size - len(data), len(data))
    start = 4 + struct.unpack_from(">I", data)[0]
    request: dict[str, Any] = json.loads(data[4:start])
    return request, bytes(data[start:])


def _enter(jail: Jail, number: int, request: dict[str, Any]) -> None:
    os.setsid()  # a signal that the code sends to its process group reaches only itself
    os.nice(NICE)
    mounts = [
        (os.path.join(jail.inputs, item["key"]), item["target"])
        for item in request["mounts"]
    ]
    jail.enter(number, mounts)
    if request["return_files"]:
        os.mkdir(OUT)
    os.environ.update(HOME=jail.folder, TMPDIR=jail.folder)


def _open_streams() -> None:
    for descriptor, (name, mode) in enumerate(STREAMS):
        stream = open(  # noqa: SIM115 - stays open
            descriptor,
            mode,
            buffering=1,
            encoding="utf-8",
            errors="backslashreplace",
            closefd=False,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _reseed() -> None:
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


def _message(
    jail: Jail, request: dict[str, Any], code: bytes, shipped: Shipped
) -> bytes:
    """Run the code or the call, and say what became of it."""
    out = os.path.join(jail.folder, OUT) if request["return_files"] else ""
    caught = CaughtExceptions(os.path.join(jail.folder, MAIN))
    if request["kind"] == "call":
        return _execute(lambda: _call(shipped, code), caught, out)
    shipped.hide()  # code of an answer imports what is installed, and nothing of ours
    if request["kind"] == "script":
        return _execute(lambda: _run_script(code, caught), caught, out)
    return _execute(lambda: _run_function(code, request["entry"], caught), caught, out)


def _run_module(name: str, code: bytes, caught: CaughtExceptions) -> types.ModuleType:
    """Execute the code as a module of this name."""
    module = types.ModuleType(name)
    module.__file__ = caught.path
    sys.modules[name] = module
    sys.argv = [MAIN]
    sys.path.insert(0, os.path.dirname(caught.path))
    exec(caught.compile(code), module.__dict__)  # noqa: S102 - what a sandbox is for
    return module


def _run_script(code: bytes, caught: CaughtExceptions) -> None:
    """Execute the code as the main program, which has no result."""
    _run_module("__main__", code, caught)


def _run_function(code: bytes, entry: str, caught: CaughtExceptions) -> Any:
    """Execute the code as a module, and call a function of it."""
    module = _run_module("main", code, caught)
    function = module.__dict__.get(entry)
    if not callable(function):
        raise NameError(f"the code defines no function {entry!r}")  # noqa: TRY004
    return function()


def _call(shipped: Shipped, text: bytes) -> Any:
    """Call a function of a module of ours, whose source comes with the call."""
    call = json.loads(text)
    shipped.add(call["texts"])
    __import__(call["module"])
    function = getattr(sys.modules[call["module"]], call["function"])
    return function(*restore(call["arguments"]))


def _execute(work: Callable[[], Any], caught: CaughtExceptions, out: str) -> bytes:
    """Do the work; ``out`` is the folder whose files are handed over, empty for none.

    The message: the outcome's name; where there is anything to report a space and JSON of what was
    caught, names and sizes of files, and what was left; a line feed, the files, payload or reason.
    """
    outputs = Outputs()
    ended: BaseException | None = None
    try:
        outcome, text = "ok", dumps(work())
        if out:
            outputs.collect(out)
    except UnencodableError as error:
        outcome, text = "bad_result", str(error)
    except SystemExit as error:
        outcome, text = "exit", f"SystemExit: {error.code!r:.200}"
    except MemoryError as error:
        outcome, text = "memory", _traceback(error)
    except BaseException as error:  # noqa: BLE001 - whatever the code raises is its result
        outcome, text, ended = "exception", _traceback(error), error
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    head = f"{outcome}{_report(caught, ended, outputs)}\n"
    payload = text.encode("utf-8", "backslashreplace")
    return b"".join([head.encode(), *outputs.contents, payload])


def _report(
    caught: CaughtExceptions, ended: BaseException | None, outputs: Outputs
) -> str:
    """JSON of what was caught and of the files; nothing where there is neither."""
    report: dict[str, list[Any]] = {
        "caught": [],
        "files": list(outputs.files),
        "left": outputs.left,
    }
    with contextlib.suppress(Exception):  # the code broke what reports it
        report["caught"] = list(caught.report(ended))
    return f" {json.dumps(report)}" if any(report.values()) else ""


def _traceback(error: BaseException) -> str:
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename in _OURS:
        frames = frames.tb_next
    lines = traceback.format_exception(type(error), error, frames, limit=-FRAMES)
    text = "".join(lines)
    half = KEEP // 2
    return text if len(text) <= KEEP else f"{text[:half]}\n...\n{text[-half:]}"
