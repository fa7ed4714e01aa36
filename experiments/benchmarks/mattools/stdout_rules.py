"""The published way to a MatTools answer: print it, then read the text of stdout back.

This file runs inside a sandbox, as source text, next to the code under test; numpy and
pymatgen are imported only where the text calls for them. The host receives the outcome as
data and never evaluates anything of it.
"""

from __future__ import annotations

import ast
import atexit
import builtins
import contextlib
import os
import re
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NoReturn

#: Bytes of stdout that are read.
STDOUT_LIMIT = 10 << 20
SHOWN = 2000

_ARRAY = re.compile(r"(?:np\.)?array\(")
_ELEMENTS = (re.compile(r"Element\(['\"](\w+)['\"]\)"), re.compile(r"Element\s+(\w+)"))


def run_and_read(script: str) -> dict[str, Any]:
    """Run a script as ``main.py`` and read its whole stdout as one dict.

    Returns ``answer`` (the dict, ``None`` when not runnable), ``reason`` (``exception``,
    ``killed``, ``no_output``, ``unparsable_stdout``, ``no_dict``, ``empty_dict`` or ``None``),
    ``stdout`` (its beginning) and ``error`` (last line of the traceback).
    """
    source = script.encode("utf-8", "backslashreplace")
    Path("main.py").write_bytes(source)
    # A short message goes through a pipe: a disk that the script filled does not matter.
    fault, faults = os.pipe()
    with tempfile.TemporaryFile() as output:
        pid = os.fork()
        if pid == 0:
            _become_script(source, output, faults)
        _, status = os.waitpid(pid, 0)
        output.seek(0)
        raw = output.read(STDOUT_LIMIT + 1)
    error = _drain(fault).decode(errors="replace") or None
    if killed := os.WIFSIGNALED(status):
        error = f"killed by signal {os.WTERMSIG(status)}"
    text = raw.decode(errors="replace").strip()
    answer, reason = _read(
        text, raw, "killed" if killed else "exception" if error else None
    )
    return {"answer": answer, "reason": reason, "stdout": text[:SHOWN], "error": error}


def _read(
    text: str, raw: bytes, fault: str | None
) -> tuple[dict[Any, Any] | None, str | None]:
    """The dict that a stdout is, or why it is none; it counts, whatever came after."""
    if not text:
        return None, fault or "no_output"
    try:
        if len(raw) > STDOUT_LIMIT:
            raise ValueError("too long")  # noqa: TRY301
        answer = read_literal(text)
    except Exception:  # noqa: BLE001 - parsing hostile text; whatever happens: it is no literal
        return None, "exception" if fault == "exception" else "unparsable_stdout"
    if not isinstance(answer, dict):
        return None, "no_dict"
    return (answer, None) if answer else (None, "empty_dict")


def _drain(pipe: int) -> bytes:
    """What is in a pipe now; a process that the script left may still hold the other end."""
    os.set_blocking(pipe, False)
    try:
        return os.read(pipe, 1 << 16)
    except BlockingIOError:
        return b""


def _become_script(source: bytes, output: IO[bytes], faults: int) -> NoReturn:
    """In the child: be what ``python main.py`` would be, stdout in a file."""
    try:
        os.dup2(output.fileno(), 1)
        sys.stdout = sys.__stdout__ = open(  # type: ignore[misc]  # noqa: SIM115 - stays open
            1, "w", encoding="utf-8", errors="backslashreplace", closefd=False
        )
        path = str(Path("main.py").resolve())
        module = types.ModuleType("__main__")
        module.__file__ = path
        module.__dict__["__builtins__"] = (
            builtins  # the module itself, as in every script
        )
        sys.modules["__main__"] = module
        sys.modules.pop("main", None)

        try:
            exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102
        except SystemExit as error:
            if error.code is not None and not isinstance(error.code, int):
                sys.stderr.write(f"{error.code}\n")
        except BaseException as error:  # noqa: BLE001 - the code's own failure, reported
            traceback.print_exc()
            last = traceback.format_exception_only(type(error), error)[-1]
            os.write(faults, last[:SHOWN].encode(errors="backslashreplace"))
        # What a Python that ends does: wait for threads, call what is registered, flush.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
    finally:  # whatever happened: never back into the code above
        os._exit(0)


def read_literal(text: str) -> Any:
    """Read the text of a printed value: one Python literal with arrays and Elements in it.

    Anything else raises exceptions of many kinds.
    """
    placeholders: dict[str, Any] = {}

    def keep(value: Any) -> str:
        name = f"__KEPT_{len(placeholders)}__"
        placeholders[name] = value
        return repr(name)

    text = _replace_arrays(text, keep)
    for pattern in _ELEMENTS:
        text = _replace_elements(text, pattern, keep)
    return _restore(ast.literal_eval(text), placeholders)


def _replace_arrays(text: str, keep: Callable[[Any], str]) -> str:
    position = 0
    while match := _ARRAY.search(text, position):
        position = match.end()
        if (end := _closing(text, position)) is None:
            continue
        with contextlib.suppress(
            Exception
        ):  # the published rule: what cannot be evaluated stays
            placeholder = keep(_array(text[match.start() : end]))
            text = text[: match.start()] + placeholder + text[end:]
            position = match.start() + len(placeholder)
    return text


def _closing(text: str, start: int) -> int | None:
    """Position after the parenthesis that closes the one before ``start``."""
    depth = 1
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position + 1
    return None


def _array(expression: str) -> Any:
    import numpy as np  # noqa: PLC0415 - only where the text has arrays
    from pymatgen.core import Element  # noqa: PLC0415

    source = expression.replace("float128", "np.float64")
    if not source.startswith("np."):
        source = f"np.{source}"
    # The published rule evaluates this text. Inside a sandbox that holds no expected value.
    return eval(source, {"np": np, "Element": Element})  # noqa: S307


def _replace_elements(
    text: str, pattern: re.Pattern[str], keep: Callable[[Any], str]
) -> str:
    def replaced(match: re.Match[str]) -> str:
        from pymatgen.core import Element  # noqa: PLC0415 - only where there is one

        try:
            return keep(Element(match[1]))
        except ValueError:
            return match[0]

    return pattern.sub(replaced, text)


def _restore(value: Any, placeholders: dict[str, Any]) -> Any:
    """Put arrays and Elements back: in dicts and lists, not in tuples and sets."""
    if isinstance(value, dict):
        return {
            _restore(key, placeholders): _restore(item, placeholders)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_restore(item, placeholders) for item in value]
    return placeholders.get(value, value) if isinstance(value, str) else value
