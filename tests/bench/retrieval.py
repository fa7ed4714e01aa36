"""Time and memory of reading a library, indexing its documents and asking them.

``python -m tests.bench.retrieval`` reads pymatgen with all that adds to it, indexes ``llm_doc`` of
the packages of ``live``, and asks its questions. Every part runs in a process of its own, and
beside it a plain baseline (``ast.parse`` alone; scikit-learn's TF-IDF as it comes): on a busy
machine the ratio of their processor times says more than seconds do.
"""

from __future__ import annotations

import ast
import asyncio
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, field_validator
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer

from docgen.library import build_library
from docgen.prompts import documentation_order
from docgen.sources import SourceError, read_sources
from indexes.lexical import TfidfIndex
from indexes.store import indexed_texts
from matsmith.core.command import Command, Group
from matsmith.core.errors import UsageError
from retrieval import evaluate
from retrieval.base import RetrievalError
from retrieval.retriever import CorpusRetriever
from sandbox.base import SandboxError
from sandbox.environments import site_packages

_STATUS = Path("/proc/self/status")
#: Does a part once: what was done, with numbers, and milliseconds of each query.
Work = Callable[[], tuple[str, list[float]]]


class Options(BaseModel):
    """Arguments of ``python -m tests.bench.retrieval``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    read: tuple[str, ...] = Field(("pymatgen",), description="import names that are read")
    packages: tuple[str, ...] = Field(evaluate.PACKAGES, description="whose documents are asked")
    site_packages: Path | None = Field(None, description="their folder, if not that of live")
    benchmark: str = Field("live", description="its questions are asked (conf/benchmark)")
    gold: Path | None = Field(None, description="JSONL file of queries, instead of a benchmark")
    repeat: PositiveInt = Field(3, description="repetitions of each part; the best counts")

    @field_validator("read", "packages", mode="before")
    @classmethod
    def _comma_separated(cls, value: object) -> object:
        return value.split(",") if isinstance(value, str) else value

    @property
    def folder(self) -> Path:
        """What holds the packages."""
        return self.site_packages or site_packages("live")


@dataclass(frozen=True)
class Taken:
    """What one part took: wall and processor seconds of the best repetition, its queries' times.

    ``peak`` is the largest resident memory of the process in MB, imports included.
    """

    what: str
    seconds: float
    processor: float
    peak: float
    queries: Sequence[float] = ()


def parse_only(options: Options) -> Work:
    """Baseline: read the files and let ``ast`` parse them."""

    def work() -> tuple[str, list[float]]:
        texts = list(read_sources(options.read, options.folder))
        for source in texts:
            ast.parse(source.text)
        return f"ast.parse of {len(texts)} files alone", []

    return work


def read(options: Options) -> Work:
    """Symbols, call graph and documentation order."""

    def work() -> tuple[str, list[float]]:
        order = documentation_order(build_library(read_sources(options.read, options.folder)))
        edges = sum(map(len, order.values()))
        return f"parse, call graph and order: {len(order)} symbols, {edges} edges", []

    return work


def plain_index(options: Options) -> Work:
    """Baseline: scikit-learn's TF-IDF as it comes."""
    texts = indexed_texts(_retriever(options).corpus)
    return lambda: (_plain(texts), (f"scikit-learn's TF-IDF of {len(texts)} documents", []))[1]


def tfidf_index(options: Options) -> Work:
    """The default index."""
    texts = indexed_texts(_retriever(options).corpus)
    said = f"lexical index (TF-IDF) of {len(texts)} documents"
    return lambda: (TfidfIndex.build(texts), (said, []))[1]


def plain_queries(options: Options) -> Work:
    """Baseline: cosine with every document and the ten best, nothing else."""
    vectorizer, matrix = _plain(indexed_texts(_retriever(options).corpus))

    def ask(query: str) -> None:
        scores = (matrix @ vectorizer.transform([query]).T).toarray().ravel()
        np.argsort(-scores, kind="stable")[:10]

    return _asked("queries to scikit-learn's TF-IDF", ask, options)


def queries(options: Options) -> Work:
    """Queries to the default retriever, structure of the library included."""
    retriever, runner = _retriever(options), asyncio.Runner()
    return _asked(
        "queries to retrieval=llm_doc",
        lambda query: runner.run(retriever.search(query, k=10)),
        options,
    )


