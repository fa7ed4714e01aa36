"""What retrieval is measured against: questions, and the symbols that a right answer uses.

The class that a benchmark's YAML names (``_target_``) may offer it by a method ``gold``; that is
how retrieval measures itself on benchmarks without importing them. The measures are recall and
reciprocal rank, with bootstrap intervals over the queries.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from foundation.command import Group
from foundation.errors import UsageError
from foundation.targets import load

API = frozenset({"class", "function"})
Kinds = Literal["api", "all"]
NAMES = "names in the question"  # the row of a list of these, without retrieval
_RESAMPLES = 10_000


class GoldSource(Protocol):
    """Where questions and their gold come from; one class per benchmark.

    Attributes
    ----------
    name
        In tables.
    packages, environment
        Import names of what is retrieved from, and the sandbox environment that holds them.
    """

    name: str
    packages: Sequence[str]
    environment: str

    def prompts(self) -> Mapping[str, str]:
        """Question -> its whole text."""
        ...

    def gold(self) -> Mapping[str, Mapping[str, str]]:
        """Question -> qualified name -> kind; questions whose gold is unknown are left out."""
        ...


@dataclass(frozen=True)
class Query:
    """A query and the symbols that a right answer uses."""

    id: str
    text: str
    gold: Mapping[str, str]

    def wanted(self, kinds: Kinds) -> frozenset[str]:
        """Gold names: classes and functions only, or methods and properties too."""
        return frozenset(
            n for n, kind in self.gold.items() if kinds == "all" or kind in API
        )

    def hidden(self, kinds: Kinds) -> frozenset[str]:
        """Gold names that do not stand in the text: only these show what retrieval finds."""
        words = set(re.findall(r"\w+", self.text))
        return frozenset(
            n for n in self.wanted(kinds) if n.rpartition(".")[2] not in words
        )


class FileGold:
    """Queries of a JSONL file (``id``, ``query``, ``gold``: qualified name -> kind)."""

    def __init__(self, path: Path, packages: Sequence[str], environment: str) -> None:
        self.name, self.packages, self.environment = path.stem, packages, environment
        try:
            lines = path.read_bytes().splitlines()
        except OSError as error:
            raise UsageError(f"gold={path}: {error.strerror}") from None
        self._queries = []
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                self._queries.append(
                    Query(str(row["id"]), str(row["query"]), dict(row["gold"]))
                )
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(
                    f"gold={path}, line {number}: not a query ({error!r})"
                ) from None

    def prompts(self) -> Mapping[str, str]:
        """See :class:`GoldSource`."""
        return {query.id: query.text for query in self._queries}

    def gold(self) -> Mapping[str, Mapping[str, str]]:
        """See :class:`GoldSource`."""
        return {query.id: query.gold for query in self._queries}


def queries(source: GoldSource, kinds: Kinds) -> list[Query]:
    """The questions of a source that have gold of these kinds, sorted by name."""
    try:
        gold, prompts = source.gold(), source.prompts()
    except ValueError as error:
        raise UsageError(f"{source.name}: {error}") from error
    every = [Query(name, prompts[name], gold[name]) for name in sorted(gold)]
    wanted = [query for query in every if query.wanted(kinds)]
    if not wanted:
        raise UsageError(f"{source.name}: no query has gold of kinds={kinds}")
    return wanted


def benchmark_sources(
    benchmarks: Sequence[str], given: Mapping[str, Sequence[Any]]
) -> list[GoldSource]:
    """The gold of benchmarks, one source per combination of the given values.

    Parameters
    ----------
    given
        Argument -> its values (``level`` -> ``scaffold``, ``goal``). A benchmark takes those
        that its class or its ``gold`` knows; at least one of them must know each.
    """
    classes = {name: _benchmark(name) for name in benchmarks}
    for key in given:
        if benchmarks and not any(
            key in {*made, *asked} for _, made, asked in classes.values()
        ):
            raise UsageError(
                f"benchmark.{key}: not known to benchmark={','.join(benchmarks)}"
            )
    sources: list[GoldSource] = []
    for name, (make, made, asked) in classes.items():
        chosen = {
            key: values for key, values in given.items() if key in {*made, *asked}
        }
        for values in product(*chosen.values()):
            one = dict(zip(chosen, values, strict=True))
            own = {key: one.pop(key) for key in made & one.keys()}
            try:
                sources.append(make(**own).gold(**one))
            except (ValueError, OSError) as error:
                raise UsageError(f"benchmark={name}: {error}") from error
    return sources


def _benchmark(name: str) -> tuple[Callable[..., Any], set[str], set[str]]:
    """What makes a benchmark, what it takes, and what its ``gold`` takes."""
    config = {k: v for k, v in Group(name).read("benchmark").items() if k != "defaults"}
    benchmark = load(str(config.pop("_target_", "")), key=f"benchmark={name}: _target_")
    if not hasattr(benchmark, "gold"):
        raise UsageError(
            f"benchmark={name}: offers no gold to measure retrieval against"
        )
    made, asked = (
        set(inspect.signature(of).parameters) for of in (benchmark, benchmark.gold)
    )
    return partial(benchmark, **config), made, asked - {"self"}


@dataclass(frozen=True)
class Estimate:
    """A mean over queries with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.2f}, {self.high:.2f}]"


