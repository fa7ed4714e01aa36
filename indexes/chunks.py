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
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path, PurePosixPath

import numpy as np

from docgen import render
from docgen.library import build_library
from docgen.sources import (
    SourceFile,
    distribution_versions,
    read_sources,
    sources_digest,
)
from docgen.symbols import Chunk, Entry, Library, Symbol
from foundation.progress import meter
from indexes import RetrievalError
from indexes.corpus import Corpus, Made, Manifest, stored_together
from indexes.vectors import Embedding

CHUNK_SIZE, CHUNK_OVERLAP = 1000, 50
PERCENTILE, BUFFER = 95.0, 1
QUESTION = "question"  # source of a text that comes with one
#: In a written text: what names related symbols.
_RELATIONS = re.compile(r"^## Relations\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_BOUNDARY = re.compile(r"(?<=[.?!])\s+|\n+\s*")


Marked = tuple[SourceFile, Sequence[tuple[int, str]]]
"""What is split; where in its text which symbol begins: offsets and qualified names, sorted."""


async def package_corpus(
    source: str, packages: Sequence[str], folder: Path, *, cache: Path
) -> Corpus:
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

    async def make() -> Made:
        library = build_library(files).public()
        marked = _code if source == "code" else _docstrings
        return split([marked(file, library) for file in files], source), library.aliases

    return await stored_together(cache, wanted, make)


async def document_corpus(name: str, text: str, cache: Path) -> Corpus:
    """The chunks of a text; each is looked up by the text's name and its number."""
    digest = hashlib.sha256(f"{name}\0{text}".encode("utf-8", "replace")).hexdigest()
    manifest = Manifest(QUESTION, (), {}, digest, None, {"text": digest})

    async def make() -> Made:
        whole = SourceFile(name, name, "", None, text, is_package=False)
        chunks = []
        for number, chunk in enumerate(split([(whole, ())], QUESTION), 1):
            part = f"{Path(name).stem}.part{number}"
            chunks.append(replace(chunk, qualname=part, covers=(part,)))
        return chunks, {}

    return await stored_together(cache, manifest, make)


def split(texts: Iterable[Marked], corpus: str) -> list[Chunk]:
    """Chunks of texts, of one size."""
    # takes half a second to import
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # noqa: PLC0415

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=CHUNK_SIZE, chunk_overlap=CHUNK_OVERLAP, add_start_index=True
    )
    chunks: list[Chunk] = []
    for marked in texts:
        for number, part in enumerate(splitter.create_documents([marked[0].text])):
            start = int(part.metadata["start_index"])
            end = start + len(part.page_content)
            chunks.append(chunk_of(marked, corpus, number, start, end))
    return chunks


def chunk_of(marked: Marked, corpus: str, number: int, start: int, end: int) -> Chunk:
    """The chunk ``[start, end)`` of a text; ``covers`` lists the symbols that begin there."""
    source, marks = marked
    offsets = [offset for offset, _ in marks]
    first, last = bisect.bisect_left(offsets, start), bisect.bisect_left(offsets, end)
    covers = [name for _, name in marks[first:last]]
    if not covers and first:
        covers = [marks[first - 1][1]]  # the middle of a long definition
    text = source.text[start:end].strip()
    indexed = _RELATIONS.sub("", text)
    return Chunk(
        id=f"{corpus}:{source.path}:{number}",
        qualname=covers[0] if len(covers) == 1 else source.module,
        text=text,
        path=source.path,
        package=source.package,
        version=source.version,
        corpus=corpus,
        covers=tuple(covers),
        indexed=None if indexed == text else indexed,
    )


def _code(source: SourceFile, library: Library) -> Marked:
    # not splitlines(): a form feed ends no line of Python
    starts = [0, *accumulate(len(line) + 1 for line in source.text.split("\n"))]
    marks = sorted(
        (starts[min(symbol.first_line - 1, len(starts) - 1)], symbol.qualname)
        for symbol in library.symbols.values()
        if symbol.path == source.path and symbol.kind != "module"
    )
    return source, marks


