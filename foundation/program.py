"""What to type to call `matsmith` in this installation, for messages that name a cure."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

PROGRAM = "matsmith"


def command_line(words: str) -> str:
    """``matsmith WORDS`` as it can be typed here.

    The program stands beside the interpreter. Where ``PATH`` does not lead to it (a virtual
    environment that is not activated), its path is named; where there is none yet (while a checkout
    is set up), the module that it calls.
    """
    beside = Path(sys.executable).with_name(PROGRAM)
    if not beside.is_file():
        return f"{_short(Path(sys.executable))} -m {PROGRAM} {words}"
    on_path = shutil.which(PROGRAM)
    if on_path is not None and Path(on_path).samefile(beside):
        return f"{PROGRAM} {words}"
    return f"{_short(beside)} {words}"


def _short(path: Path) -> str:
    """The path, from the working folder where it lies below that."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
