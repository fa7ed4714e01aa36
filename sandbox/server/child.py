"""The jailed process: runs the code, and writes what became of it."""

from __future__ import annotations

import ast
import builtins
import contextlib
import gc
import json
import os
import random
import resource
import stat
import struct
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any, NoReturn

from sandbox.inside.shipped import Shipped
from sandbox.inside.tagged import (
    KEEP,
    MAX_CAUGHT,
    MAX_MESSAGE,
    MB,
    OUT,
    OUT_BYTES,
    OUT_FILES,
    UnencodableError,
    dumps,
    restore,
)
from sandbox.server.jails import Jail
from sandbox.server.kernel import renumber

NICE = 5  # of the code: the fork server that watches it comes first


def child(jail: Jail, number: int, fds: list[int], shipped: Shipped) -> NoReturn:
    """Become the jailed process, run the code, write the result; never returns.

    ``shipped`` finds our own modules: for a call of one of them, for nothing else. ``fds`` are the
    order, and the write ends for stdout, stderr, the result and for failures before the code.
    """
    order, *streams, setup = fds
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        setup, order = renumber([null, *streams, setup, order])[-2:]
        request, code = _read_order(order)
        os.closerange(order, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        os.setsid()  # signals to the group of process 0 end here
        os.nice(NICE)
        shown = [(item["key"], item["target"]) for item in request["mounts"]]
        jail.enter(
            number, [(os.path.join(jail.inputs, key), target) for key, target in shown]
        )
        if request["collect"]:
            os.mkdir(OUT)
        os.environ.update(HOME=jail.folder, TMPDIR=jail.folder)
        for name, fd in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
            mode = "r" if fd == 0 else "w"
            stream = open(  # noqa: SIM115 - stays open
                fd,
                mode,
                buffering=1,
                encoding="utf-8",
                errors="backslashreplace",
                closefd=False,
            )
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        with contextlib.suppress(OSError), open("main.py", "wb") as file:
            file.write(code)  # for tracebacks; code larger than the disk runs without
        random.seed()
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed()
        gc.enable()
    except BaseException:  # noqa: BLE001 - told to the server, which tells the host
        os.write(setup, traceback.format_exc().encode())
        os._exit(70)
    try:
        os.close(setup)
        out = os.path.join(jail.folder, OUT) if request["collect"] else ""
        catches = Catches(os.path.join(jail.folder, "main.py"))
        if (entry := request["entry"]) is None:
            message = _execute(lambda: _call(shipped, code), catches, out)
        else:
            shipped.hide()
            message = _execute(lambda: _run(code, entry, catches), catches, out)
        view = memoryview(message)
        while view:
            view = view[os.write(3, view) :]
        os._exit(0)
    finally:  # whatever the code did to its descriptors: never back into the server
        os._exit(71)


def _read_order(descriptor: int) -> tuple[dict[str, Any], bytes]:
    """The host's request, and the code."""
    size = os.fstat(descriptor).st_size
    data = bytearray()
    while len(data) < size:
        data += os.pread(descriptor, size - len(data), len(data))
    start = 4 + struct.unpack_from(">I", data)[0]
    request: dict[str, Any] = json.loads(data[4:start])
    return request, bytes(data[start:])


class Catches:
    """Takes note of exceptions that the code catches itself.

    Every ``except`` block of the code begins with a call of :meth:`note`: nothing is traced, so
    code that catches nothing runs at full speed, on every version of Python.
    """

    NAME = "__caught__"  # among the builtins: the code's own names stay as they are

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: dict[tuple[str, str, int], None] = {}

    def compile(self, code: bytes) -> types.CodeType:
        """Compile the code; what cannot be rewritten stays as it is."""
        plain = compile(code, self.path, "exec", dont_inherit=True)
        try:
            tree = ast.parse(code, self.path)
            for node in ast.walk(tree):
                if isinstance(node, ast.ExceptHandler):
                    # Calling it may fail itself: in a handler at the limit of recursion.
                    call = ast.parse(
                        f"try: {self.NAME}()\nexcept RecursionError: pass"
                    ).body[0]
                    for part in ast.walk(call):
                        if hasattr(part, "lineno"):
                            ast.copy_location(part, node)
                    node.body.insert(0, call)
            compiled: types.CodeType = compile(
                tree, self.path, "exec", dont_inherit=True
            )
        except (RecursionError, MemoryError, SyntaxError, ValueError):
            return plain
        setattr(builtins, self.NAME, self.note)
        suppress = contextlib.suppress.__exit__

        def leave(manager: Any, kind: Any, error: Any, trace: Any) -> Any:
            swallowed = suppress(manager, kind, error, trace)
            if swallowed and sys._getframe(1).f_code.co_filename == self.path:
                self.note(error)
            return swallowed

        contextlib.suppress.__exit__ = leave  # type: ignore[method-assign]
        return compiled

    def key(self, error: BaseException) -> tuple[str, str, int]:
        """Type, message and line of an exception, whatever its own methods do."""
        try:
            message = str.__str__(str(error))
        except Exception:  # noqa: BLE001 - the code's own __str__ may raise anything
            message = ""
        line, frames = 0, error.__traceback__
        while frames is not None:
            if frames.tb_frame.f_code.co_filename == self.path:
                line = frames.tb_lineno or 0
            frames = frames.tb_next
        return (
            type.__dict__["__name__"].__get__(type(error))[:100],
            message[:MAX_MESSAGE],
            line,
        )

    def note(self, error: BaseException | None = None) -> None:
        """Take note of ``error``, or of the exception that is being handled."""
        error = error or sys.exception()
        if error is not None and len(self.found) < MAX_CAUGHT:
            self.found.setdefault(self.key(error))

    def report(self, error: BaseException | None = None) -> list[tuple[str, str, int]]:
        """What was caught, without what ended the code after all (``error``)."""
        for _ in range(MAX_CAUGHT):
            if error is None:
                break
            self.found.pop(self.key(error), None)
            error = error.__cause__ or error.__context__
        return list(self.found)


def _run(code: bytes, entry: str, catches: Catches) -> Any:
    name = "main" if entry else "__main__"
    module = types.ModuleType(name)
    module.__file__ = catches.path
    sys.modules[name] = module
    sys.argv = ["main.py"]
    sys.path.insert(0, os.path.dirname(catches.path))
    exec(catches.compile(code), module.__dict__)  # noqa: S102 - what a sandbox is for
    if not entry:
        return None
    function = module.__dict__.get(entry)
    if not callable(function):
        raise NameError(f"the code defines no function {entry!r}")  # noqa: TRY004
    return function()


def _call(shipped: Shipped, order: bytes) -> Any:
    """Call a function of a module of ours, whose text may come with the order."""
    call = json.loads(order)
    shipped.add(call["texts"])
    __import__(call["module"])
    return getattr(sys.modules[call["module"]], call["function"])(
        *restore(call["arguments"])
    )


def _execute(work: Callable[[], Any], catches: Catches, out: str) -> bytes:
    """Do the work; ``out`` is the folder whose files are handed over, empty for none.

    The message: the outcome's name; where there is anything to report a space and JSON of what was
    caught, names and sizes of files, and what was left; a line feed, the files, payload or reason.
    """
    report: dict[str, list[Any]] = {"caught": [], "files": [], "left": []}
    files: list[bytes] = []
    ended: BaseException | None = None
    try:
        outcome, text = "ok", dumps(work())
        if out:
            files = collect(out, report["files"], report["left"])
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
    with contextlib.suppress(Exception):  # the code broke what reports it
        report["caught"] = catches.report(ended)
    told = f" {json.dumps(report)}" if any(report.values()) else ""
    payload = text.encode("utf-8", "backslashreplace")
    return b"".join([f"{outcome}{told}\n".encode(), *files, payload])


def collect(folder: str, files: list[Any], left: list[str]) -> list[bytes]:
    """The bytes of the files in a folder, their names and sizes to ``files``.

    Links, pipes and other things that are not files are left out, and so is what goes beyond the
    limits; each is named in ``left`` with its reason.
    """
    parts: list[bytes] = []
    room = OUT_BYTES
    found = [] if os.path.islink(folder) else sorted(os.walk(folder))
    for top, _, names in found:
        for name in sorted(names):
            path = os.path.join(top, name)
            shown = os.path.relpath(path, folder)
            if (
                len(shown) > KEEP // OUT_FILES // 12
            ):  # JSON writes up to 12 signs for one
                left.append(f"{shown[:60]}...: the name is too long")
                continue
            try:
                status = os.lstat(path)
                if not stat.S_ISREG(status.st_mode):
                    left.append(f"{shown}: not a plain file")
                elif len(files) == OUT_FILES:
                    left.append(f"{shown}: at most {OUT_FILES} files are handed over")
                elif status.st_size > room:
                    left.append(
                        f"{shown}: at most {OUT_BYTES // MB} MB are handed over"
                    )
                else:
                    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                    with open(fd, "rb") as file:
                        data = file.read(room)
                    room -= len(data)
                    files.append((shown, len(data)))
                    parts.append(data)
            except OSError as error:
                left.append(f"{shown}: {error.strerror}")
    del left[OUT_FILES:]
    return parts


_OURS = (__file__, "sandbox/inside/shipped.py", "<frozen importlib._bootstrap>")


def _traceback(error: BaseException) -> str:
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename in _OURS:
        frames = frames.tb_next
    text = "".join(traceback.format_exception(type(error), error, frames, limit=-30))
    return (
        text
        if len(text) <= KEEP
        else text[: KEEP // 2] + "\n...\n" + text[-KEEP // 2 :]
    )