@dataclass(frozen=True)
class Share:
    """``found`` of ``of`` names over all queries, with the interval over queries."""

    found: int
    of: int
    estimate: Estimate

    def __str__(self) -> str:
        return f"{self.found} of {self.of}: {self.estimate}"


@dataclass(frozen=True)
class Recalled:
    """What one retriever found for one set of questions.

    Attributes
    ----------
    hidden
        Gold names that do not stand in the text of their question, and how many of them are among
        the first k documents; ``None`` where every name stands in its question.
    recall, within
        Recall of the first k documents, and of what fits a number of tokens.
    difference
        Recall of the smallest k less that of the first retriever, question by question.
    """

    questions: str
    retriever: str
    queries: int
    hidden: Mapping[int, Share | None]
    recall: Mapping[int, Estimate]
    within: Mapping[int, Estimate]
    mrr: Estimate
    difference: Estimate | None


def recall(found: Sequence[frozenset[str]], gold: frozenset[str], k: int) -> float:
    """Part of ``gold`` that the first ``k`` documents cover.

    Parameters
    ----------
    found
        Per document, best first, the symbols that it documents.
    """
    covered = frozenset().union(*found[:k])
    return len(covered & gold) / len(gold)


def reciprocal_rank(found: Sequence[frozenset[str]], gold: frozenset[str]) -> float:
    """One over the rank of the first document that covers something of ``gold``, else 0."""
    return next(
        (1 / rank for rank, names in enumerate(found, start=1) if names & gold), 0.0
    )


def bootstrap(values: Sequence[float], of: Sequence[float] | None = None) -> Estimate:
    """Mean with a percentile bootstrap interval; ``values`` has one entry per query.

    With ``of``, per query how many there are, the sum of ``values`` per sum of these: queries are
    resampled with all their names, because the names of one query are not independent.
    """
    data = np.asarray(values, dtype=float)
    whole = np.ones(data.size) if of is None else np.asarray(of, dtype=float)
    drawn = np.random.default_rng(0).integers(0, data.size, (_RESAMPLES, data.size))
    low, high = np.quantile(
        data[drawn].sum(axis=1) / whole[drawn].sum(axis=1), [0.025, 0.975]
    )
    return Estimate(float(data.sum() / whole.sum()), float(low), float(high))


def share(found: Sequence[int], of: Sequence[int]) -> Share | None:
    """Part of the names of all queries that was found; ``None`` when there are no names."""
    some = [(f, n) for f, n in zip(found, of, strict=True) if n]
    return (
        Share(sum(found), sum(of), bootstrap(*zip(*some, strict=True)))
        if some
        else None
    )


def paired(values: Sequence[float], reference: Sequence[float]) -> Estimate:
    """Mean difference per query with its interval; zero outside it is a real difference."""
    return bootstrap([a - b for a, b in zip(values, reference, strict=True)])


def markdown(rows: Sequence[Recalled]) -> str:
    """The rows of one set of questions as a table."""
    first = rows[0]
    smallest = min(first.recall)
    head = ["retriever", *(f"R@{k}" for k in first.recall)]
    head += [f"R in {tokens} tokens" for tokens in first.within]
    head += [*(f"hidden names @{k}" for k in first.hidden), "MRR"]
    head.append(f"R@{smallest} less the first")
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        name = row.retriever if row.retriever == NAMES else f"`{row.retriever}`"
        measured = [
            *row.recall.values(),
            *row.within.values(),
            *row.hidden.values(),
            row.mrr,
        ]
        last = "" if row.difference is None else row.difference
        cells = [name, *(each or "none" for each in measured), last]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def put(document: str, name: str, table: str) -> str:
    """The document with ``table`` between ``<!-- name -->`` and ``<!-- end -->``."""
    opening, closing = f"<!-- {name} -->\n", "<!-- end -->"
    before, mark, rest = document.partition(opening)
    _, end, after = rest.partition(closing)
    if not (mark and end):
        raise UsageError(
            f"write=: the document has no markers {opening.strip()} ... {closing}"
        )
    return f"{before}{mark}{table}\n{end}{after}"
