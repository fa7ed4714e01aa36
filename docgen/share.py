"""Texts as files between people, and what prompts would cost before they are asked.

``import FILE`` keeps a file where every corpus finds it; ``export`` writes what models wrote about
the installed packages, from the runs of ``python -m docgen`` (``runs=docs.jsonl.written``), shipped
and imported texts; ``prompts`` counts requests and characters of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from docgen import rules_writer
from docgen.checkpoint import Checkpoint
from docgen.command import UsageError, run
from docgen.library import read_library
from docgen.prompts import INSTRUCTIONS, Prompter, source_hash
from docgen.schedule import Schedule
from docgen.sources import SourceError
from docgen.symbols import Library
from docgen.texts import (
    SHIPPED,
    SUFFIX,
    Prewritten,
    TextsError,
    file_name,
    prewritten,
    read_texts,
    text_files,
    write_texts,
)
from sandbox.base import SandboxError
from sandbox.environments import cache_folder, site_packages


def _split(value: object) -> object:
    return value.split(",") if isinstance(value, str) else value


class ImportOptions(BaseModel):
    """Arguments of ``python -m docgen import``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Path = Field(description=f"<distribution>-<version>{SUFFIX}; the key can be left out")


class PackageOptions(BaseModel):
    """Arguments of ``python -m docgen prompts``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    package: tuple[str, ...] = Field(description="import names, comma-separated")
    folder: Path | None = Field(None, description="folder that contains the packages")
    env: str = Field("live", description="sandbox environment that holds them, without folder")
    kinds: tuple[str, ...] = Field((), description="only symbols of these kinds, comma-separated")

    _packages = field_validator("package", "kinds", mode="before")(_split)


class ExportOptions(BaseModel):
    """Arguments of ``python -m docgen export``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    package: tuple[str, ...] = Field(description="import names, comma-separated")
    out: Path = Field(description="folder to write into, one file per distribution")
    runs: tuple[Path, ...] = Field((), description="finished texts of runs: docs.jsonl.written")
    folder: Path | None = Field(None, description="folder that contains the packages")
    env: str = Field("live", description="sandbox environment that holds them, without folder")

    _packages = field_validator("package", "runs", mode="before")(_split)


def import_texts(path: Path) -> Path:
    """Keep a file of texts with the imported ones; returns where.

    Raises
    ------
    docgen.texts.TextsError
        When it is damaged.
    """
    texts = read_texts(path)
    target = cache_folder() / "written" / path.name
    write_texts(target, texts)
    return target


def export_texts(
    library: Library, given: Prewritten, runs: Sequence[Path], out: Path
) -> list[Path]:
    """Write what fits the library, one file per distribution; runs have the last word."""
    texts = dict(given.texts)
    for path in runs:
        for text in Checkpoint(path).texts():
            symbol = library.symbols.get(text.qualname)
            mine = symbol is not None and source_hash(symbol) == text.source_hash
            if mine and text.writer != rules_writer.NAME:
                texts[text.qualname] = text
    written = []
    for distribution, version in library.versions.items():
        own = [t for n, t in texts.items() if library.symbols[n].package == distribution]
        if own:
            written.append(out / file_name(distribution, version))
            write_texts(written[-1], own)
    return written


def measured(library: Library, given: Prewritten, kinds: Sequence[str] = ()) -> str:
    """How many requests a run over the library takes, and how long they are.

    Symbols are grouped as in a run of one request at a time in which every one succeeds. What is
    told of a callee is its shipped text, or else its docstring.
    """
    wanted = {n for n, s in library.symbols.items() if not kinds or s.kind in kinds}
    texts = {name: text.text for name, text in given.texts.items()}
    prompter, groups = Prompter(library), list[list[str]]()
    schedule = Schedule(library, prompter, kept=lambda name: name not in wanted)
    released = schedule.start()
    while released or schedule:
        schedule.add(name for name in released if name in wanted)
        done = [name for name in released if name not in wanted]
        if not done:
            groups.append(schedule.next())
            done = groups[-1]
        released = [free for name in done for free in schedule.finish(name)]
    sizes = [len(prompter.build(group, texts)) + len(INSTRUCTIONS) for group in groups]
    count = sum(len(group) for group in groups)
    total = sum(sizes)
    return (
        f"{count} symbols in {len(groups)} requests: {total} characters, "
        f"{total / max(1, count):.0f} a symbol, the longest {max(sizes, default=0)}"
    )


def _read(options: PackageOptions | ExportOptions) -> tuple[Library, Prewritten]:
    try:
        folder = options.folder or site_packages(options.env)
        library = read_library(options.package, folder).public()
        files = text_files(library.versions, [SHIPPED, cache_folder() / "written"])
        return library, prewritten(library, files)
    except (SourceError, SandboxError, TextsError) as error:
        raise UsageError(str(error)) from error


def _import(options: ImportOptions) -> int:
    name = options.file.name
    if not name.endswith(SUFFIX) or "-" not in name:
        raise UsageError(f"file={options.file}: name it <distribution>-<version>{SUFFIX}")
    try:
        target = import_texts(options.file)
    except TextsError as error:
        raise UsageError(str(error)) from error
    print(f"{len(read_texts(target))} texts kept in {target}")
    return 0


def _export(options: ExportOptions) -> int:
    for path in options.runs:
        if not path.is_file():
            raise UsageError(f"runs={path}: no such file; a run keeps its texts in OUT.written")
    written = export_texts(*_read(options), options.runs, options.out)
    if not written:
        raise UsageError("no text of a model fits the installed packages: nothing to export")
    for path in written:
        print(f"{len(read_texts(path))} texts: {path}")
    return 0


def _prompts(options: PackageOptions) -> int:
    print(measured(*_read(options), options.kinds))
    return 0


def _import_command(arguments: Sequence[str]) -> int:
    given = [a if "=" in a or a.startswith("-") else f"file={a}" for a in arguments]
    return run("docgen import", str(__doc__), ImportOptions, _import, given)


def _export_command(arguments: Sequence[str]) -> int:
    return run("docgen export", str(__doc__), ExportOptions, _export, arguments)


def _prompts_command(arguments: Sequence[str]) -> int:
    return run("docgen prompts", str(__doc__), PackageOptions, _prompts, arguments)


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "import": _import_command,
    "export": _export_command,
    "prompts": _prompts_command,
}
