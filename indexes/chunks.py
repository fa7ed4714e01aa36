"""Texts split recursively: of a package (``code``, ``official_doc``), or of a question.

Published settings: 1000 characters with an overlap of 50.
"""

from __future__ import annotations

import bisect
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from docgen.library import build_library
from docgen.sources import SourceFile, distribution_versions, read_sources, sources_digest
from docgen.symbols import Library
from indexes.corpus import Corpus, Made, Manifest, stored

CHUNK_SIZE, CHUNK_OVERLAP = 1000, 50
QUESTION = "question"  # source of a text that comes with one


@dataclass(frozen=True)
class Text:
    """A text to be split, and where in it which symbol begins.

    Attributes
    ----------
    marks
        Pairs of character offset and qualified name, sorted.
    """

    content: str
    module: str
    path: str
    package: str
    version: str | None
    marks: Sequence[tuple[int, str]] = ()


def code_corpus(packages: Sequence[str], folder: Path, *, cache: Path) -> Corpus:
    """Chunks of the source code; a missing package is a `SourceError`."""
    return _chunked("code", _code_text, packages, folder, cache, {})


def official_doc_corpus(packages: Sequence[str], folder: Path, *, cache: Path) -> Corpus:
    """Chunks of the API reference, made from the docstrings as Sphinx does."""
    return _chunked("official_doc", _docstring_text, packages, folder, cache, {"pages": None})


def document_corpus(name: str, text: str, cache: Path) -> Corpus:
    """The chunks of a text; each is looked up by the text's name and its number."""
    digest = hashlib.sha256(f"{name}\0{text}".encode("utf-8", "replace")).hexdigest()
    manifest = Manifest(QUESTION, (), {}, digest, None, {"text": digest})

    def make() -> Made:
        documents = split([Text(text, name, name, "", None)], QUESTION)
        for number, document in enumerate(documents, 1):
            part = f"{Path(name).stem}.part{number}"
            document.metadata |= {"qualname": part, "covers": [part]}
        return documents, {}

    return stored(cache, manifest, make)


def _chunked(  # noqa: PLR0917 -- all of it is needed
    name: str,
    text_of: Callable[[SourceFile, Library], Text],
    packages: Sequence[str],
    folder: Path,
    cache: Path,
    extra: Mapping[str, Any],
) -> Corpus:
    sources = read_sources(packages, folder)
    wanted = Manifest(
        source=name,
        packages=tuple(packages),
        versions=distribution_versions(sources),
        sources_digest=sources_digest(sources),
        writer=None,
        settings={"chunk_size": CHUNK_SIZE, "chunk_overlap": CHUNK_OVERLAP, **extra},
    )

    def make() -> Made:
        library = build_library(sources).public()
        return split([text_of(source, library) for source in sources], name), library.aliases

    return stored(cache, wanted, make)


def split(texts: Iterable[Text], corpus: str) -> list[Document]:
    """Chunks with the metadata of a corpus; ``covers`` lists the symbols that begin in a chunk."""
    # takes half a second to import
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # noqa: PLC0415

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=CHUNK_SIZE, chunk_overlap=CHUNK_OVERLAP, add_start_index=True
    )
    documents: list[Document] = []
    for text in texts:
        for number, chunk in enumerate(splitter.create_documents([text.content])):
            start = int(chunk.metadata["start_index"])
            end = start + len(chunk.page_content)
            metadata = chunk_metadata(text, corpus, number, start, end)
            documents.append(Document(page_content=chunk.page_content, metadata=metadata))
    return documents


def chunk_metadata(text: Text, corpus: str, number: int, start: int, end: int) -> dict[str, Any]:
    """Metadata of the chunk ``[start, end)`` of a text."""
    offsets = [offset for offset, _ in text.marks]
    first, last = bisect.bisect_left(offsets, start), bisect.bisect_left(offsets, end)
    covers = [name for _, name in text.marks[first:last]]
    if not covers and first:
        covers = [text.marks[first - 1][1]]  # the middle of a long definition
    return {
        "id": f"{corpus}:{text.path}:{number}",
        "qualname": covers[0] if len(covers) == 1 else text.module,
        "kind": "chunk",
        "path": text.path,
        "package": text.package,
        "version": text.version,
        "corpus": corpus,
        "covers": covers,
    }


def _code_text(source: SourceFile, library: Library) -> Text:
    starts = [0]
    for line in source.text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    marks = sorted(
        (starts[min(symbol.first_line - 1, len(starts) - 1)], symbol.qualname)
        for symbol in library.symbols.values()
        if symbol.path == source.path and symbol.kind != "module"
    )
    return Text(source.text, source.module, source.path, source.package, source.version, marks)


def _docstring_text(source: SourceFile, library: Library) -> Text:
    """The API reference of a module: every signature with its docstring, in source order."""
    symbols = [s for s in library.symbols.values() if s.path == source.path]
    content = ""
    marks: list[tuple[int, str]] = []
    for symbol in sorted(symbols, key=lambda s: (s.kind != "module", s.first_line, s.qualname)):
        marks.append((len(content), symbol.qualname))
        heading = symbol.qualname
        if symbol.signature:
            heading = f"{symbol.qualname.rpartition('.')[0]}.{symbol.signature}"
        content += f"{heading}\n\n{symbol.docstring}\n\n".replace("\n\n\n\n", "\n\n")
    return Text(content, source.module, source.path, source.package, source.version, marks)
