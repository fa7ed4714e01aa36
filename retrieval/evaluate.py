"""What retrievers find: recall@k and MRR with intervals.

Queries and gold come as JSONL (``id``, ``query``, ``gold``: qualified name -> kind), written by
``python -m experiments.export_gold``. Every query is also asked with the gold names that stand in
it masked, because a setup code that imports what is looked for makes retrieval easy.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from docgen.command import UsageError, run
from docgen.models import chat_model, read_group
from docgen.progress import meter
from indexes.corpus import cache_root
from indexes.embedding import EmbeddingError, build_embedding
from retrieval.base import RetrievalError, Retriever
from retrieval.budget import fit
from retrieval.factory import get_retriever
from retrieval.linking import covered
from retrieval.measures import Estimate, bootstrap, paired, recall, reciprocal_rank
from sandbox.base import SandboxError
from sandbox.environments import site_packages

API = frozenset({"class", "function"})
_DEPTH = 60  # documents looked at for a budget of tokens


@dataclass(frozen=True)
class Query:
    """A query and the symbols that a right answer uses."""

    id: str
    text: str
    gold: Mapping[str, str]

    def wanted(self, kinds: Literal["api", "all"]) -> frozenset[str]:
        """Gold names: classes and functions only, or methods and properties too."""
        return frozenset(n for n, kind in self.gold.items() if kinds == "all" or kind in API)

    def masked(self) -> str:
        """The query with every gold name replaced by ``[MASK]``."""
        text = self.text
        names = {name.rpartition(".")[2] for name in self.gold}
        for name in sorted(names, key=lambda n: (-len(n), n)):
            text = re.sub(rf"\b{re.escape(name)}\b", "[MASK]", text)
        return text


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    gold: str
    retriever: str
    masked: bool
    queries: int
    recall: Mapping[int, Estimate]
    within: Mapping[int, Estimate]
    mrr: Estimate
    difference: Estimate | None
    characters: float


class Options(BaseModel):
    """Arguments of ``python -m retrieval.evaluate``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    gold: tuple[Path, ...] = Field(description="JSONL files of queries with gold")
    retrieval: tuple[str, ...] = Field(
        ("llm_doc",), description="configurations of conf/retrieval; the first is the reference"
    )
    k: tuple[int, ...] = Field((5, 10), description="documents looked at")
    tokens: tuple[int, ...] = Field(
        (), description="also the recall of what fits this many (estimated) tokens: 2000,4000"
    )
    kinds: Literal["api", "all"] = Field(
        "api", description="api: classes and functions; all: methods and properties too"
    )
    packages: tuple[str, ...] = Field(
        ("pymatgen", "matminer", "robocrys", "phonopy"), description="import names"
    )
    env: str = Field("live", description="sandbox environment that holds the packages")
    site_packages: Path | None = Field(None, description="their folder, instead of env")
    model: str = Field("rules", description="writer of missing documentation (conf/model)")
    embedding: str = Field("none", description="configuration of conf/embedding")
    set: dict[str, Any] = Field(
        {}, description="overrides for every retriever: set.evidence.links=0"
    )
    out: Path | None = Field(None, description="also write the table as JSON")

    @field_validator("gold", "retrieval", "k", "tokens", "packages", mode="before")
    @classmethod
    def _comma_separated(cls, value: object) -> object:
        if isinstance(value, int):
            return [value]
        return value.split(",") if isinstance(value, str) else value