# part -> its baseline and its target
PARTS: dict[str, tuple[Callable[[Options], Work], str | None, str]] = {
    "ast": (parse_only, None, ""),
    "read": (read, "ast", "< 60 s, < 2000 MB"),
    "plain_index": (plain_index, None, ""),
    "tfidf_index": (tfidf_index, "plain_index", "< 15 s"),
    "plain_queries": (plain_queries, None, ""),
    "queries": (queries, "plain_queries", "< 20 ms"),
}


def table(taken: Mapping[str, Taken]) -> str:
    """The parts as Markdown."""
    lines = [
        "| part | seconds | processor s | peak MB | ms per query (p95) | ratio to plain | target |",
        f"|{'---|' * 7}",
    ]
    for name, (_, baseline, target) in PARTS.items():
        row, query, ratio = taken[name], "", ""
        if row.queries:
            late = np.percentile(row.queries, 95)
            query = f"{statistics.median(row.queries):.1f} ({late:.1f})"
        if baseline is not None:
            ratio = f"{row.processor / max(taken[baseline].processor, 1e-9):.1f}"
        cells = [row.what, f"{row.seconds:.2f}", f"{row.processor:.2f}", f"{row.peak:.0f}", query]
        lines.append(f"| {' | '.join([*cells, ratio, target])} |")
    return "\n".join(lines)


def measure(name: str, options: Options) -> Taken:
    """The best repetition of a part; runs in a process of its own."""
    work = PARTS[name][0](options)
    rounds = []
    for _ in range(options.repeat):
        start, processor = time.perf_counter(), time.process_time()
        said = work()
        rounds.append((time.process_time() - processor, time.perf_counter() - start, said))
    processor, seconds, (what, times) = min(rounds)
    return Taken(what, seconds, processor, _peak(), times)


def _asked(what: str, ask: Callable[[str], object], options: Options) -> Work:
    (source,) = evaluate.sources_of(_questions(options))
    asked = list(source.prompts().values())
    ask(asked[0])  # tables that are made at the first call

    def work() -> tuple[str, list[float]]:
        times = []
        for query in asked:
            start = time.perf_counter()
            ask(query)
            times.append(1000 * (time.perf_counter() - start))
        return f"{len(asked)} {what}", times

    return work


def _peak() -> float:
    """Largest resident memory of this process in MB.

    On Linux not from ``getrusage``, whose value a process inherits from the one that started it.
    """
    if _STATUS.is_file():
        return float(_STATUS.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def _plain(texts: Sequence[str]) -> tuple[TfidfVectorizer, csr_matrix]:
    vectorizer = TfidfVectorizer()
    return vectorizer, csr_matrix(vectorizer.fit_transform(texts))


def _questions(options: Options) -> evaluate.Options:
    given = {"gold": [options.gold]} if options.gold else {"benchmark": Group(options.benchmark)}
    more = {"packages": options.packages, "site_packages": options.site_packages}
    return evaluate.Options.model_validate(given | more)


def _retriever(options: Options) -> CorpusRetriever:
    asked = _questions(options)
    (source,) = evaluate.sources_of(asked)
    retriever = asyncio.run(evaluate.build("llm_doc", source.packages, source.environment, asked))
    if not isinstance(retriever, CorpusRetriever):
        raise UsageError("retrieval=llm_doc: is not a retriever over a corpus")
    return retriever


def _action(options: Options) -> int:
    taken: dict[str, Taken] = {}
    context = multiprocessing.get_context("spawn")
    try:
        _retriever(options)  # its index is made here, so that no part has to
        for number, name in enumerate(PARTS, start=1):
            print(f"{number} of {len(PARTS)}: {name}", file=sys.stderr, flush=True)
            with ProcessPoolExecutor(1, context) as pool:
                taken[name] = pool.submit(measure, name, options).result()
    except (RetrievalError, SandboxError, SourceError, OSError) as error:
        raise UsageError(str(error)) from error
    print(table(taken))
    return 0


main = Command("tests.bench.retrieval", str(__doc__), Options, _action)


if __name__ == "__main__":
    sys.exit(main())
