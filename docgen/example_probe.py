"""Runs inside the sandbox: whether an example runs as it stands.

Imports nothing of the project; what it returns is plain data.
"""

from __future__ import annotations

import io
import traceback
from contextlib import redirect_stdout

LONGEST, MOST = 300, 2_000  # characters of an error, and of what is printed


def check(code: str) -> dict[str, object]:
    """Run an example: its ``verdict`` (``runs``, ``inputs``, ``fails``), ``printed``, ``error``."""
    result: dict[str, object] = {"verdict": "fails", "error": ""}
    printed = io.StringIO()
    names: dict[str, object] = {"__name__": "__main__"}
    try:
        with redirect_stdout(printed):
            exec(compile(code, "<example>", "exec"), names)  # noqa: S102 - in the sandbox
        result["verdict"] = "runs"
    except BaseException as error:  # noqa: BLE001 - whatever an example raises is the finding
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame.lineno for frame in frames if frame.filename == "<example>"]
        place = f" (line {own[-1]})" if own else ""
        result["error"] = f"{type(error).__name__}: {error}"[:LONGEST] + place
        here = bool(frames) and frames[-1].filename == "<example>"
        elsewhere = isinstance(error, ModuleNotFoundError) and not here
        if (
            isinstance(error, OSError)
            or elsewhere
            or (isinstance(error, NameError) and here)
        ):
            result["verdict"] = "inputs"
    return {**result, "printed": printed.getvalue()[:MOST]}
