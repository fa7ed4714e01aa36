"""A configuration becomes a retriever."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from docgen.replies import Chat
from docgen.sources import SourceError
from docgen.texts import TextsError
from docgen.writer import WriteOptions
from indexes.chunks import QUESTION, code_corpus, document_corpus, official_doc_corpus
from indexes.corpus import Corpus, CorpusError, Manifest, stored
from indexes.embedding import EmbeddingError, HashingEmbedding
from indexes.live import OpenSandbox, live_corpus
from indexes.llm_doc import Writer, llm_doc_corpus
from indexes.semantic import semantic_corpus
from indexes.store import lexical_index
from retrieval.base import QuestionRetriever, RetrievalError, Retriever
from retrieval.config import RetrievalConfig, RetrievalConfigError, own_source, read_config
from retrieval.evidence import SymbolRanker
from retrieval.index import IndexRetriever
from retrieval.linking import Linker
from retrieval.package import PackageRanker
from retrieval.retriever import CorpusRetriever
from retrieval.scorers import (
    Ranker,
    Scorer,
    by_score,
    dense_scorer,
    fused,
    graph_scorer,
    lexical_scorer,
    per_property,
)

SYMBOLS = ("llm_doc", "live")  # sources with one document per symbol


async def get_retriever(
    config: Mapping[str, Any] | RetrievalConfig,
    *,
    packages: Sequence[str],
    site_packages: Path,
    writer: Chat | None,
    embedding: Embeddings | None,
    cache: Path,
    progress: bool,
    open_sandbox: OpenSandbox | None = None,
) -> Retriever | None:
    """Build what the configuration asks for; ``None`` for ``retrieval=none``.

    Parameters
    ----------
    packages
        Import names whose symbols are retrieved; none: from the text of each question.
    site_packages
        Folder that holds their source.
    writer
        Model that writes documentation which is not cached yet; ``None``: documents by facts.
    embedding
        For ``mode=dense`` and ``hybrid``.
    cache
        Root of the caches.
    progress
        Whether to show progress on stderr.
    open_sandbox
        Starts a sandbox in whose environment ``packages`` are installed; for ``source=live``,
        and only when that is not cached.

    Raises
    ------
    RetrievalError
        When a key or value is wrong, or the corpus or an index cannot be made.
    """
    settings = read_config(config)
    if settings.source == "none":
        return None
    if embedding is None and settings.default_embedding == "hashing":
        embedding = HashingEmbedding()

    async def over(corpus: Corpus) -> Retriever:
        try:
            scorer = await _scorer(settings, corpus, embedding, progress=progress)
        except (CorpusError, EmbeddingError) as error:
            raise RetrievalError(str(error)) from error
        linker = Linker(corpus.documents, corpus.aliases)
        ranker = _ranker(settings, scorer, corpus, linker)
        found = CorpusRetriever(settings.name, corpus, ranker, linker)
        if not settings.index:
            return found
        return IndexRetriever(found, settings.index_tokens, alone=settings.index == "alone")

    async def over_text(name: str, text: str) -> Retriever:
        return await over(document_corpus(name, text, cache))

    if not packages:
        return QuestionRetriever(settings.name, over_text)
    try:
        corpus = await _corpus(
            settings,
            packages,
            site_packages,
            writer=writer,
            cache=cache,
            embedding=embedding,
            progress=progress,
            open_sandbox=open_sandbox,
        )
    except (CorpusError, EmbeddingError, SourceError, TextsError) as error:
        raise RetrievalError(str(error)) from error
    return await over(corpus)


async def _corpus(
    settings: RetrievalConfig,
    packages: Sequence[str],
    site_packages: Path,
    *,
    writer: Chat | None,
    cache: Path,
    embedding: Embeddings | None,
    progress: bool,
    open_sandbox: OpenSandbox | None,
) -> Corpus:
    if settings.content != "written" and settings.source != "llm_doc":
        raise RetrievalConfigError(f"retrieval.content={settings.content} needs source llm_doc")
    if settings.source == "live":
        if open_sandbox is None:
            raise RetrievalConfigError("retrieval.source=live needs a sandbox to import in")
        return await live_corpus(
            packages, site_packages, open_sandbox=open_sandbox, cache=cache, show_progress=progress
        )
    if settings.source == "class":
        return _own_corpus(settings, packages, site_packages, cache=cache)
    if settings.source == "code":
        return code_corpus(packages, site_packages, cache=cache)
    if settings.source == "official_doc":
        return official_doc_corpus(packages, site_packages, cache=cache)
    options = settings.writer
    author = Writer(
        writer,
        WriteOptions(**options.model_dump(include={"concurrency", "attempts", "max_calls"})),
        options.shipped,
        settings.content,
    )
    if settings.source == "llm_doc":
        return await llm_doc_corpus(
            packages, site_packages, writer=author, cache=cache, show_progress=progress
        )
    if embedding is None:
        raise RetrievalConfigError(
            "retrieval.source=llm_doc_semantic needs an embedding: embedding=openai or hashing"
        )
    return await semantic_corpus(
        packages,
        site_packages,
        writer=author,
        embedding=embedding,
        cache=cache,
        show_progress=progress,
    )


def _own_corpus(
    settings: RetrievalConfig, packages: Sequence[str], folder: Path, *, cache: Path
) -> Corpus:
    """The documents that a user's own function makes, stored under their content."""
    make, _ = own_source({"source": "class", "path": settings.path})
    try:
        made = settings.params if not inspect.isclass(make) else {}
        source: Any = make(**settings.params) if inspect.isclass(make) else make
        documents: list[Document] = list(source(packages, folder, **made))
    except (ImportError, LookupError, AttributeError, ValueError, OSError, TypeError) as error:
        raise RetrievalConfigError(f"retrieval.path={settings.path}: {error}") from error
    if not documents:
        raise RetrievalConfigError(f"retrieval.path={settings.path}: gave no documents")
    for number, document in enumerate(documents):
        unnamed = {"qualname": f"{settings.name}-{number}", "kind": "chunk", "covers": []}
        given = {"kind": "document"} if "qualname" in document.metadata else unnamed
        where = {"id": f"{settings.name}-{number}", "path": "", "package": "", "version": ""}
        document.metadata = {**where, **given, **document.metadata}
    content = json.dumps([[d.page_content, d.metadata] for d in documents], sort_keys=True)
    digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
    name = settings.name.replace(":", "_")
    manifest = Manifest(name, tuple(packages), {}, digest, None, {"documents": digest})
    return stored(cache, manifest, lambda: (documents, {}))


