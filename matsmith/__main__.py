"""``matsmith COMMAND ...``, or ``python -m matsmith``: every command of the project."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import yaml

from foundation.secrets import LogFilter

ABOUT = "Runs materials-science code from language models, and measures how often it is right."
#: Where a command is and what it does, by group; it is imported when it is asked for.
COMMANDS: dict[str, dict[str, tuple[str, str]]] = yaml.safe_load(
    Path(__file__).with_name("commands.yaml").read_text(encoding="utf-8")
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code (see `foundation.command`)."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    for handler in logging.getLogger().handlers:
        handler.addFilter(LogFilter())
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        from foundation.command import guarded  # noqa: PLC0415 -- takes a while

        return guarded(lambda: _call(given))
    except KeyboardInterrupt:  # nothing has begun
        return 130


def _call(given: list[str]) -> int:
    """A command reads its words itself; typer draws the page of all, and completes their names."""
    targets = {
        name: target for part in COMMANDS.values() for name, (target, _) in part.items()
    }
    if given == ["--version"]:
        import matsmith  # noqa: PLC0415 -- takes a while

        print(f"matsmith {matsmith.__version__}")
        return 0
    if given and given[0] in targets:
        module, _, function = targets[given[0]].partition(":")
        code: int = getattr(import_module(module), function)(given[1:])
        return code
    import typer  # noqa: PLC0415 -- takes a while
    from typer.exceptions import TyperException  # noqa: PLC0415

    from foundation.errors import UsageError  # noqa: PLC0415

    page = typer.Typer(name="matsmith", help=ABOUT, rich_markup_mode="rich")
    for group, commands in COMMANDS.items():
        for name, (_, about) in commands.items():
            page.command(name, help=about, rich_help_panel=group)(lambda: None)
    try:
        page(given or ["--help"], prog_name="matsmith", standalone_mode=False)
    except TyperException as error:
        raise UsageError(str(error)) from error
    return 0 if given else 2


if __name__ == "__main__":
    sys.exit(main())
