"""Texts as files between people, and what prompts would cost before they are asked.

``import FILE`` keeps a file where every corpus finds it; ``export`` writes what models wrote about
the installed packages, from the runs of ``python -m docgen`` (``runs=docs.jsonl.written``), shipped
and imported texts; ``prompts`` counts requests and characters of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from docgen import rules_writer
from docgen.checkpoint import Checkpoint
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
from sandbox.command import Command, Commas, UsageError, Word
from sandbox.environments import cache_folder, site_packages


class ImportOptions(BaseModel):
    """Arguments of ``python -m docgen import``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Annotated[Path, Word()] = Field(description=f"<distribution>-<version>{SUFFIX}")


class PackageOptions(BaseModel):
    """Arguments of ``python -m docgen prompts``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    package: Annotated[tuple[str, ...], Commas] = Field(description="import names, comma-separated")
    folder: Path | None = Field(None, description="folder that contains the packages")
    env: str = Field("live", description="sandbox environment that holds them, without folder")
    kinds: Annotated[tuple[str, ...], Commas] = Field(
        (), description="only symbols of these kinds, comma-separated"
    )


class ExportOptions(BaseModel):
    """Arguments of ``python -m docgen export``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    package: Annotated[tuple[str, ...], Commas] = Field(description="import names, comma-separated")
    out: Path = Field(description="folder to write into, one file per distribution")
    runs: Annotated[tuple[Path, ...], Commas] = Field(
        (), description="finished texts of runs: docs.jsonl.written"
    )
    folder: Path | None = Field(None, description="folder that contains the packages")
    env: str = Field("live", description="sandbox environment that holds them, without folder")


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
    folder = options.folder or site_packages(options.env)
    library = read_library(options.package, folder).public()
    return library, prewritten(
        library, text_files(library.versions, [SHIPPED, cache_folder() / "written"])
    )


def _import(options: ImportOptions) -> int:
    name = options.file.name
    if not name.endswith(SUFFIX) or "-" not in name:
        raise UsageError(f"file={options.file}: name it <distribution>-<version>{SUFFIX}")
    target = import_texts(options.file)
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


_ERRORS = (SourceError, TextsError)
COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "import": Command("docgen import", str(__doc__), ImportOptions, _import, _ERRORS),
    "export": Command("docgen export", str(__doc__), ExportOptions, _export, _ERRORS),
    "prompts": Command("docgen prompts", str(__doc__), PackageOptions, _prompts, _ERRORS),
}