def _ranker(settings: RetrievalConfig, scorer: Scorer, corpus: Corpus, linker: Linker) -> Ranker:
    """Documents of symbols are ranked with what their structure tells; chunks as they score."""
    if settings.source in SYMBOLS and corpus.name != QUESTION:
        rank = SymbolRanker(scorer, corpus.documents, linker, settings.evidence).rank
        return PackageRanker(rank, corpus.documents, linker, settings.small_package).rank
    return by_score(scorer)


async def _scorer(
    settings: RetrievalConfig,
    corpus: Corpus,
    embedding: Embeddings | None,
    *,
    progress: bool,
) -> Scorer:
    if settings.mode != "lexical" and embedding is None:
        raise RetrievalConfigError(
            f"retrieval.mode={settings.mode} needs an embedding: embedding=openai or hashing"
        )
    scorers: list[Scorer] = []
    if settings.mode in {"lexical", "hybrid"}:
        scorers.append(lexical_scorer(lexical_index(corpus)))
    if settings.mode in {"dense", "hybrid"} and embedding is not None:
        from indexes.dense import dense_index  # noqa: PLC0415 - chromadb takes seconds to import

        scorers.append(dense_scorer(await dense_index(corpus, embedding, show_progress=progress)))
    if settings.mode == "graph" and (settings.source not in SYMBOLS or corpus.name == QUESTION):
        raise RetrievalConfigError(
            f"retrieval.mode=graph needs documents of symbols: source {' or '.join(SYMBOLS)}, "
            f"not {settings.source}"
        )
    if settings.mode == "graph" and embedding is not None:
        from indexes.graph import graph_index  # noqa: PLC0415 - so does LightRAG

        graph = await graph_index(corpus, embedding)
        scorers.append(graph_scorer(graph, settings.graph.mode, corpus.documents))
    scorer = scorers[0] if len(scorers) == 1 else fused(scorers)
    return per_property(scorer) if settings.per_property else scorer
