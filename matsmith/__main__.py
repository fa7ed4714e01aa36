"""``matsmith COMMAND ...``, or ``python -m matsmith``: every command of the project."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from importlib import import_module

ABOUT = "Runs materials-science code from language models, and measures how often it is right."
#: Where a command is and what it does, by group; it is imported when it is asked for.
COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Assistant": {
        "ask": ("agents.assistant.command:ask", "Executed code for a question; or a conversation."),
        "serve": ("agents.assistant.command:serve", "The assistant in a browser."),
        "mcp": ("agents.assistant.command:mcp", "The assistant over the Model Context Protocol."),
    },
    "Your own library": {
        "learn": ("experiments.learn:main", "Your library: environment, documents, questions."),
        "library": ("experiments.learn:library", "What has been learnt: list, refresh, forget."),
    },
    "Measure": {
        "run": ("experiments.run.__main__:main", "A benchmark: every question to its verdict."),
        "regrade": ("experiments.regrade:main", "Score recorded answers again."),
    },
    "Look at runs": {
        "report": ("experiments.report.__main__:main", "Tables and one page about runs."),
        "show": ("experiments.report.show:main", "Everything that led to one verdict."),
        "export": ("experiments.export.__main__:main", "A run in the format of another tool."),
        "replay": (
            "experiments.benchmarks.mattools.replay:main",
            "Recorded MatTools answers, beside the paper.",
        ),
        "agreement": ("experiments.agreement:main", "How far judges agree."),
    },
    "Documents": {
        "docs": ("docgen.__main__:main", "Write, check and share documentation of a library."),
        "index": ("retrieval.evaluate:index", "Build corpora and their indexes."),
        "evaluate": ("retrieval.evaluate:main", "How well documents are found."),
    },
    "Questions": {
        "questions": (
            "experiments.benchmarks.folder.from_tests.__main__:main", "Questions from unit tests."
        ),
        "folder": ("experiments.benchmarks.folder.__main__:main", "Check questions."),
    },
    "This machine": {
        "sandbox": ("sandbox.__main__:main", "Isolation: install, build, run, selftest."),
        "environment": ("sandbox.own:main", "An environment of your own packages."),
        "cache": ("matsmith.cache:main", "What is cached; remove what can be built again."),
        "endpoint": ("agents.conformance:main", "What works at a model's endpoint."),
    },
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code (see `matsmith.core.command`)."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        from matsmith.core.command import guarded  # noqa: PLC0415 -- takes a while

        return guarded(lambda: _call(given))
    except KeyboardInterrupt:  # nothing has begun
        return 130


def _call(given: list[str]) -> int:
    """A command reads its words itself; typer draws the page of all, and completes their names."""
    targets = {name: target for part in COMMANDS.values() for name, (target, _) in part.items()}
    if given and given[0] in targets:
        module, _, function = targets[given[0]].partition(":")
        code: int = getattr(import_module(module), function)(given[1:])
        return code
    import typer  # noqa: PLC0415 -- takes a while
    from typer.exceptions import TyperException  # noqa: PLC0415

    from matsmith.core.errors import UsageError  # noqa: PLC0415

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
