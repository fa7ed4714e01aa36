"""Write the documentation of packages: one JSON line per symbol, resumable.

Other commands, each with ``--help``: ``check`` runs the examples, ``review`` lists what writers
suspect, ``import`` and ``export`` share texts, ``prompts`` measures what would be asked.

``python -m docgen package=pymatgen.analysis.defects out=docs.jsonl`` documents a package of the
sandbox environment; ``folder=PATH`` reads it from another folder (site-packages, a checkout).
Every finished text is kept beside ``out``: the same command resumes after an interruption, asks
nothing twice, and after an upgrade writes only the symbols that changed. Texts that were shipped or
imported are used where the source is still the same.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

from docgen import rules_writer
from docgen.chat import open_model
from docgen.checkpoint import Checkpoint
from docgen.facts import render_document, render_facts
from docgen.library import read_library
from docgen.prompts import VERSION, item_hash
from docgen.sources import SourceError
from docgen.symbols import Library
from docgen.texts import SHIPPED, TextsError, prewritten, render_text, text_files
from docgen.writer import WriteOptions, WriteReport, write_documentation
from sandbox.command import Commas, Group, UsageError, run
from sandbox.environments import cache_folder, site_packages

if TYPE_CHECKING:  # slow to import
    from langchain_core.language_models import BaseChatModel

_LISTED = 20  # names that a report line shows


class Options(BaseModel):
    """Arguments of ``python -m docgen``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    package: Annotated[tuple[str, ...], Commas] = Field(description="import names, comma-separated")
    out: Path = Field(description="JSONL file to write")
    folder: Path | None = Field(None, description="folder that contains the packages")
    env: str = Field("live", description="sandbox environment that holds them, without folder")
    private: bool = Field(False, description="document private symbols too")
    model: Group = Field(Group("rules"), description="who writes; its keys by model.KEY=VALUE")
    concurrency: PositiveInt = Field(8, description="requests in flight")
    attempts: PositiveInt = Field(3, description="tries per symbol")
    backoff: float = Field(1.0, ge=0, description="seconds before the second try, then doubling")
    max_calls: PositiveInt | None = Field(None, description="stop after this many requests")
    max_cost_usd: PositiveFloat | None = Field(None, description="stop at this cost in US dollars")
    shipped: bool = Field(True, description="use texts that were shipped or imported")
    rewrite: bool = Field(False, description="write again what an older prompt wrote")


def written_path(out: Path) -> Path:
    """Where the finished texts of ``out`` are kept."""
    return out.with_name(f"{out.name}.written")


def write_output(out: Path, library: Library, report: WriteReport) -> None:
    """One line per finished symbol, with where it comes from; replaces ``out`` at once."""
    rows = (
        {
            "qualname": name,
            "kind": symbol.kind,
            "package": symbol.package,
            "version": symbol.version,
            "path": symbol.path,
            "lines": [symbol.first_line, symbol.last_line],
            "item_hash": item_hash(symbol, report.sources[name].prompt),
            "source_hash": report.sources[name].source_hash,
            "prompt": report.sources[name].prompt,
            "writer": report.sources[name].writer,
            "date": report.sources[name].date,
            "text": render_document(render_facts(symbol), render_text(report.sources[name])),
        }
        for name, symbol in library.symbols.items()
        if name in report.texts
    )
    fresh = out.with_name(f".{out.name}.new")
    with fresh.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    fresh.replace(out)


