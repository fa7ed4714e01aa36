"""Time and memory of reading a library, indexing its documents and asking them.

``python -m tests.bench.retrieval`` reads pymatgen with all that adds to it, indexes ``llm_doc`` of
the packages of ``live``, and asks its questions. Every part runs in a process of its own, and
beside it a plain baseline (``ast.parse`` alone; scikit-learn's TF-IDF as it comes): on a busy
machine the ratio of their processor times says more than seconds do.
"""

from __future__ import annotations

import ast
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, field_validator
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer

from docgen.library import build_library
from docgen.order import documentation_order
from docgen.sources import SourceError, SourceFile, read_sources
from indexes.corpus import Corpus
from indexes.lexical import Bm25Index, TfidfIndex
from indexes.store import indexed_texts
from retrieval import evaluate
from retrieval.base import RetrievalError
from retrieval.retriever import CorpusRetriever
from sandbox.base import SandboxError
from sandbox.command import Group, UsageError, run
from sandbox.environments import site_packages

_STATUS = Path("/proc/self/status")


class Options(BaseModel):
    """Arguments of ``python -m tests.bench.retrieval``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    read: tuple[str, ...] = Field(("pymatgen",), description="import names that are read")
    packages: tuple[str, ...] = Field(evaluate.PACKAGES, description="whose documents are asked")
    env: str = Field("live", description="sandbox environment that holds them")
    site_packages: Path | None = Field(None, description="their folder, instead of env")
    benchmark: str = Field("live", description="its questions are asked (conf/benchmark)")
    gold: Path | None = Field(None, description="JSONL file of queries, instead of a benchmark")
    repeat: PositiveInt = Field(3, description="repetitions of each part; the best counts")
    part: str | None = Field(None, description="only this part, as JSON (used by the command)")
    out: Path | None = Field(None, description="also write everything as JSON")

    @field_validator("read", "packages", mode="before")
    @classmethod
    def _comma_separated(cls, value: object) -> object:
        return value.split(",") if isinstance(value, str) else value

    @property
    def folder(self) -> Path:
        """What holds the packages."""
        return self.site_packages or site_packages(self.env)


@dataclass(frozen=True)
class Taken:
    """What one part took.

    Attributes
    ----------
    what
        What was done, with numbers.
    seconds, processor
        Wall time and processor time of the best repetition.
    peak
        Largest resident memory of the process, in MB, imports included.
    median, late
        Milliseconds of a query: median and 95th percentile; ``None`` for other parts.
    """

    what: str
    seconds: float
    processor: float
    peak: float
    median: float | None = None
    late: float | None = None


def parse_only(options: Options) -> Taken:
    """Baseline: read the files and let ``ast`` parse them."""
    texts: list[SourceFile] = []

    def work() -> None:
        texts[:] = read_sources(options.read, options.folder)
        for source in texts:
            ast.parse(source.text)

    best = _best(work, options.repeat)
    return _taken(f"ast.parse of {len(texts)} files alone", best)


def read(options: Options) -> Taken:
    """Symbols, call graph and documentation order."""
    counts = [0, 0]

    def work() -> None:
        library = build_library(read_sources(options.read, options.folder))
        order = documentation_order(library)
        counts[:] = [len(order.sequence), sum(len(needs) for needs in order.needs.values())]

    best = _best(work, options.repeat)
    return _taken(f"parse, call graph and order: {counts[0]} symbols, {counts[1]} edges", best)


def plain_index(options: Options) -> Taken:
    """Baseline: scikit-learn's TF-IDF as it comes."""
    texts = indexed_texts(_corpus(options))
    best = _best(lambda: _plain(texts), options.repeat)
    return _taken(f"scikit-learn's TF-IDF of {len(texts)} documents", best)


def tfidf_index(options: Options) -> Taken:
    """The default index."""
    texts = indexed_texts(_corpus(options))
    best = _best(lambda: TfidfIndex.build(texts), options.repeat)
    return _taken(f"lexical index (TF-IDF) of {len(texts)} documents", best)


def bm25_index(options: Options) -> Taken:
    """The other lexical index."""
    texts = indexed_texts(_corpus(options))
    best = _best(lambda: Bm25Index.build(texts), options.repeat)
    return _taken(f"lexical index (BM25) of {len(texts)} documents", best)


def plain_queries(options: Options) -> Taken:
    """Baseline: cosine with every document and the ten best, nothing else."""
    vectorizer, matrix = _plain(indexed_texts(_corpus(options)))

    def ask(query: str) -> None:
        scores = (matrix @ vectorizer.transform([query]).T).toarray().ravel()
        np.argsort(-scores, kind="stable")[:10]

    return _asked("queries to scikit-learn's TF-IDF", ask, options)