def _docstrings(source: SourceFile, library: Library) -> Marked:
    """The API reference of a module: every signature with its docstring, in source order."""
    symbols = [s for s in library.symbols.values() if s.path == source.path]
    symbols.sort(key=lambda s: (s.kind != "module", s.first_line, s.qualname))
    parts = []
    for symbol in symbols:
        heading = symbol.qualname
        if symbol.signature is not None:
            heading += render.signature_text(symbol.signature)
        text = f"{heading}\n\n{symbol.docstring}\n\n".replace("\n\n\n\n", "\n\n")
        parts.append((symbol.qualname, text))
    return _joined(source, parts)


def _joined(source: SourceFile, parts: Sequence[tuple[str, str]]) -> Marked:
    """A text made of those of symbols."""
    names, texts = [name for name, _ in parts], [text for _, text in parts]
    starts = accumulate(map(len, texts), initial=0)
    return replace(source, text="".join(texts)), list(zip(starts, names, strict=False))


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
        texts = _module_texts(whole.entries)
        chunks: list[Chunk] = []
        with meter("Semantic chunks", len(texts), show=show_progress) as progress:
            for text in texts:
                chunks += await _chunks(text, embedding)
                progress.advance()
        return chunks, whole.aliases

    return await stored_together(cache, wanted, make)


def sentences(text: str) -> list[str]:
    """Sentences with the white space after them; joined they give the text."""
    ends = [match.end() for match in _BOUNDARY.finditer(text)]
    starts = [0, *ends]
    return [text[a:b] for a, b in zip(starts, [*ends, len(text)], strict=True) if a < b]


def breakpoints(
    vectors: Sequence[Sequence[float]], percentile: float = PERCENTILE
) -> list[int]:
    """Sentences after which a chunk ends; vectors have shape ``(sentences, dimensions)``."""
    matrix = np.asarray(vectors, dtype=float)
    if len(matrix) < 2:
        return []
    lengths = np.linalg.norm(matrix, axis=1)
    dots = np.einsum("ij,ij->i", matrix[:-1], matrix[1:])
    scale = lengths[:-1] * lengths[1:]
    distances = 1 - np.divide(dots, scale, out=np.zeros_like(dots), where=scale > 0)
    return [
        int(i) for i in np.flatnonzero(distances > np.percentile(distances, percentile))
    ]


def _module_texts(entries: Sequence[Entry]) -> list[Marked]:
    """The written texts of each source file as one, every symbol under its name."""
    by_path: dict[str, list[Symbol]] = {}
    for entry in entries:
        if isinstance(entry, Symbol):
            by_path.setdefault(entry.path, []).append(entry)
    texts: list[Marked] = []
    for path, symbols in sorted(by_path.items()):
        symbols.sort(key=lambda s: (s.kind != "module", s.first_line, s.last_line))
        parts = [
            (s.qualname, f"# {s.qualname}\n{render.prose(s)}\n\n") for s in symbols
        ]
        file = PurePosixPath(path).with_suffix("")
        module = ".".join(file.parts).removesuffix(".__init__")
        first = symbols[0]
        source = SourceFile(
            module, path, first.package, first.version, text="", is_package=False
        )
        texts.append(_joined(source, parts))
    return texts


async def _chunks(marked: Marked, embedding: Embedding) -> list[Chunk]:
    parts = sentences(marked[0].text)
    windows = [
        "".join(parts[max(0, i - BUFFER) : i + BUFFER + 1]) for i in range(len(parts))
    ]
    try:
        vectors = await embedding.embed(windows)
    except Exception as error:
        raise RetrievalError(f"embedding sentences failed: {error}") from error
    ends = [0, *accumulate(map(len, parts))]
    cuts = sorted({0, *(ends[i + 1] for i in breakpoints(vectors)), ends[-1]})
    chunks: list[Chunk] = []
    for start, end in pairwise(cuts):
        chunk = chunk_of(marked, "llm_doc_semantic", len(chunks), start, end)
        chunks += [chunk] if chunk.text else []
    return chunks
