"""Input files of a question: where they lie and under which name the code sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox.command import UsageError

#: Names that an input cannot have: the code's own, and where it writes.
RESERVED = frozenset({"main.py", "out"})


def attach(known: Mapping[str, Path], paths: Sequence[str | Path]) -> dict[str, Path]:
    """Inputs by the name under which the code sees them: those known, and further ones.

    Raises
    ------
    UsageError
        When one does not exist, or two would have the same name.
    """
    found = dict(known)
    for given in paths:
        path = Path(given).expanduser()
        if not path.exists():
            raise UsageError(f"file {given}: no such file or folder")
        path = path.resolve()
        if path.name in RESERVED or not path.name:
            raise UsageError(f"file {given}: an input cannot be called {path.name!r}; rename it")
        if found.get(path.name, path) != path:
            raise UsageError(f"file {given}: two inputs are called {path.name}")
        found[path.name] = path
    return found
