"""What retrievers find: recall@k and MRR with intervals.

``matsmith evaluate benchmark=live benchmark.level=scaffold,goal retrieval=llm_doc,code``
measures on the questions of a benchmark; gold is what its reference solutions use.
``gold=FILE`` takes queries from a JSONL file (``id``, ``query``, ``gold``: qualified name -> kind).
``retrieval=NAME:MODE`` is ``conf/retrieval/NAME.yaml`` with another mode. A setup code that imports
what is looked for makes retrieval easy: so there are columns about *hidden* names, gold names that
do not stand in the text of their question, and the last row lists the names that do stand there,
without retrieving anything.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from docgen.writer import open_writer
from foundation.command import Command, Commas, Group
from foundation.errors import UsageError
from foundation.progress import meter
from indexes.embedding import build_embedding
from retrieval.base import Hit, Retriever
from retrieval.choices import build_ranking, build_reranker
from retrieval.config import read_config
from retrieval.factory import RetrieverFactory
from retrieval.gold import (
    NAMES,
    FileGold,
    GoldSource,
    Kinds,
    Query,
    Recalled,
    benchmark_sources,
    bootstrap,
    markdown,
    paired,
    put,
    queries,
    recall,
    reciprocal_rank,
    share,
)
from retrieval.prompting import fit
from retrieval.retriever import CorpusRetriever
from sandbox.base import SandboxConfig
from sandbox.environments import cache_folder, site_packages
from sandbox.factory import get_sandbox

PACKAGES = ("pymatgen", "matminer", "robocrys", "phonopy")
_DEPTH = 60  # documents looked at for a budget of tokens
Search = Callable[..., Awaitable[Sequence[Hit]]]
"""At most ``k`` hits for a query, best first, as `Retriever.search` finds them."""


class RetrieverChoice(BaseModel, extra="forbid", frozen=True):
    """Which retrievers, over which packages; the arguments of ``matsmith index``."""

    retrieval: Group = Field(
        Group("llm_doc"),
        description="configurations of conf/retrieval, or NAME:MODE; keys for all of them by "
        "retrieval.KEY=VALUE",
    )
    packages: Annotated[tuple[str, ...], Commas] = Field(
        (), description="import names, instead of those of a benchmark"
    )
    env: str | None = Field(
        None, description="sandbox environment, instead of the benchmark's"
    )
    site_packages: Path | None = Field(None, description="their folder, instead of env")
    backend: str = Field(
        "auto", description="sandbox that imports the libraries for live"
    )
    model: Group = Field(
        Group(""),
        description="writes missing documentation (conf/model); none: by facts",
    )
    embedding: Group = Field(
        Group("none"), description="configuration of conf/embedding"
    )
    ranking: Group = Field(
        Group("structure"), description="configuration of conf/ranking"
    )
    reranker: Group = Field(Group("none"), description="configuration of conf/reranker")


class EvaluateOptions(RetrieverChoice):
    """Arguments of ``matsmith evaluate``; the first retriever is the reference."""

    benchmark: Group = Field(
        Group(""),
        description="configurations of conf/benchmark; their keys, and those of their gold "
        "(benchmark.split=chosen,later, benchmark.recorded=FILE), by benchmark.KEY=VALUE,VALUE",
    )
    gold: Annotated[tuple[Path, ...], Commas] = Field(
        (), description="JSONL files of queries with gold"
    )
    k: Annotated[tuple[int, ...], Commas] = Field(
        (5, 12), description="documents looked at"
    )
    tokens: Annotated[tuple[int, ...], Commas] = Field(
        (1000, 2000, 4000),
        description="also the recall within this many (estimated) tokens",
    )
    kinds: Kinds = Field(
        "api", description="api: classes and functions; all: methods and properties too"
    )
    out: Path | None = Field(None, description="also write everything as JSON")
    write: Path | None = Field(
        None, description="also write each table between its markers in this document"
    )


async def measure(
    questions: str,
    choice: str,
    search: Search,
    asked: Sequence[Query],
    options: EvaluateOptions,
) -> tuple[Recalled, list[float]]:
    """What a retriever finds, and its recall of the smallest k, query by query."""
    depth = max([*options.k, *([_DEPTH] if options.tokens else [])])
    gold = [query.wanted(options.kinds) for query in asked]
    hidden = [query.hidden(options.kinds) for query in asked]
    hits = []
    with meter(choice, len(asked), show=True) as progress:
        for query in asked:
            hits.append(await search(query.text, k=depth))
            progress.advance()
    covered = [[frozenset(hit.entry.covers) for hit in each] for each in hits]

    def recalled(first: Sequence[int]) -> list[float]:
        """Recall of so many documents of each query."""
        return [recall(f, g, k) for f, g, k in zip(covered, gold, first, strict=True)]

    def fitting(tokens: int) -> list[int]:
        return [len(fit(h, q.text, tokens)) for h, q in zip(hits, asked, strict=True)]

    def seen(k: int) -> list[int]:
        both = zip(hidden, covered, strict=True)
        return [len(names.intersection(frozenset().union(*f[:k]))) for names, f in both]

    by_k = {k: recalled([k] * len(asked)) for k in options.k}
    ranks = [
        reciprocal_rank(f[: max(options.k)], g)
        for f, g in zip(covered, gold, strict=True)
    ]
    row = Recalled(
        questions=questions,
        retriever=choice,
        queries=len(asked),
        hidden={k: share(seen(k), [len(names) for names in hidden]) for k in options.k},
        recall={k: bootstrap(values) for k, values in by_k.items()},
        within={t: bootstrap(recalled(fitting(t))) for t in options.tokens},
        mrr=bootstrap(ranks),
        difference=None,
    )
    return row, by_k[min(options.k)]


async def table(
    asked: Sequence[Query], source: GoldSource, options: EvaluateOptions
) -> list[Recalled]:
    """All retrievers on one set of questions; last, what lists the names that stand in them."""
    searches: dict[str, Search] = {}
    for choice in options.retrieval.names:
        retriever = await build(choice, source.packages, source.environment, options)
        searches[choice] = retriever.search
        if isinstance(retriever, CorpusRetriever):
            searches.setdefault(NAMES, retriever.named)
    searches |= {NAMES: searches.pop(NAMES)} if NAMES in searches else {}
    rows: list[Recalled] = []
    reference: list[float] = []
    for choice, search in searches.items():
        row, first = await measure(source.name, choice, search, asked, options)
        rows.append(replace(row, difference=paired(first, reference)) if rows else row)
        reference = reference or first
    return rows


async def build(
    choice: str, packages: Sequence[str], environment: str, options: RetrieverChoice
) -> Retriever:
    """The retriever that ``NAME`` or ``NAME:MODE`` stands for.

    Parameters
    ----------
    packages, environment
        Of a benchmark; the options have the last word.
    """
    name, _, mode = choice.partition(":")
    overrides = {**options.retrieval.overrides, **({"mode": mode} if mode else {})}
    config = Group(name, overrides).read("retrieval")
    environment = options.env or environment
    async with open_writer(options.model) as writer:
        retriever = await RetrieverFactory(
            settings=read_config({**config, "name": choice}),
            packages=options.packages or packages,
            site_packages=options.site_packages or site_packages(environment),
            writer=writer,
            embedding=build_embedding(options.embedding.read("embedding")),
            ranking=build_ranking(options.ranking.read("ranking")),
            reranker=build_reranker(options.reranker.read("reranker")),
            cache=cache_folder(),
            progress=True,
            open_sandbox=partial(
                get_sandbox, SandboxConfig(backend=options.backend, env=environment)
            ),
        ).make()
    if retriever is None:
        raise UsageError(
            f"retrieval={name}: retrieves nothing, so there is nothing to measure"
        )
    return retriever


def sources_of(options: EvaluateOptions) -> list[GoldSource]:
    """The questions that the options ask for."""
    names = options.benchmark.names
    given = {key: _values(value) for key, value in options.benchmark.overrides.items()}
    if options.env and "mattools" in names:
        given["environment"] = [options.env]
    sources = benchmark_sources(names, given)
    files = [
        FileGold(p, options.packages or PACKAGES, options.env or "live")
        for p in options.gold
    ]
    if not [*sources, *files]:
        raise UsageError("benchmark=NAME or gold=FILE must be given")
    return [*sources, *files]


def _values(value: object) -> Sequence[Any]:
    """One value or, with commas, several."""
    if isinstance(value, str):
        return value.split(",")
    return value if isinstance(value, list) else [value]


async def _evaluate(options: EvaluateOptions) -> int:
    """One table per source, all in one event loop: the model's connections belong to it."""
    measured: list[Recalled] = []
    for source in sources_of(options):
        asked = queries(source, options.kinds)
        rows = await table(asked, source, options)
        print(
            f"\n{source.name}: {len(asked)} questions\n\n{markdown(rows)}", flush=True
        )
        measured += rows
        if options.write is not None:
            text = options.write.read_text(encoding="utf-8")
            options.write.write_text(
                put(text, source.name, markdown(rows)), encoding="utf-8"
            )
    if options.out is not None:
        options.out.write_text(json.dumps([asdict(row) for row in measured], indent=1))
    return 0


async def _index(options: RetrieverChoice) -> int:
    for name in options.retrieval.names:
        start = time.monotonic()
        retriever = await build(name, PACKAGES, "live", options)
        if isinstance(retriever, CorpusRetriever):
            corpus = retriever.corpus
            versions = ", ".join(
                f"{p} {v}" for p, v in corpus.manifest.versions.items() if v
            )
            made, seconds = (
                f"{len(corpus.entries)} documents",
                time.monotonic() - start,
            )
            print(f"{name}: {made} of {versions}: {seconds:.1f} s\n  {corpus.folder}")
    return 0


main = Command(
    "matsmith evaluate", str(__doc__), EvaluateOptions, _evaluate, (OSError,)
)
index = Command(
    "matsmith index",
    "Build corpora and their indexes ahead of time: all that some retrievers need.\n\n"
    "``matsmith index retrieval=llm_doc,live:dense embedding=hashing``",
    RetrieverChoice,
    _index,
    (OSError,),
)
