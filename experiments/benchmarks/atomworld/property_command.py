"""A property calculated by the user's own program, for answers that passed all checks.

The program runs on this machine, with the user's rights, because the user names it. It never sees
the text of an answer: only CIF files written anew from the data that the sandbox handed back.
"""

from __future__ import annotations

import asyncio
import math
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox.base import SandboxError

SECONDS = 600.0
CHARACTERS = 10_000  # of its output; the last word is the number


async def compare(command: str, before: str, after: str, trend: str) -> Mapping[str, Any]:
    """Whether the property of ``after`` is on the wanted side of that of ``before``.

    Raises
    ------
    SandboxError
        When the program is not there, or fails for the given structure: our fault, not the
        answer's.
    """
    original = await calculate(command, before)
    if original is None:
        raise SandboxError(f"calculator={command}: gives no number for the structure before")
    value = await calculate(command, after)
    if value is None:
        return {"passed": False, "error": "CalculationFailed", "original": original}
    right = value > original if trend == "increase" else value < original
    error = None if right else "WrongSide"
    return {"passed": right, "error": error, "value": value, "original": original}


async def calculate(command: str, cif: str) -> float | None:
    """The number that ``COMMAND FILE`` prints last; ``None`` when it fails or prints none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "structure.cif"
        path.write_text(cif, encoding="utf-8")
        try:
            program = await asyncio.create_subprocess_exec(
                *shlex.split(command), str(path), cwd=folder,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
        except OSError as error:
            raise SandboxError(f"calculator={command}: cannot be started ({error})") from error
        try:
            out, _ = await asyncio.wait_for(program.communicate(), SECONDS)
        except TimeoutError:
            return None
        finally:
            if program.returncode is None:
                program.kill()
                await program.wait()
    words = out[-CHARACTERS:].decode("utf-8", "replace").split()
    try:
        value = float(words[-1]) if words and program.returncode == 0 else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None