def _documented(out: Path) -> set[str]:
    """Symbols of an earlier run's file; none when it is not there or is no such file."""
    try:
        with out.open(encoding="utf-8") as stream:
            return {str(json.loads(line)["qualname"]) for line in stream}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def summary(
    library: Library, report: WriteReport, checkpoint: Path | None, before: Set[str] = frozenset()
) -> str:
    """What was done, in words; ``before`` are the symbols of the file that was replaced."""
    cost = "unknown" if report.cost_usd is None else f"${report.cost_usd:.4f}"
    count = report.unanswered
    failed = f" ({count} failed: their cost is unknown)" if count else ""
    done = f"{len(report.texts)} of {len(library.symbols)} symbols documented"
    shipped = f", {len(report.shipped)} shipped or imported" if report.shipped else ""
    tokens = f"{_known(report.prompt_tokens)} + {_known(report.completion_tokens)}"
    lines = [
        f"{done}: {len(report.written)} written, {len(report.reused)} kept{shipped}",
        f"{report.calls} requests{failed}, tokens {tokens}, cost {cost}",
    ]
    if report.older:
        lines.append(
            f"from an older prompt than {VERSION} (rewrite=true writes them again): "
            f"{_names(report.older)}"
        )
    if report.changed:
        lines.append(f"changed since they were last written: {_names(report.changed)}")
    if before and (new := sorted(report.texts.keys() - before)):
        lines.append(f"new: {_names(new)}")
    if gone := sorted(before - library.symbols.keys()):
        lines.append(f"no longer there: {_names(gone)}")
    if library.unreadable:
        told = [f"{path} ({why})" for path, why in library.unreadable.items()]
        lines.append(f"not Python, left out: {_names(told)}")
    lines += [f"failed: {name}: {reason}" for name, reason in list(report.failed.items())[:_LISTED]]
    if len(report.failed) > _LISTED:
        lines.append(f"... and {len(report.failed) - _LISTED} more failed")
    if report.blocked:
        lines.append(f"not written because they build on those: {_names(list(report.blocked))}")
    if report.stopped:
        lines.append(f"stopped: {report.stopped}; {len(report.pending)} not reached")
    if not report.complete:
        lines.append(
            f"finished texts are kept in {checkpoint}; the same command resumes"
            if checkpoint
            else "the same command tries again"
        )
    return "\n".join(lines)


def _known(count: int | None) -> str:
    return "unknown" if count is None else str(count)


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_LISTED])
    return shown if len(names) <= _LISTED else f"{shown}, and {len(names) - _LISTED} more"


async def _action(options: Options) -> int:
    library = read_library(options.package, options.folder or site_packages(options.env))
    try:
        return await _document(options, library if options.private else library.public())
    except OSError as error:
        raise UsageError(f"out={options.out}: {error.strerror or error}") from error


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Keep a second run from asking for the same texts."""
    if out.is_dir():
        raise UsageError(f"out={out}: is a folder; name a file in it")
    out.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(out.with_name(f".{out.name}.lock"), timeout=0)
    try:
        held = lock.acquire()
    except Timeout:
        raise UsageError(f"out={out}: another run is writing it; wait for it") from None
    with held:
        yield


async def _document(options: Options, library: Library) -> int:
    # docgen.writer tries again itself, symbol by symbol.
    opened = open_model(
        replace(options.model, overrides={"max_retries": 0, **options.model.overrides}),
        concurrency=options.concurrency,
        priced=options.max_cost_usd is not None,
    )
    async with opened as model:
        with _alone(options.out):
            return await _write(options, library, model)


async def _write(options: Options, library: Library, model: BaseChatModel) -> int:
    name = str(model.name)
    checkpoint = Checkpoint(None if name == rules_writer.NAME else written_path(options.out))
    folders = [SHIPPED, cache_folder() / "written"]
    given = prewritten(library, text_files(library.versions, folders) if options.shipped else [])
    report = await write_documentation(
        library,
        model,
        model_name=name,
        checkpoint=checkpoint,
        options=WriteOptions(
            concurrency=options.concurrency,
            attempts=options.attempts,
            backoff=options.backoff,
            max_calls=options.max_calls,
            max_cost_usd=options.max_cost_usd,
            rewrite=options.rewrite,
        ),
        given=given,
        show_progress=True,
    )
    before = _documented(options.out)
    write_output(options.out, library, report)
    print(summary(library, report, checkpoint.path, before))
    if given.outdated:
        print(f"changed since they were shipped or imported: {_names(given.outdated)}")
    return 0 if report.complete else 1


#: Modules of the other commands, imported when they are asked for.
_COMMANDS = {
    "check": ".check",
    "review": ".review",
    "import": ".share",
    "export": ".share",
    "prompts": ".share",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m docgen``."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in _COMMANDS:
        module = import_module(_COMMANDS[given[0]], __package__)
        command = module.COMMANDS[given[0]] if hasattr(module, "COMMANDS") else module.main
        return int(command(given[1:]))
    errors = (SourceError, TextsError)
    return run("docgen", str(__doc__), Options, _action, given, errors=errors)


if __name__ == "__main__":
    sys.exit(main())
