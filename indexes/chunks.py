"""Texts in chunks, of a package (``code``, ``official_doc``, ``llm_doc_semantic``) or a question.

Published settings: 1000 characters with an overlap of 50. Of semantic chunks, sentences are
embedded together with their neighbours; a chunk ends where the distance to the next sentence is
among the largest 5 % of a module.
"""

from __future__ import annotations

import bisect
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.documents import Document

from docgen.facts import SEPARATOR
from docgen.library import build_library
from docgen.sources import SourceFile, distribution_versions, read_sources, sources_digest
from docgen.symbols import Library
from indexes import RetrievalError
from indexes.corpus import Corpus, Made, Manifest, stored, stored_together
from indexes.embedding import Embedding
from matsmith.core.progress import meter

CHUNK_SIZE, CHUNK_OVERLAP = 1000, 50
PERCENTILE, BUFFER = 95.0, 1
QUESTION = "question"  # source of a text that comes with one
_BOUNDARY = re.compile(r"(?<=[.?!])\s+|\n+\s*")


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


def package_corpus(source: str, packages: Sequence[str], folder: Path, *, cache: Path) -> Corpus:
    """Chunks of ``code``, or of ``official_doc``, the API reference that docstrings make.

    A missing package is a `SourceError`.
    """
    files = read_sources(packages, folder)
    wanted = Manifest(
        source=source,
        packages=tuple(packages),
        versions=distribution_versions(files),
        sources_digest=sources_digest(files),
        writer=None,
        settings={},
    )

    def make() -> Made:
        library = build_library(files).public()
        text_of = _code_text if source == "code" else _docstring_text
        return split([text_of(file, library) for file in files], source), library.aliases

    return stored(cache, wanted, make)


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


async def semantic_corpus(
    whole: Corpus, embedding: Embedding, *, cache: Path, show_progress: bool
) -> Corpus:
    """Semantic chunks of the texts of an ``llm_doc`` corpus, module by module."""
    wanted = replace(
        whole.manifest,
        source="llm_doc_semantic",
        sources_digest=whole.manifest.documents_digest,
        settings={"embedding": embedding.name},
    )

    async def make() -> Made:
        texts = _module_texts(whole.documents)
        documents: list[Document] = []
        with meter("Semantic chunks", len(texts), show=show_progress) as progress:
            for text in texts:
                documents += await _chunks(text, embedding)
                progress.advance()
        return documents, whole.aliases

    return await stored_together(cache, wanted, make)


def sentences(text: str) -> list[str]:
    """Sentences with the white space after them; joined they give the text."""
    ends = [match.end() for match in _BOUNDARY.finditer(text)]
    starts = [0, *ends]
    return [text[a:b] for a, b in zip(starts, [*ends, len(text)], strict=True) if a < b]


def breakpoints(vectors: Sequence[Sequence[float]], percentile: float = PERCENTILE) -> list[int]:
    """Sentences after which a chunk ends; vectors have shape ``(sentences, dimensions)``."""
    matrix = np.asarray(vectors, dtype=float)
    if len(matrix) < 2:
        return []
    lengths = np.linalg.norm(matrix, axis=1)
    dots = np.einsum("ij,ij->i", matrix[:-1], matrix[1:])
    scale = lengths[:-1] * lengths[1:]
    distances = 1 - np.divide(dots, scale, out=np.zeros_like(dots), where=scale > 0)
    return [int(i) for i in np.flatnonzero(distances > np.percentile(distances, percentile))]


def _module_texts(documents: Sequence[Document]) -> list[Text]:
    """The written texts of each source file as one, every symbol under its name."""
    by_path: dict[str, list[Document]] = {}
    for document in documents:
        by_path.setdefault(document.metadata["path"], []).append(document)
    texts: list[Text] = []
    for path, members in sorted(by_path.items()):
        members.sort(key=lambda d: (d.metadata["kind"] != "module", d.metadata["lines"]))
        content = ""
        marks: list[tuple[int, str]] = []
        for document in members:
            marks.append((len(content), document.metadata["qualname"]))
            written = document.page_content.partition(f"\n{SEPARATOR}\n")[2]
            content += f"# {document.metadata['qualname']}\n{written.strip()}\n\n"
        first, module = members[0].metadata, path.removesuffix(".py").removesuffix("/__init__")
        place = (module.replace("/", "."), path, first["package"], first["version"])
        texts.append(Text(content, *place, marks))
    return texts


async def _chunks(text: Text, embedding: Embedding) -> list[Document]:
    parts = sentences(text.content)
    windows = ["".join(parts[max(0, i - BUFFER) : i + BUFFER + 1]) for i in range(len(parts))]
    try:
        vectors = await embedding.embed(windows)
    except Exception as error:
        raise RetrievalError(f"embedding sentences failed: {error}") from error
    ends = {*breakpoints(vectors), len(parts) - 1}
    documents: list[Document] = []
    start = position = 0
    for index, part in enumerate(parts):
        position += len(part)
        if index in ends:
            metadata = chunk_metadata(text, "llm_doc_semantic", len(documents), start, position)
            content = text.content[start:position].strip()
            if content:
                documents.append(Document(page_content=content, metadata=metadata))
            start = position
    return documents
