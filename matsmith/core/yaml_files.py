"""YAML that somebody else wrote: small, flat, without aliases; a mistake is one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from matsmith.core.errors import UsageError

#: Bytes of a file, and levels of nesting, that nobody writes by hand.
MOST_BYTES = 4 << 20
MOST_LEVELS = 40


def read_yaml(path: Path) -> Any:
    """The content of a file; a `UsageError` names file and line.

    It is small and flat, without aliases: a few within each other are more than any memory holds.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path}: is larger than {MOST_BYTES >> 20} MB")
        text = path.read_text(encoding="utf-8")
        check_text(path, text)
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise UsageError(f"{path}:{line}: {error.problem}") from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: cannot be read ({' '.join(str(error).split())})") from error


def check_text(path: Path, text: str) -> None:
    """Look at what a file would become before anything is built of it."""
    level = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        level += isinstance(event, yaml.CollectionStartEvent)
        level -= isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent):
            raise UsageError(f"{path}:{line}: has an alias (*{event.anchor}); write it out")
        if level > MOST_LEVELS:
            raise UsageError(f"{path}:{line}: is nested deeper than {MOST_LEVELS} levels")
