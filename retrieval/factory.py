"""A configuration becomes a retriever."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from docgen.writer import WriteOptions
from indexes.chunks import code_corpus, official_doc_corpus
from indexes.corpus import (
    Corpus,
    CorpusError,
    Manifest,
    building,
    corpus_folder,
    read_corpus,
    write_corpus,
)
from indexes.embedding import EmbeddingError, HashingEmbedding
from indexes.errors import GraphError
from indexes.live import OpenSandbox, live_corpus
from indexes.llm_doc import Writer, llm_doc_corpus
from indexes.semantic import semantic_corpus
from indexes.store import LexicalKind, lexical_index
from retrieval.base import RetrievalError, Retriever
from retrieval.config import RetrievalConfig, RetrievalConfigError, read_config
from retrieval.evidence import Evidence, SymbolRanker
from retrieval.linking import Linker
from retrieval.package import PackageRanker
from retrieval.rerank import ModelReranker
from retrieval.retriever import CorpusRetriever, Ranker
from retrieval.scorers import (
    DenseScorer,
    FusedScorer,
    GraphScorer,
    LexicalScorer,
    PerPropertyScorer,
    Scorer,
    ScoreRanker,
)

if TYPE_CHECKING:  # slow to import
    from langchain_core.language_models import BaseChatModel

SYMBOLS = ("llm_doc", "live")  # sources with one document per symbol


async def get_retriever(
    config: Mapping[str, Any] | RetrievalConfig,
    *,
    packages: Sequence[str],
    site_packages: Path,
    writer: BaseChatModel | None,
    writer_name: str,
    embedding: Embeddings | None,
    cache: Path,
    progress: bool,
    open_sandbox: OpenSandbox | None = None,
) -> Retriever | None:
    """Build what the configuration asks for; ``None`` for ``retrieval=none``.

    Parameters
    ----------
    packages
        Import names whose symbols are retrieved.
    site_packages
        Folder that holds their source.
    writer, writer_name
        Model that writes documentation which is not cached yet, and its name.
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
    RetrievalConfigError
        When a key or value is wrong.
    RetrievalError
        When the corpus or an index cannot be made.
    """
    settings = read_config(config)
    if settings.source == "none":
        return None
    if embedding is None and settings.default_embedding == "hashing":
        embedding = HashingEmbedding()
    try:
        corpus = await _corpus(
            settings,
            packages,
            site_packages,
            writer=writer,
            writer_name=writer_name,
            cache=cache,
            embedding=embedding,
            progress=progress,
            open_sandbox=open_sandbox,
        )
        scorer = await _scorer(settings, corpus, embedding, writer, writer_name, progress=progress)
    except (CorpusError, EmbeddingError, GraphError) as error:
        raise RetrievalError(str(error)) from error
    linker = Linker(corpus.documents, corpus.aliases)
    ranker = _ranker(settings, scorer, corpus, linker)
    return CorpusRetriever(
        settings.name,
        corpus,
        ranker,
        linker,
        tokens=settings.tokens,
        reranker=(
            ModelReranker(candidates=settings.candidates) if settings.rerank == "model" else None
        ),
    )


async def _corpus(
    settings: RetrievalConfig,
    packages: Sequence[str],
    site_packages: Path,
    *,
    writer: BaseChatModel | None,
    writer_name: str,
    cache: Path,
    embedding: Embeddings | None,
    progress: bool,
    open_sandbox: OpenSandbox | None,
) -> Corpus:
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
        return official_doc_corpus(packages, site_packages, cache=cache, pages=settings.pages)
    if writer is None:
        raise RetrievalConfigError(f"retrieval.source={settings.source} needs a model that writes")
    options = settings.writer
    author = Writer(
        writer,
        writer_name,
        WriteOptions(
            concurrency=options.concurrency,
            attempts=options.attempts,
            max_calls=options.max_calls,
        ),
        options.accept_missing,
        options.shipped,
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
    module, _, name = (settings.path or "").rpartition(".")
    try:
        make = getattr(importlib.import_module(module), name)
        documents: list[Document] = list(make(packages, folder))
    except (ImportError, AttributeError, ValueError, OSError, TypeError) as error:
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
    with building(corpus_folder(cache, manifest)):
        cached = read_corpus(cache, manifest)
        return cached or write_corpus(cache, manifest, documents, {})


def _ranker(settings: RetrievalConfig, scorer: Scorer, corpus: Corpus, linker: Linker) -> Ranker:
    """Documents of symbols are ranked with what their structure tells; chunks as they score."""
    if settings.source in SYMBOLS:
        evidence = Evidence(**settings.evidence.model_dump())
        ranker = SymbolRanker(scorer, corpus.documents, linker, evidence)
        return PackageRanker(ranker, corpus.documents, linker, settings.small_package)
    return ScoreRanker(scorer)


async def _scorer(
    settings: RetrievalConfig,
    corpus: Corpus,
    embedding: Embeddings | None,
    writer: BaseChatModel | None,
    writer_name: str,
    *,
    progress: bool,
) -> Scorer:
    if settings.mode != "lexical" and embedding is None:
        raise RetrievalConfigError(
            f"retrieval.mode={settings.mode} needs an embedding: embedding=openai or hashing"
        )
    scorers: list[Scorer] = []
    if settings.mode in {"lexical", "hybrid"}:
        kinds: tuple[LexicalKind, ...] = (
            ("tfidf", "bm25") if settings.lexical == "both" else (settings.lexical,)
        )
        scorers += [LexicalScorer(lexical_index(corpus, kind)) for kind in kinds]
    if settings.mode in {"dense", "hybrid"} and embedding is not None:
        from indexes.dense import dense_index  # noqa: PLC0415 - chromadb takes seconds to import

        scorers.append(DenseScorer(await dense_index(corpus, embedding, show_progress=progress)))
    if settings.mode == "graph" and settings.source not in SYMBOLS:
        raise RetrievalConfigError(
            f"retrieval.mode=graph needs documents of symbols: source {' or '.join(SYMBOLS)}, "
            f"not {settings.source}"
        )
    if settings.mode == "graph" and embedding is not None:
        from indexes.graph import graph_index  # noqa: PLC0415 - so does LightRAG

        graph = await graph_index(
            corpus,
            embedding,
            build=settings.graph.build,
            model=writer,
            model_name=writer_name,
            show_progress=progress,
        )
        scorers.append(GraphScorer(graph, settings.graph.mode, corpus.documents))
    scorer = scorers[0] if len(scorers) == 1 else FusedScorer(scorers)
    return PerPropertyScorer(scorer) if settings.per_property else scorer
