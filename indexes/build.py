"""Build a corpus and its indexes ahead of time.

``python -m indexes.build source=llm_doc lexical=tfidf,bm25 dense=true embedding=hashing``
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from langchain_core.embeddings import Embeddings
from pydantic import BaseModel, ConfigDict, Field, field_validator

from docgen.chat import open_model
from indexes.chunks import code_corpus, official_doc_corpus
from indexes.corpus import Corpus, CorpusError
from indexes.embedding import EmbeddingError, build_embedding
from indexes.errors import GraphError
from indexes.live import live_corpus
from indexes.llm_doc import Writer, llm_doc_corpus
from indexes.semantic import semantic_corpus
from indexes.store import LexicalKind, lexical_index
from sandbox.base import SandboxConfig
from sandbox.command import Group, UsageError, run
from sandbox.environments import cache_folder, site_packages
from sandbox.factory import get_sandbox


class Options(BaseModel):
    """Arguments of ``python -m indexes.build``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Literal["llm_doc", "llm_doc_semantic", "official_doc", "code", "live"] = Field(
        "llm_doc", description="llm_doc, llm_doc_semantic, official_doc, code or live"
    )
    packages: tuple[str, ...] = Field(
        ("pymatgen", "matminer", "robocrys", "phonopy"), description="import names"
    )
    env: str = Field("live", description="sandbox environment that holds the packages")
    folder: Path | None = Field(None, description="their folder, instead of env")
    pages: Path | None = Field(None, description="official_doc: folder with the documentation")
    lexical: tuple[LexicalKind, ...] = Field(("tfidf",), description="tfidf, bm25")
    dense: bool = Field(False, description="also a dense index (needs embedding)")
    graph: bool = Field(
        False, description="also a knowledge graph (llm_doc, live; needs embedding)"
    )
    model: Group = Field(
        Group("rules"), description="writer of missing documentation; its keys by model.KEY=VALUE"
    )
    embedding: Group = Field(Group("none"), description="configuration of conf/embedding")

    @field_validator("packages", "lexical", mode="before")
    @classmethod
    def _comma_separated(cls, value: object) -> object:
        return value.split(",") if isinstance(value, str) else value


async def build(options: Options, say: Callable[[str], None]) -> Corpus:
    """Build what the options ask for and say how long each part took.

    Raises
    ------
    UsageError
        When an option needs another one.
    CorpusError, EmbeddingError, GraphError
        When a part cannot be built.
    """
    embedding = build_embedding(options.embedding.read("embedding"))
    needs = options.dense or options.graph or options.source == "llm_doc_semantic"
    if needs and embedding is None:
        raise UsageError("this needs embeddings: embedding=openai or embedding=hashing")
    if options.graph and options.source not in {"llm_doc", "live"}:
        raise UsageError("graph=true needs source=llm_doc or live")
    start = time.monotonic()
    corpus = await _corpus(options, embedding)
    versions = ", ".join(f"{p} {v}" for p, v in corpus.manifest.versions.items() if v)
    say(f"{len(corpus.documents)} documents of {versions}: {time.monotonic() - start:.1f} s")
    say(f"  {corpus.folder}")
    for kind in options.lexical:
        start = time.monotonic()
        lexical_index(corpus, kind)
        say(f"{kind} index: {time.monotonic() - start:.1f} s")
    if options.dense and embedding is not None:
        from indexes.dense import dense_index  # noqa: PLC0415 - chromadb takes seconds to import

        start = time.monotonic()
        await dense_index(corpus, embedding, show_progress=True)
        say(f"dense index: {time.monotonic() - start:.1f} s")
    if options.graph and embedding is not None:
        from indexes.graph import graph_index  # noqa: PLC0415 - so does LightRAG

        start = time.monotonic()
        await (await graph_index(corpus, embedding, show_progress=True)).close()
        say(f"graph: {time.monotonic() - start:.1f} s")
    return corpus


async def _corpus(options: Options, embedding: Embeddings | None) -> Corpus:
    folder = options.folder or site_packages(options.env)
    cache, packages = cache_folder(), options.packages
    if options.source == "code":
        return code_corpus(packages, folder, cache=cache)
    if options.source == "official_doc":
        return official_doc_corpus(packages, folder, cache=cache, pages=options.pages)
    if options.source == "live":
        open_sandbox = partial(get_sandbox, SandboxConfig(env=options.env))
        return await live_corpus(
            packages, folder, open_sandbox=open_sandbox, cache=cache, show_progress=True
        )
    async with open_model(options.model) as model:
        writer = Writer(model, str(model.name))
        if options.source == "llm_doc_semantic" and embedding is not None:
            return await semantic_corpus(
                packages, folder, writer=writer, embedding=embedding, cache=cache,
                show_progress=True,
            )  # fmt: skip
        return await llm_doc_corpus(
            packages, folder, writer=writer, cache=cache, show_progress=True
        )


async def _action(options: Options) -> int:
    await build(options, print)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m indexes.build``."""
    errors = (CorpusError, EmbeddingError, GraphError)
    return run("python -m indexes.build", str(__doc__), Options, _action, arguments, errors=errors)


if __name__ == "__main__":
    sys.exit(main())
