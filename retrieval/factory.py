"""A configuration becomes a retriever."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Awaitable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from docgen.sources import SourceError
from docgen.symbols import Symbol
from docgen.texts import TextsError
from docgen.writing import WriterModel
from indexes import RetrievalError
from indexes.chunks import QUESTION, document_corpus, package_corpus, semantic_corpus
from indexes.corpus import Corpus, Made, Manifest, stored_together
from indexes.embedding import HashingEmbedding
from indexes.live import OpenSandbox, live_corpus
from indexes.llm_doc import Writer, llm_doc_corpus
from indexes.vectors import Embedding
from retrieval.base import QuestionRetriever, Retriever
from retrieval.config import RetrievalConfig, own_source
from retrieval.evidence import SymbolRanker
from retrieval.ranking import RankingMethod, ranked_by
from retrieval.reranker import Reranker, reranked
from retrieval.retriever import CorpusRetriever, IndexRetriever
from retrieval.scorers import Scorer, by_score, fused, graph_scorer, per_property

SYMBOLS = ("llm_doc", "live")  # sources with one document per symbol


@dataclass(frozen=True, kw_only=True)
class RetrieverFactory:
    """Makes what a configuration asks for.

    Attributes
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
    ranking
        Ranks documents in place of what their structure tells.
    reranker
        Puts the best documents into another order.
    """

    settings: RetrievalConfig
    packages: Sequence[str]
    site_packages: Path
    writer: WriterModel | None
    embedding: Embedding | None
    cache: Path
    progress: bool
    open_sandbox: OpenSandbox | None = None
    ranking: RankingMethod | None = None
    reranker: Reranker | None = None

    async def make(self) -> Retriever | None:
        """The retriever, ``None`` for ``retrieval=none``.

        Raises
        ------
        RetrievalError
            When the corpus or an index cannot be made of these settings.
        """
        if self.settings.source == "none":
            return None
        if not self.packages:
            return QuestionRetriever(
                self.settings.name,
                lambda name, text: self._over(document_corpus(name, text, self.cache)),
            )
        try:
            return await self._over(self._corpus())
        except (SourceError, TextsError) as error:
            raise RetrievalError(str(error)) from error

    async def _over(self, making: Awaitable[Corpus]) -> Retriever:
        """Documents of symbols are ranked with what their structure tells; chunks as they score."""
        corpus, settings = await making, self.settings
        symbols = settings.source in SYMBOLS and corpus.manifest.source != QUESTION
        scorer = await self._scorer(corpus, symbols=symbols)
        rank = by_score(scorer)
        if self.ranking is not None:
            rank = ranked_by(self.ranking, corpus, scorer)
        elif symbols:
            more = (settings.evidence, settings.small_package)
            documented = [e for e in corpus.entries if isinstance(e, Symbol)]
            rank = SymbolRanker(scorer, documented, corpus.table, *more).rank
        if self.reranker is not None:
            rank = reranked(rank, corpus, self.reranker)
        retriever = CorpusRetriever(settings.name, corpus, rank)
        if not settings.index:
            return retriever
        return IndexRetriever(
            retriever, settings.index_tokens, alone=settings.index == "alone"
        )

    async def _corpus(self) -> Corpus:
        settings, cache, shown = self.settings, self.cache, self.progress
        source, packages, folder = settings.source, self.packages, self.site_packages
        if settings.content != "written" and source != "llm_doc":
            raise RetrievalError(
                f"retrieval.content={settings.content} needs source llm_doc"
            )
        if source == "live":
            if self.open_sandbox is None:
                raise RetrievalError(
                    "retrieval.source=live needs a sandbox to import in"
                )
            begin = self.open_sandbox
            return await live_corpus(
                packages, folder, open_sandbox=begin, cache=cache, show_progress=shown
            )
        if source == "class":
            return await _own_corpus(settings, packages, folder, cache=cache)
        if source in {"code", "official_doc"}:
            return await package_corpus(source, packages, folder, cache=cache)
        writer = Writer(self.writer, settings.writer, settings.content)
        vectors = self._vectors() if source == "llm_doc_semantic" else None
        written = await llm_doc_corpus(
            packages, folder, writer=writer, cache=cache, show_progress=shown
        )
        if vectors is None:
            return written
        return await semantic_corpus(written, vectors, cache=cache, show_progress=shown)

    def _vectors(self) -> Embedding:
        settings = self.settings
        if self.embedding is None and settings.default_embedding == "hashing":
            return HashingEmbedding()
        if self.embedding is None:
            raise RetrievalError(
                f"retrieval={settings.name}, mode={settings.mode}: needs an embedding: "
                "embedding=openai or hashing"
            )
        return self.embedding

    async def _scorer(self, corpus: Corpus, *, symbols: bool) -> Scorer:
        """What a mode needs is imported with it: Chroma, LightRAG and scikit-learn take seconds."""
        mode = self.settings.mode
        scorers: list[Scorer] = []
        if mode in {"lexical", "hybrid"}:
            from indexes.lexical import lexical_index  # noqa: PLC0415

            scorers.append((await lexical_index(corpus)).scores)
        if mode in {"dense", "hybrid"}:
            from indexes.dense import dense_index  # noqa: PLC0415

            dense = await dense_index(
                corpus, self._vectors(), show_progress=self.progress
            )
            scorers.append(dense.scores)
        if mode == "graph":
            vectors = self._vectors()
            if not symbols:
                raise RetrievalError(
                    f"retrieval.mode=graph needs documents of symbols: source "
                    f"{' or '.join(SYMBOLS)}, not {self.settings.source}"
                )
            from indexes.graph import graph_index  # noqa: PLC0415

            graph = await graph_index(corpus, vectors)
            scorers.append(
                graph_scorer(graph, self.settings.graph.mode, len(corpus.entries))
            )
        scorer = scorers[0] if len(scorers) == 1 else fused(scorers)
        return per_property(scorer) if self.settings.per_property else scorer


async def _own_corpus(
    settings: RetrievalConfig, packages: Sequence[str], folder: Path, *, cache: Path
) -> Corpus:
    """The documents that a user's own function makes, stored under their content."""
    from retrieval.langchain import chunks_of  # noqa: PLC0415 -- slow to import

    make, _ = own_source({"source": "class", "path": settings.path})
    try:
        given = settings.params
        source: Any = make(**given) if inspect.isclass(make) else partial(make, **given)
        chunks = chunks_of(source(packages, folder), settings.name)
    except (
        ImportError,
        LookupError,
        AttributeError,
        ValueError,
        OSError,
        TypeError,
    ) as error:
        raise RetrievalError(f"retrieval.path={settings.path}: {error}") from error
    if not chunks:
        raise RetrievalError(f"retrieval.path={settings.path}: gave no documents")
    content = json.dumps([asdict(chunk) for chunk in chunks], sort_keys=True)
    digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
    name = settings.name.replace(":", "_")
    manifest = Manifest(name, tuple(packages), {}, digest, None, {"documents": digest})

    async def made_now() -> Made:
        return chunks, {}

    return await stored_together(cache, manifest, made_now)
