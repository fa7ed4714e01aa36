"""What retrieval is measured against: questions, and the symbols that a right answer uses.

The class that a benchmark's YAML names (``_target_``) may offer it by a method ``gold``; that is
how retrieval measures itself on benchmarks without importing them.
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

from matsmith.core.command import Group
from matsmith.core.errors import UsageError
from matsmith.core.targets import load

API = frozenset({"class", "function"})
Kinds = Literal["api", "all"]


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
        return frozenset(n for n, kind in self.gold.items() if kinds == "all" or kind in API)

    def hidden(self, kinds: Kinds) -> frozenset[str]:
        """Gold names that do not stand in the text: only these show what retrieval finds."""
        words = set(re.findall(r"\w+", self.text))
        return frozenset(n for n in self.wanted(kinds) if n.rpartition(".")[2] not in words)


class FileGold:
    """Queries of a JSONL file (``id``, ``query``, ``gold``: qualified name -> kind)."""

    def __init__(self, path: Path, packages: Sequence[str], environment: str) -> None:
        self.name, self.packages, self.environment = path.stem, packages, environment
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise UsageError(f"gold={path}: {error.strerror}") from None
        self._queries = []
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                self._queries.append(Query(str(row["id"]), str(row["query"]), dict(row["gold"])))
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(f"gold={path}, line {number}: not a query ({error!r})") from None

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
    found = [Query(name, prompts[name], gold[name]) for name in sorted(gold)]
    kept = [query for query in found if query.wanted(kinds)]
    if not kept:
        raise UsageError(f"{source.name}: no query has gold of kinds={kinds}")
    return kept


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
        if benchmarks and not any(key in {*made, *asked} for _, made, asked in classes.values()):
            raise UsageError(f"benchmark.{key}: not known to benchmark={','.join(benchmarks)}")
    sources: list[GoldSource] = []
    for name, (make, made, asked) in classes.items():
        chosen = {key: values for key, values in given.items() if key in {*made, *asked}}
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
    found = load(str(config.pop("_target_", "")), key=f"benchmark={name}: _target_")
    if not hasattr(found, "gold"):
        raise UsageError(f"benchmark={name}: offers no gold to measure retrieval against")
    made, asked = (set(inspect.signature(of).parameters) for of in (found, found.gold))
    return partial(found, **config), made, asked - {"self"}
