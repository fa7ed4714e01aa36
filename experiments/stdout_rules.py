"""The published way to a MatTools answer: print it, then read the text of stdout back.

This file runs inside a sandbox, as source text, next to the code under test; numpy and
pymatgen are imported only where the text calls for them. The host receives the outcome as
data and never evaluates anything of it.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import tempfile
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

#: Bytes of stdout that are read; longer output is certainly no dict that somebody wrote.
STDOUT_LIMIT = 8 << 20
SHOWN = 2000

_ARRAY = re.compile(r"(?:np\.)?array\(")
_ELEMENTS = (re.compile(r"Element\(['\"](\w+)['\"]\)"), re.compile(r"Element\s+(\w+)"))


def run_and_read(script: str) -> dict[str, Any]:
    """Run a script as ``main.py`` and read its whole stdout as one dict.

    Parameters
    ----------
    script
        The code under test with the line that prints its result.

    Returns
    -------
    dict
        ``answer`` (the dict, ``None`` when not runnable), ``reason`` (``exception``,
        ``no_output``, ``unparsable_stdout``, ``no_dict``, ``empty_dict`` or ``None``),
        ``stdout`` (its beginning) and ``error`` (last line of the traceback).
    """
    Path("main.py").write_text(script, encoding="utf-8", errors="backslashreplace")
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as fault:
        pid = os.fork()
        if pid == 0:
            _become_script(script, output.fileno(), fault.fileno())
        os.waitpid(pid, 0)
        output.seek(0)
        raw = output.read(STDOUT_LIMIT + 1)
        fault.seek(0)
        error = fault.read(SHOWN).decode(errors="replace") or None
    text = raw.decode(errors="replace").strip()
    result: dict[str, Any] = {"answer": None, "stdout": text[:SHOWN], "error": error}
    if not text:
        return {**result, "reason": "exception" if error else "no_output"}
    try:
        if len(raw) > STDOUT_LIMIT:
            raise ValueError("too long")  # noqa: TRY301
        answer = read_literal(text)
    except Exception:  # noqa: BLE001 - parsing hostile text; whatever happens: it is no literal
        return {**result, "reason": "exception" if error else "unparsable_stdout"}
    if not isinstance(answer, dict):
        return {**result, "reason": "no_dict"}
    if not answer:
        return {**result, "reason": "empty_dict"}
    return {**result, "answer": answer, "reason": None}


def _become_script(script: str, output: int, fault: int) -> NoReturn:
    """In the child: be what ``python main.py`` would be, stdout in a file."""
    try:
        os.dup2(output, 1)
        sys.stdout = sys.__stdout__ = open(  # type: ignore[misc]  # noqa: SIM115 - stays open
            1, "w", encoding="utf-8", errors="backslashreplace", closefd=False
        )
        path = str(Path("main.py").resolve())
        module = types.ModuleType("__main__")
        module.__file__ = path
        sys.modules["__main__"] = module
        sys.modules.pop("main", None)
        try:
            exec(compile(script, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102
        except SystemExit:
            pass
        except BaseException as error:  # noqa: BLE001 - the code's own failure, reported
            traceback.print_exc()
            last = traceback.format_exception_only(type(error), error)[-1]
            os.write(fault, last[:SHOWN].encode(errors="backslashreplace"))
        sys.stdout.flush()
    finally:  # whatever happened: never back into the code above
        os._exit(0)


def read_literal(text: str) -> Any:
    """Read the text of a printed value: one Python literal with arrays and Elements in it.

    Raises
    ------
    Exception
        Of many kinds, when it is anything else.
    """
    known: dict[str, Any] = {}

    def keep(value: Any) -> str:
        name = f"__KEPT_{len(known)}__"
        known[name] = value
        return repr(name)

    text = _replace_arrays(text, keep)
    for pattern in _ELEMENTS:
        text = _replace_elements(text, pattern, keep)
    return _restore(ast.literal_eval(text), known)


def _replace_arrays(text: str, keep: Callable[[Any], str]) -> str:
    position = 0
    while found := _ARRAY.search(text, position):
        end = _closing(text, found.end())
        if end is None:
            position = found.end()
            continue
        try:
            placeholder = keep(_array(text[found.start() : end]))
        except Exception:  # noqa: BLE001 - the published rule: what cannot be evaluated stays
            position = found.end()
            continue
        text = text[: found.start()] + placeholder + text[end:]
        position = found.start() + len(placeholder)
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


def _replace_elements(text: str, pattern: re.Pattern[str], keep: Callable[[Any], str]) -> str:
    def pieces() -> Iterator[str]:
        position = 0
        for found in pattern.finditer(text):
            from pymatgen.core import Element  # noqa: PLC0415 - only where there is one

            yield text[position : found.start()]
            try:
                yield keep(Element(found[1]))
            except ValueError:
                yield found[0]
            position = found.end()
        yield text[position:]

    return "".join(pieces())


def _restore(value: Any, known: dict[str, Any]) -> Any:
    """Put arrays and Elements back: in dicts and lists, not in tuples and sets."""
    if isinstance(value, dict):
        return {_restore_one(key, known): _restore(item, known) for key, item in value.items()}
    if isinstance(value, list):
        return [_restore(item, known) for item in value]
    return _restore_one(value, known)


def _restore_one(value: Any, known: dict[str, Any]) -> Any:
    return known.get(value, value) if isinstance(value, str) else value
