"""Write the documentation of packages: one JSON line per symbol, resumable.

``matsmith docs check`` runs the examples, and keeps or shares texts; ``matsmith docs examples``
writes examples that run.

``matsmith docs package=pymatgen.analysis.defects out=docs.jsonl`` documents a package of the
sandbox environment; ``folder=PATH`` reads it from another folder (site-packages, a checkout).
Every finished text is kept beside ``out``: the same command resumes after an interruption, asks
nothing twice, and after an upgrade writes only the symbols that changed. Texts that were shipped or
imported are used where the source is still the same.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from pydoc import locate
from typing import Annotated, Any

from filelock import FileLock, Timeout
from pydantic import Field, PositiveFloat

from docgen import render
from docgen.facts import FactsWriter
from docgen.library import read_library
from docgen.symbols import Library, Symbol
from docgen.texts import (
    Checkpoint,
    documented,
    prewritten,
    source_hash,
    text_files,
)
from docgen.writer import WriteReport, open_writer, write_documentation
from docgen.writing import WriteOptions
from foundation.command import Command, Commas, Group
from foundation.errors import UsageError
from sandbox.environments import cache_folder, site_packages

#: They import the sandbox, which takes a moment.
_COMMANDS = {
    "check": "docgen.check.main",
    "examples": "docgen.examples.main",
}
_LISTED = 20  # names that a report line shows


class DocgenOptions(WriteOptions):
    """Arguments of ``matsmith docs``."""

    package: Annotated[tuple[str, ...], Commas] = Field(
        description="import names, comma-separated"
    )
    out: Path = Field(description="JSONL file to write")
    folder: Path | None = Field(None, description="folder that contains the packages")
    env: str = Field(
        "live", description="sandbox environment that holds them, without folder"
    )
    model: Group = Field(
        Group(""),
        description="who writes (none: by facts); its keys by model.KEY=VALUE",
    )
    max_cost_usd: PositiveFloat | None = Field(
        None, description="stop at this cost in US dollars"
    )


def write_output(out: Path, symbols: Iterable[Symbol]) -> None:
    """One line per documented symbol, with where it comes from; replaces ``out`` at once."""
    rows = (
        {
            "qualname": symbol.qualname,
            "source_hash": source_hash(symbol),
            "prompt": symbol.prompt,
            "writer": symbol.writer,
            "date": symbol.written,
            "text": render.document(symbol),
            "example": symbol.example,
            "kind": symbol.kind,
            "package": symbol.package,
            "version": symbol.version,
            "path": symbol.path,
            "lines": [symbol.first_line, symbol.last_line],
        }
        for symbol in symbols
    )
    fresh = out.with_name(f".{out.name}.new")
    with fresh.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    fresh.replace(out)


def summary(
    library: Library, report: WriteReport, checkpoint: Path | None
) -> Iterator[str]:
    """What was done, in lines."""
    cost = "unknown" if report.cost_usd is None else f"${report.cost_usd:.4f}"
    count = report.unanswered
    failed = f" ({count} failed: their cost is unknown)" if count else ""
    shipped = f", {len(report.shipped)} shipped or imported" if report.shipped else ""
    finished = len(report.shipped) + len(report.reused) + len(report.written)
    spent = (report.prompt_tokens, report.completion_tokens)
    tokens = " + ".join("unknown" if count is None else str(count) for count in spent)
    yield (
        f"{finished} of {len(library.symbols)} symbols documented: "
        f"{len(report.written)} written, {len(report.reused)} kept{shipped}"
    )
    yield f"{report.calls} requests{failed}, tokens {tokens}, cost {cost}"
    listed: dict[str, Sequence[str]] = {
        "not Python, left out": [
            f"{path} ({why})" for path, why in library.unreadable.items()
        ],
        "not written because they build on those": list(report.blocked),
    }
    yield from (f"{what}: {_names(names)}" for what, names in listed.items() if names)
    yield from (
        f"failed: {name}: {why}" for name, why in [*report.failed.items()][:_LISTED]
    )
    if len(report.failed) > _LISTED:
        yield f"... and {len(report.failed) - _LISTED} more failed"
    if report.stopped:
        yield f"stopped: {report.stopped}; {len(report.pending)} not reached"
    if not report.complete:
        yield f"finished texts are kept in {checkpoint}; the same command resumes"


def _names(names: Sequence[str]) -> str:
    listed = ", ".join(names[:_LISTED])
    return (
        listed
        if len(names) <= _LISTED
        else f"{listed}, and {len(names) - _LISTED} more"
    )


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


async def _action(options: DocgenOptions) -> int:
    library = read_library(
        options.package, options.folder or site_packages(options.env)
    ).public()
    files = text_files(library.versions, cache_folder()) if options.shipped else []
    given, outdated = prewritten(library, files)
    priced = options.max_cost_usd is not None
    opened = open_writer(options.model, concurrency=options.concurrency, priced=priced)
    try:
        async with opened as model:
            with _alone(options.out):
                checkpoint = None
                if model is None:  # facts where no model wrote a text
                    symbols = FactsWriter(library, given).all()
                    facts = [s.qualname for s in symbols if s.qualname not in given]
                    report = WriteReport(shipped=list(given), written=facts)
                else:
                    checkpoint = Checkpoint(
                        options.out.with_name(f"{options.out.name}.written")
                    )
                    report = await write_documentation(
                        library,
                        model,
                        checkpoint=checkpoint,
                        options=options,
                        max_cost_usd=options.max_cost_usd,
                        given=given,
                        show_progress=True,
                    )
                    symbols = [
                        documented(symbol, report.texts[name])
                        for name, symbol in library.symbols.items()
                        if name in report.texts
                    ]
                write_output(options.out, symbols)
    except OSError as error:
        raise UsageError(f"out={options.out}: {error.strerror or error}") from error
    print(*summary(library, report, checkpoint.path if checkpoint else None), sep="\n")
    if outdated:
        print(f"changed since they were shipped or imported: {_names(outdated)}")
    return 0 if report.complete else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``matsmith docs``."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in _COMMANDS:
        command: Any = locate(_COMMANDS[given[0]])
        return int(command(given[1:]))
    return Command("matsmith docs", str(__doc__), DocgenOptions, _action)(given)


if __name__ == "__main__":
    sys.exit(main())
