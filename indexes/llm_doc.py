"""The ``llm_doc`` source: one written document per symbol.

What :mod:`docgen.texts` holds about the installed source is used, the rest is written now.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document

from docgen import prompts, rules_writer
from docgen.checkpoint import Checkpoint
from docgen.facts import render_document, render_facts
from docgen.library import build_library
from docgen.sources import (
    SourceError,
    SourceFile,
    distribution_versions,
    read_sources,
    sources_digest,
)
from docgen.symbols import Library, Symbol
from docgen.texts import (
    SHIPPED,
    Prewritten,
    Text,
    TextsError,
    files_digest,
    prewritten,
    render_text,
    text_files,
)
from docgen.writer import WriteOptions, WriteReport, write_documentation
from indexes.corpus import (
    Corpus,
    CorpusError,
    Manifest,
    building_together,
    corpus_folder,
    read_corpus,
    write_corpus,
)

if TYPE_CHECKING:  # slow to import
    from langchain_core.language_models import BaseChatModel

_log = logging.getLogger(__name__)
_LISTED = 5  # names that a message shows


@dataclass(frozen=True)
class Writer:
    """The model that writes documentation.

    Attributes
    ----------
    accept_missing
        Whether symbols that the model failed to document get a document of facts only;
        otherwise building the corpus fails.
    shipped
        Whether texts that were shipped or imported are used.
    """

    model: BaseChatModel
    name: str
    options: WriteOptions = field(default_factory=WriteOptions)
    accept_missing: bool = False
    shipped: bool = True


async def llm_doc_corpus(
    packages: Sequence[str], folder: Path, *, writer: Writer, cache: Path, show_progress: bool
) -> Corpus:
    """The corpus of ``packages`` as installed below ``folder``; built when not cached.

    Raises
    ------
    CorpusError
        When a package is missing, a file of texts is damaged, or the model did not document every
        symbol.
    """
    sources = package_sources(packages, folder)
    versions = distribution_versions(sources)
    files = text_files(versions, written_folders(cache)) if writer.shipped else []
    wanted = Manifest(
        source="llm_doc",
        packages=tuple(packages),
        versions=versions,
        sources_digest=sources_digest(sources),
        writer=writer.name,
        settings={"prompt": prompts.VERSION, "written": files_digest(files)},
    )
    async with building_together(corpus_folder(cache, wanted)):
        cached = read_corpus(cache, wanted)
        if cached is not None:
            return cached
        if show_progress:
            _log.info("reading the source of %s", ", ".join(packages))
        library = build_library(sources).public()
        given = _prewritten(library, files, writer.name)
        free = writer.name == rules_writer.NAME
        checkpoint = Checkpoint(None if free else checkpoint_path(cache, packages, writer.name))
        report = await write_documentation(
            library,
            writer.model,
            model_name=writer.name,
            checkpoint=checkpoint,
            options=writer.options,
            given=given,
            show_progress=show_progress,
        )
        _demand_complete(report, writer, checkpoint.path)
        documents = symbol_documents(library, report.sources, corpus="llm_doc")
        return write_corpus(cache, wanted, documents, library.aliases)


def package_sources(packages: Sequence[str], folder: Path) -> list[SourceFile]:
    """Source files, with a missing package as :class:`CorpusError`."""
    try:
        return read_sources(packages, folder)
    except SourceError as error:
        raise CorpusError(str(error)) from error


def written_folders(cache: Path) -> list[Path]:
    """Where texts are that need not be written: the shipped ones, and the imported ones."""
    return [SHIPPED, cache / "written"]


def _prewritten(library: Library, files: Sequence[Path], writer: str) -> Prewritten:
    try:
        given = prewritten(library, files)
    except TextsError as error:
        raise CorpusError(str(error)) from error
    if given.outdated:
        shown = [*given.outdated[:_LISTED], *(["..."] if len(given.outdated) > _LISTED else [])]
        _log.warning(
            "%d of %d documented symbols have changed since and are written by %s: %s",
            len(given.outdated),
            len(given.outdated) + len(given.texts),
            writer,
            ", ".join(shown),
        )
    return given


def checkpoint_path(cache: Path, packages: Sequence[str], writer: str) -> Path:
    """Where written texts are kept; shared by all versions of the packages."""
    name = "-".join([*packages, writer]).replace("/", "_")
    return cache / "corpora" / "written" / f"{name}.jsonl"


def symbol_documents(library: Library, texts: Mapping[str, Text], *, corpus: str) -> list[Document]:
    """One document per symbol; where no text was written the document says so."""
    return [_document(symbol, texts.get(name), corpus) for name, symbol in library.symbols.items()]


def _document(symbol: Symbol, text: Text | None, corpus: str) -> Document:
    content = render_text(text) if text is not None else "(no documentation was written)"
    return Document(
        page_content=render_document(render_facts(symbol), content),
        metadata={
            **symbol_metadata(symbol, corpus),
            "writer": text.writer if text is not None else None,
            "written": text.date if text is not None else None,
            "prompt": text.prompt if text is not None else None,
            "example": text.example if text is not None else None,
        },
    )


def symbol_metadata(symbol: Symbol, corpus: str) -> dict[str, Any]:
    """What a document carries beside its text; see :class:`retrieval.base.Retriever`."""
    return {
        "id": f"{corpus}:{symbol.qualname}",
        "qualname": symbol.qualname,
        "kind": symbol.kind,
        "path": symbol.path,
        "lines": [symbol.first_line, symbol.last_line],
        "package": symbol.package,
        "version": symbol.version,
        "corpus": corpus,
        "import_path": symbol.import_path,
        "bases": list(symbol.bases),
        "calls": list(symbol.calls),
        "types": list(symbol.types),
        "returns": symbol.returns,
        "members": [member.qualname for member in symbol.members],
    }


def _demand_complete(report: WriteReport, writer: Writer, checkpoint: Path | None) -> None:
    if report.complete:
        return
    missing = len(report.failed) + len(report.blocked) + len(report.pending)
    name, reason = next(iter(report.failed.items()), ("", report.stopped or ""))
    story = (
        f"{missing} symbols are not documented: {len(report.failed)} failed, "
        f"{len(report.blocked)} build on those, {len(report.pending)} were not reached"
        + (f" ({report.stopped})" if report.stopped else "")
        + (f"; first failure: {name}: {reason}" if name else "")
    )
    if writer.accept_missing and report.stopped is None:
        _log.warning("%s; they get only their facts", story)
        return
    raise CorpusError(
        f"{story}. {len(report.texts)} are kept in {checkpoint}; "
        "the same command resumes. To do without the missing ones: "
        "retrieval.writer.accept_missing=true"
    )
