"""The source ``llm_doc_semantic``: model-written documentation in semantic chunks.

Sentences are embedded together with their neighbours; a chunk ends where the distance to the next
sentence is among the largest 5 % of a module.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from docgen.facts import SEPARATOR
from indexes.chunks import Text, chunk_metadata
from indexes.corpus import Corpus, Made, Manifest, stored_together
from indexes.embedding import EmbeddingError, embedding_name
from indexes.llm_doc import Writer, llm_doc_corpus
from matsmith.core.progress import meter

PERCENTILE = 95.0
BUFFER = 1
_BOUNDARY = re.compile(r"(?<=[.?!])\s+|\n+\s*")


async def semantic_corpus(
    packages: Sequence[str],
    folder: Path,
    *,
    writer: Writer,
    embedding: Embeddings,
    cache: Path,
    show_progress: bool,
) -> Corpus:
    """Semantic chunks of the ``llm_doc`` texts, module by module."""
    whole = await llm_doc_corpus(
        packages, folder, writer=writer, cache=cache, show_progress=show_progress
    )
    made = whole.manifest
    wanted = Manifest(
        source="llm_doc_semantic",
        packages=made.packages,
        versions=made.versions,
        sources_digest=made.documents_digest,
        writer=made.writer,
        settings={
            "percentile": PERCENTILE,
            "buffer": BUFFER,
            "embedding": embedding_name(embedding),
        },
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
        first = members[0].metadata
        texts.append(
            Text(
                content,
                path.removesuffix(".py").removesuffix("/__init__").replace("/", "."),
                path,
                first["package"],
                first["version"],
                marks,
            )
        )
    return texts


async def _chunks(text: Text, embedding: Embeddings) -> list[Document]:
    parts = sentences(text.content)
    windows = ["".join(parts[max(0, i - BUFFER) : i + BUFFER + 1]) for i in range(len(parts))]
    try:
        vectors = await embedding.aembed_documents(windows)
    except Exception as error:
        raise EmbeddingError(f"embedding sentences failed: {error}") from error
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
