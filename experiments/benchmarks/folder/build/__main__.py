"""Makes benchmark tasks out of unit tests.

``python -m experiments.build_tasks tests=PATH package=NAME out=DIR [env=live] [model=rules]``
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents.models import ModelError
from agents.models.chat import open_chat
from docgen.library import read_library
from docgen.sources import SourceError
from docgen.symbols import Library
from experiments.benchmarks.folder.benchmark import (
    BuiltFolder,
    BuiltSpec,
    QuestionSet,
    portable_environment,
)
from experiments.benchmarks.folder.build.collect import Rejected, collect, test_files
from experiments.benchmarks.folder.build.model_writer import ModelWriter
from experiments.benchmarks.folder.build.pipeline import Builder, Built, write_rejected
from experiments.benchmarks.folder.build.writer import RulesWriter, TaskWriter
from experiments.benchmarks.question_check import Checker
from experiments.benchmarks.question_format import QuestionError
from sandbox import environments
from sandbox.base import SandboxConfig, SandboxError
from sandbox.command import Group, UsageError, run
from sandbox.factory import get_sandbox
from sandbox.progress import meter
from sandbox.terminal import printable

PROGRAM = "experiments.build_tasks"


class Options(BaseModel):
    """Arguments of ``python -m experiments.build_tasks``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tests: Path = Field(description="a test file, or a folder with test_*.py")
    package: str = Field(description="import name of the library under test")
    out: Path = Field(description="folder to write; new, or one that an earlier build wrote")
    env: str = Field("live", description="sandbox environment with the library (name or ./path)")
    second_env: str | None = Field(None, description="another version: differences are rejected")
    model: Group = Field(Group("rules"), description="who writes; its keys by model.KEY=VALUE")
    backend: str = Field("auto", description="isolation: auto, docker, podman, bubblewrap")
    limit: int | None = Field(None, ge=1, description="only the first N tests")


async def build(options: Options, console: Console) -> tuple[list[Built], list[Rejected]]:
    """Build every question that the tests give; what is written stays, whatever fails later.

    Raises
    ------
    UsageError
        When there are no tests, or the package is not in the environment.
    SandboxError, ModelError
        When a component of matsmith failed.
    """
    if not options.tests.exists() or not test_files(options.tests):
        raise UsageError(f"tests={options.tests}: no test_*.py there")
    programs, rejected = collect(options.tests)
    programs = programs[: options.limit]
    out = _folder(options.out)
    await asyncio.to_thread(environments.build, options.env, say=console.print)
    library = _library(options, console)
    recorded = sorted({*library.versions, options.package, "numpy", "scipy"})
    built: list[Built] = []
    async with AsyncExitStack() as stack:
        writer = await _writer(options, library, stack)
        checker = Checker(options.backend, env=options.env, form=BuiltSpec, recorded=recorded)
        await stack.enter_async_context(checker)
        second = None
        if options.second_env is not None:
            config = SandboxConfig(backend=options.backend, env=options.second_env, workers=1)
            second = await stack.enter_async_context(get_sandbox(config))
        builder = Builder(options.package, library, writer, checker, out, second=second)
        progress = stack.enter_context(meter("building from tests", len(programs), console=console))
        for program in programs:
            question, reasons = await builder.build(program)
            built += [question] if question is not None else []
            rejected += reasons
            progress.advance(note=f"{len(built)} questions")
        out.write_manifest(
            QuestionSet(
                package=options.package,
                packages=(options.package,),
                environment=portable_environment(options.env, out.root),
                versions=checker.versions,
                writer=writer.name,
            )
        )
        if isinstance(writer, ModelWriter):
            spent = f"{writer.name}: {writer.chat.usage}"
            console.print(spent, markup=False, highlight=False)
    write_rejected(out.rejected, rejected)
    return built, rejected


def _folder(path: Path) -> BuiltFolder:
    """A folder that is ours to write: new, empty, or from an earlier build."""
    out = BuiltFolder(path)
    if path.is_file() or (path.is_dir() and any(path.iterdir()) and not out.rejected.exists()):
        raise UsageError(f"out={path}: not empty, and not written by an earlier build")
    shutil.rmtree(out.questions, ignore_errors=True)
    out.questions.mkdir(parents=True)
    write_rejected(out.rejected, [])  # marks the folder as ours, also after a failure
    return out


def _library(options: Options, console: Console) -> Library:
    with console.status(f"reading {options.package}"):
        try:
            return read_library([options.package], environments.site_packages(options.env)).public()
        except SourceError as error:
            raise UsageError(f"package={options.package}: {error}") from error


async def _writer(options: Options, library: Library, stack: AsyncExitStack) -> TaskWriter:
    content = options.model.read("model")
    if content["provider"] == "rules":
        return RulesWriter(library)
    try:
        chat = await stack.enter_async_context(
            open_chat(content, cache=environments.cache_folder())
        )
    except ValueError as error:
        raise UsageError(f"model={options.model.name}: {error}") from error
    return ModelWriter(chat, library)


def show(built: Sequence[Built], rejected: Sequence[Rejected], console: Console) -> None:
    """Two tables: what was built, and why the rest was not."""
    title = f"{len(built)} questions, {sum(len(b.properties) for b in built)} properties"
    rows = [(b.task_id, ", ".join(b.properties), "; ".join(b.notes)) for b in built]
    _print(console, title, ("question", "properties", "notes"), rows)
    reasons = [
        (item.test.rpartition("/")[2], "all" if item.line is None else str(item.line), item.reason)
        for item in rejected
    ]
    _print(console, f"{len(rejected)} rejected", ("test", "line", "reason"), reasons)


def _print(
    console: Console, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """A table of foreign texts."""
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console.print(table)


def _action(options: Options) -> int:
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    try:
        built, rejected = asyncio.run(build(options, console))
    except (SandboxError, ModelError, QuestionError, OSError) as error:
        raise UsageError(str(error)) from error
    show(built, rejected, console)
    print(f"{options.out}: {len(built)} questions; every rejected test is in rejected.jsonl")
    return 0 if built else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0: something was built, 1: nothing, 2: a mistake."""
    return run(PROGRAM, str(__doc__), Options, _action, arguments)


if __name__ == "__main__":
    sys.exit(main())
