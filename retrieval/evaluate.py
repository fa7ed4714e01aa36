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
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from docgen.chat import open_writer
from docgen.sources import SourceError
from indexes.embedding import EmbeddingError, build_embedding
from matsmith.core.command import Command, Commas, Group
from matsmith.core.errors import UsageError
from matsmith.core.progress import meter
from retrieval.base import RetrievalError, Retriever
from retrieval.budget import fit
from retrieval.factory import get_retriever
from retrieval.gold import FileGold, GoldSource, Kinds, Query, benchmark_sources, queries
from retrieval.linking import covered
from retrieval.measures import bootstrap, paired, recall, reciprocal_rank, share
from retrieval.retriever import CorpusRetriever, NamesInQuery
from retrieval.tables import NAMES, Recalled, markdown, put
from sandbox.base import SandboxConfig
from sandbox.environments import cache_folder, site_packages
from sandbox.factory import get_sandbox

PACKAGES = ("pymatgen", "matminer", "robocrys", "phonopy")
_DEPTH = 60  # documents looked at for a budget of tokens


class Choice(BaseModel):
    """Which retrievers, over which packages; the arguments of ``matsmith index``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    retrieval: Group = Field(
        Group("llm_doc"),
        description="configurations of conf/retrieval, or NAME:MODE; keys for all of them by "
        "retrieval.KEY=VALUE",
    )
    packages: Annotated[tuple[str, ...], Commas] = Field(
        (), description="import names, instead of those of a benchmark"
    )
    env: str | None = Field(None, description="sandbox environment, instead of the benchmark's")
    site_packages: Path | None = Field(None, description="their folder, instead of env")
    backend: str = Field("auto", description="sandbox that imports the libraries for live")
    model: Group = Field(
        Group(""), description="writes missing documentation (conf/model); none: by facts"
    )
    embedding: Group = Field(Group("none"), description="configuration of conf/embedding")


class Options(Choice):
    """Arguments of ``matsmith evaluate``; the first retriever is the reference."""

    benchmark: Group = Field(
        Group(""),
        description="configurations of conf/benchmark; their keys, and those of their gold "
        "(benchmark.split=chosen,later, benchmark.recorded=FILE), by benchmark.KEY=VALUE,VALUE",
    )
    gold: Annotated[tuple[Path, ...], Commas] = Field(
        (), description="JSONL files of queries with gold"
    )
    k: Annotated[tuple[int, ...], Commas] = Field((5, 12), description="documents looked at")
    tokens: Annotated[tuple[int, ...], Commas] = Field(
        (1000, 2000, 4000), description="also the recall of what fits this many (estimated) tokens"
    )
    kinds: Kinds = Field(
        "api", description="api: classes and functions; all: methods and properties too"
    )
    out: Path | None = Field(None, description="also write everything as JSON")
    write: Path | None = Field(
        None, description="also write each table between its markers in this document"
    )


@dataclass
class Measured:
    """One value per query."""

    hidden: dict[int, list[int]]
    hidden_names: list[int]
    recall: dict[int, list[float]]
    within: dict[int, list[float]]
    rank: list[float] = field(default_factory=list)


async def evaluate(retriever: Retriever, asked: Sequence[Query], options: Options) -> Measured:
    """Ask every query once and measure what was found."""
    depth = max([*options.k, *([_DEPTH] if options.tokens else [])])
    measured = Measured(
        {k: [] for k in options.k},
        [len(query.hidden(options.kinds)) for query in asked],
        {k: [] for k in options.k},
        {t: [] for t in options.tokens},
    )
    with meter(retriever.name, len(asked), show=True) as progress:
        for query in asked:
            documents = await retriever.search(query.text, k=depth)
            found = [frozenset(covered(document)) for document in documents]
            gold = query.wanted(options.kinds)
            hidden = query.hidden(options.kinds)
            for k in options.k:
                measured.recall[k].append(recall(found, gold, k))
                measured.hidden[k].append(len(hidden.intersection(frozenset().union(*found[:k]))))
            for budget in options.tokens:
                fitting = len(fit(documents, query.text, budget))
                measured.within[budget].append(recall(found, gold, fitting))
            measured.rank.append(reciprocal_rank(found[: max(options.k)], gold))
            progress.advance()
    return measured


async def table(
    name: str, asked: Sequence[Query], source: GoldSource, options: Options
) -> list[Recalled]:
    """All retrievers on one set of questions."""
    smallest = min(options.k)
    rows: list[Recalled] = []
    reference: list[float] | None = None
    names: Retriever | None = None
    for choice in (*options.retrieval.names, NAMES):
        retriever = (
            names
            if choice == NAMES
            else await build(choice, source.packages, source.environment, options)
        )
        if retriever is None:
            continue
        if names is None and isinstance(retriever, CorpusRetriever):
            names = NamesInQuery(retriever)
        found = await evaluate(retriever, asked, options)
        first = found.recall[smallest]
        rows.append(
            Recalled(
                questions=name,
                retriever=choice,
                queries=len(asked),
                hidden={k: share(n, found.hidden_names) for k, n in found.hidden.items()},
                recall={k: bootstrap(values) for k, values in found.recall.items()},
                within={t: bootstrap(values) for t, values in found.within.items()},
                mrr=bootstrap(found.rank),
                difference=None if reference is None else paired(first, reference),
            )
        )
        reference = first if reference is None else reference
    return rows


async def build(
    choice: str, packages: Sequence[str], environment: str, options: Choice
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
        retriever = await get_retriever(
            {**config, "name": choice},
            packages=options.packages or packages,
            site_packages=options.site_packages or site_packages(environment),
            writer=writer,
            embedding=build_embedding(options.embedding.read("embedding")),
            cache=cache_folder(),
            progress=True,
            open_sandbox=partial(
                get_sandbox, SandboxConfig(backend=options.backend, env=environment)
            ),
        )
    if retriever is None:
        raise UsageError(f"retrieval={name}: retrieves nothing, so there is nothing to measure")
    return retriever


def sources_of(options: Options) -> list[GoldSource]:
    """The questions that the options ask for."""
    names = options.benchmark.names
    given = {key: _values(value) for key, value in options.benchmark.overrides.items()}
    if options.env and "mattools" in names:
        given["environment"] = [options.env]
    found = benchmark_sources(names, given)
    files = [FileGold(p, options.packages or PACKAGES, options.env or "live") for p in options.gold]
    if not [*found, *files]:
        raise UsageError("benchmark=NAME or gold=FILE must be given")
    return [*found, *files]


def _values(value: object) -> Sequence[Any]:
    """One value or, with commas, several."""
    if isinstance(value, str):
        return value.split(",")
    return value if isinstance(value, list) else [value]


async def _measure(options: Options) -> list[list[Recalled]]:
    """One table per source, all in one event loop: the model's connections belong to it."""
    measured: list[list[Recalled]] = []
    for source in sources_of(options):
        asked = queries(source, options.kinds)
        rows = await table(source.name, asked, source, options)
        print(f"\n{source.name}: {len(asked)} questions\n\n{markdown(rows)}", flush=True)
        measured.append(rows)
        if options.write is not None:
            text = options.write.read_text(encoding="utf-8")
            options.write.write_text(put(text, source.name, markdown(rows)), encoding="utf-8")
    return measured


async def _action(options: Options) -> int:
    measured = await _measure(options)
    if options.out is not None:
        rows = [row for rows in measured for row in rows]
        options.out.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


#: What a command about retrieval tells in one line.
ERRORS = (RetrievalError, EmbeddingError, SourceError, OSError)


main = Command("matsmith evaluate", str(__doc__), Options, _action, ERRORS)


if __name__ == "__main__":
    sys.exit(main())