def read_queries(path: Path) -> list[Query]:
    """Queries of a JSONL file.

    Raises
    ------
    UsageError
        When the file cannot be read or a line is not a query.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"gold={path}: {error.strerror}") from None
    queries: list[Query] = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            queries.append(Query(str(row["id"]), str(row["query"]), dict(row["gold"])))
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"gold={path}, line {number}: not a query ({error!r})") from None
    return queries


@dataclass
class Measured:
    """One value per query."""

    recall: dict[int, list[float]]
    within: dict[int, list[float]]
    rank: list[float]
    characters: list[int]


async def evaluate(
    retriever: Retriever, queries: Sequence[Query], options: Options, *, masked: bool
) -> Measured:
    """Ask every query once and measure what was found.

    Raises
    ------
    RetrievalError
        When the retriever fails.
    """
    depth = max([*options.k, *([_DEPTH] if options.tokens else [])])
    measured = Measured({k: [] for k in options.k}, {t: [] for t in options.tokens}, [], [])
    with meter(f"{retriever.name}", len(queries), show=True) as progress:
        for query in queries:
            text = query.masked() if masked else query.text
            documents = await retriever.search(text, k=depth)
            found = [frozenset(covered(document)) for document in documents]
            gold = query.wanted(options.kinds)
            for k in options.k:
                measured.recall[k].append(recall(found, gold, k))
            for budget in options.tokens:
                fitting = len(fit(documents, text, budget))
                measured.within[budget].append(recall(found, gold, fitting))
            measured.rank.append(reciprocal_rank(found[: max(options.k)], gold))
            first = documents[: min(options.k)]
            measured.characters.append(sum(len(d.page_content) for d in first))
            progress.advance()
    return measured


async def table(options: Options) -> list[Row]:
    """All retrievers on all gold files, plain and masked.

    Raises
    ------
    UsageError
        When a configuration or file is wrong.
    RetrievalError
        When a retriever cannot be built or fails.
    """
    retrievers = [await _build(name, options) for name in options.retrieval]
    rows: list[Row] = []
    for path in options.gold:
        queries = [q for q in read_queries(path) if q.wanted(options.kinds)]
        if not queries:
            raise UsageError(f"gold={path}: no query has gold of kinds={options.kinds}")
        for masked in (False, True):
            reference: list[float] | None = None
            for name, retriever in zip(options.retrieval, retrievers, strict=True):
                measured = await evaluate(retriever, queries, options, masked=masked)
                first = measured.recall[options.k[0]]
                within = {t: bootstrap(values) for t, values in measured.within.items()}
                rows.append(
                    Row(
                        gold=path.stem,
                        retriever=name,
                        masked=masked,
                        queries=len(queries),
                        recall={k: bootstrap(values) for k, values in measured.recall.items()},
                        within=within,
                        mrr=bootstrap(measured.rank),
                        difference=None if reference is None else paired(first, reference),
                        characters=sum(measured.characters) / len(queries),
                    )
                )
                reference = first if reference is None else reference
    return rows


def markdown(rows: Sequence[Row], options: Options) -> str:
    """The table as Markdown."""
    ks = options.k
    head = ["gold", "retriever", "names masked", "queries", *(f"R@{k}" for k in ks), "MRR"]
    head += [f"R in {tokens} tokens" for tokens in options.tokens]
    head += [f"R@{ks[0]} - {options.retrieval[0]}", f"characters in {min(ks)}"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        cells = [
            row.gold,
            row.retriever,
            "yes" if row.masked else "no",
            str(row.queries),
            *(str(row.recall[k]) for k in ks),
            str(row.mrr),
            *(str(row.within[tokens]) for tokens in options.tokens),
            "" if row.difference is None else str(row.difference),
            f"{row.characters:.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


async def _build(name: str, options: Options) -> Retriever:
    config = read_group("retrieval", name, options.set)
    model, model_name = chat_model(options.model, {})
    retriever = await get_retriever(
        config,
        packages=options.packages,
        site_packages=options.site_packages or site_packages(options.env),
        writer=model,
        writer_name=model_name,
        embedding=build_embedding(read_group("embedding", options.embedding, {})),
        cache=cache_root(),
        progress=True,
    )
    if retriever is None:
        raise UsageError(f"retrieval={name}: retrieves nothing, there is nothing to measure")
    return retriever


def _action(options: Options) -> int:
    try:
        rows = asyncio.run(table(options))
    except (RetrievalError, EmbeddingError, SandboxError) as error:
        raise UsageError(str(error)) from error
    print(markdown(rows, options))
    if options.out is not None:
        options.out.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m retrieval.evaluate``."""
    return run("retrieval.evaluate", str(__doc__), Options, _action, arguments)


if __name__ == "__main__":
    sys.exit(main())
