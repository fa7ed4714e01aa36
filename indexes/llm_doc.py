"""The ``llm_doc`` source: one written document per symbol.

What :mod:`docgen.texts` holds about the installed source is used, the rest is written now.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from docgen.facts import NAME as FACTS
from docgen.facts import contents
from docgen.library import build_library
from docgen.sources import distribution_versions, read_sources, sources_digest
from docgen.symbols import Library
from docgen.texts import (
    Checkpoint,
    WrittenText,
    examples,
    files_digest,
    prewritten,
    text_files,
)
from docgen.writer import WriteReport, write_documentation
from docgen.writing import Content, WriteOptions, WriterModel
from indexes import RetrievalError
from indexes.corpus import Corpus, Made, Manifest, stored_together

_log = logging.getLogger(__name__)
_LISTED = 5  # names that a message shows


@dataclass(frozen=True)
class Writer:
    """Who writes documentation.

    Attributes
    ----------
    model
        ``None``: documents are made of facts, which needs no model and costs nothing.
    content
        What documents hold; see :func:`docgen.facts.contents`.
    """

    model: WriterModel | None = None
    options: WriteOptions = field(default_factory=WriteOptions)
    content: Content = "written"

    @property
    def name(self) -> str:
        """Under which texts are stored."""
        return FACTS if self.model is None else self.model.name


async def llm_doc_corpus(
    packages: Sequence[str],
    folder: Path,
    *,
    writer: Writer,
    cache: Path,
    show_progress: bool,
) -> Corpus:
    """The corpus of ``packages`` as installed below ``folder``; built when not cached.

    Raises
    ------
    SourceError, TextsError, RetrievalError
        When a package is missing, a file of texts is damaged, or the model did not document every
        symbol.
    """
    sources = read_sources(packages, folder)
    versions = distribution_versions(sources)
    files = text_files(versions, cache) if writer.options.shipped else []
    tried = text_files(versions, cache, "examples")
    settings = {"written": files_digest(files)}
    if writer.content != "written":
        settings |= {"content": writer.content, "examples": files_digest(tried)}
    wanted = Manifest(
        source="llm_doc",
        packages=tuple(packages),
        versions=versions,
        sources_digest=sources_digest(sources),
        writer=writer.name,
        settings=settings,
    )

    async def make() -> Made:
        if show_progress:
            _log.info("reading the source of %s", ", ".join(packages))
        library = build_library(sources).public()
        written = _prewritten(library, files, writer.name)
        if writer.model is not None:
            checkpoint = Checkpoint(checkpoint_path(cache, packages, writer.name))
            report = await write_documentation(
                library,
                writer.model,
                checkpoint=checkpoint,
                options=writer.options,
                given=written,
                show_progress=show_progress,
            )
            _demand_complete(report, checkpoint.path)
            written = report.texts
        ran = {} if writer.content == "written" else examples(library, tried)
        symbols = contents(writer.content, library, written, ran)
        return [symbol.in_corpus("llm_doc") for symbol in symbols], library.aliases

    return await stored_together(cache, wanted, make)


def _prewritten(
    library: Library, files: Sequence[Path], writer: str
) -> Mapping[str, WrittenText]:
    given, outdated = prewritten(library, files)
    if outdated:
        shown = [*outdated[:_LISTED], *(["..."] if len(outdated) > _LISTED else [])]
        _log.warning(
            "%d of %d documented symbols have changed since and are written by %s: %s",
            len(outdated),
            len(outdated) + len(given),
            writer,
            ", ".join(shown),
        )
    return given


def checkpoint_path(cache: Path, packages: Sequence[str], writer: str) -> Path:
    """Where written texts are kept; shared by all versions of the packages."""
    name = "-".join([*packages, writer]).replace("/", "_")
    return cache / "corpora" / "written" / f"{name}.jsonl"


def _demand_complete(report: WriteReport, checkpoint: Path) -> None:
    if report.complete:
        return
    missing = len(report.failed) + len(report.blocked) + len(report.pending)
    name, reason = next(iter(report.failed.items()), ("", report.stopped or ""))
    raise RetrievalError(
        f"{missing} symbols are not documented: {len(report.failed)} failed, "
        f"{len(report.blocked)} build on those, {len(report.pending)} were not reached"
        + (f" ({report.stopped})" if report.stopped else "")
        + (f"; first failure: {name}: {reason}" if name else "")
        + f". {len(report.texts)} are kept in {checkpoint}; the same command resumes"
    )