def queries(options: Options) -> Taken:
    """Queries to the default retriever, structure of the library included."""
    retriever = _retriever(options)
    loop = asyncio.new_event_loop()
    try:
        return _asked(
            "queries to retrieval=llm_doc",
            lambda query: loop.run_until_complete(retriever.search(query, k=10)),
            options,
        )
    finally:
        loop.close()


# part -> its baseline and its target
PARTS: dict[str, tuple[Callable[[Options], Taken], str | None, str]] = {
    "ast": (parse_only, None, ""),
    "read": (read, "ast", "< 60 s, < 2000 MB"),
    "plain_index": (plain_index, None, ""),
    "tfidf_index": (tfidf_index, "plain_index", "< 15 s"),
    "bm25_index": (bm25_index, "plain_index", "< 15 s"),
    "plain_queries": (plain_queries, None, ""),
    "queries": (queries, "plain_queries", "< 20 ms"),
}


def table(taken: dict[str, Taken]) -> str:
    """The parts as Markdown."""
    lines = [
        "| part | seconds | processor s | peak MB | ms per query (p95) | ratio to plain | target |",
        f"|{'---|' * 7}",
    ]
    for name, (_, baseline, target) in PARTS.items():
        row = taken[name]
        query = "" if row.median is None else f"{row.median:.1f} ({row.late:.1f})"
        ratio = ""
        if baseline is not None:
            ratio = f"{row.processor / max(taken[baseline].processor, 1e-9):.1f}"
        cells = [row.what, f"{row.seconds:.2f}", f"{row.processor:.2f}", f"{row.peak:.0f}", query]
        lines.append(f"| {' | '.join([*cells, ratio, target])} |")
    return "\n".join(lines)


def _best(work: Callable[[], object], repeat: int) -> tuple[float, float]:
    found = []
    for _ in range(repeat):
        start, processor = time.perf_counter(), time.process_time()
        work()
        found.append((time.process_time() - processor, time.perf_counter() - start))
    processor, seconds = min(found)
    return seconds, processor


def _asked(what: str, ask: Callable[[str], object], options: Options) -> Taken:
    asked = _prompts(options)
    ask(asked[0])  # tables that are made at the first call
    rounds: list[tuple[float, float, list[float]]] = []
    for _ in range(options.repeat):
        times = []
        processor = time.process_time()
        for query in asked:
            start = time.perf_counter()
            ask(query)
            times.append(1000 * (time.perf_counter() - start))
        rounds.append((time.process_time() - processor, sum(times) / 1000, times))
    processor, seconds, times = min(rounds)
    median, late = statistics.median(times), float(np.percentile(times, 95))
    return _taken(f"{len(asked)} {what}", (seconds, processor), median, late)


def _taken(
    what: str, best: tuple[float, float], median: float | None = None, late: float | None = None
) -> Taken:
    return Taken(what, best[0], best[1], _peak(), median, late)


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
    return evaluate.Options.model_validate(
        {**given, "packages": options.packages, "env": options.env,
         "site_packages": options.site_packages}
    )  # fmt: skip


def _prompts(options: Options) -> list[str]:
    (source,) = evaluate.sources_of(_questions(options))
    return list(source.prompts().values())


def _retriever(options: Options) -> CorpusRetriever:
    asked = _questions(options)
    (source,) = evaluate.sources_of(asked)
    retriever = asyncio.run(evaluate.build("llm_doc", source, asked))
    if not isinstance(retriever, CorpusRetriever):
        raise UsageError("retrieval=llm_doc: is not a retriever over a corpus")
    return retriever


def _corpus(options: Options) -> Corpus:
    return _retriever(options).corpus


def _action(options: Options) -> int:
    if options.part is not None and options.part not in PARTS:
        raise UsageError(f"part={options.part}: choose one of {', '.join(PARTS)}")
    try:
        if options.part is not None:
            print(json.dumps(asdict(PARTS[options.part][0](options))))
            return 0
        _corpus(options)  # made here, so that no part has to
    except (RetrievalError, SandboxError, SourceError, OSError) as error:
        raise UsageError(str(error)) from error
    taken: dict[str, Taken] = {}
    given = options.model_dump(mode="json", exclude={"part", "out"}, exclude_none=True)
    arguments = [f"{k}={','.join(v) if isinstance(v, list) else v}" for k, v in given.items()]
    for number, name in enumerate(PARTS, start=1):
        print(f"{number} of {len(PARTS)}: {name}", file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.retrieval", *arguments, f"part={name}"],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise UsageError(f"part={name} failed")
        taken[name] = Taken(**json.loads(done.stdout.splitlines()[-1]))
    print(table(taken))
    if options.out is not None:
        rows = {name: asdict(row) for name, row in taken.items()}
        options.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m tests.bench.retrieval``."""
    return run("tests.bench.retrieval", str(__doc__), Options, _action, arguments)


if __name__ == "__main__":
    sys.exit(main())
