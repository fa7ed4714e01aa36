"""Queries with the library symbols that a right answer uses, for ``python -m retrieval.evaluate``.

``python -m experiments.export_gold live out=gold.jsonl`` takes the reference solutions of
``live``; ``python -m experiments.export_gold mattools PATH out=gold.jsonl`` takes, per question of
a folder in the layout of the development split, the names that most of the recorded solutions
with every property right have in common.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from docgen.sources import SourceError, read_sources
from docgen.usage import Usage
from experiments.benchmarks.live.loader import (
    QUESTIONS,
    Level,
    build_prompt,
    data_files,
    question_folders,
    read_spec,
)
from sandbox.environments import site_packages


@dataclass(frozen=True)
class GoldQuery:
    """A query, and what a retriever should find for it: qualified name -> kind of symbol."""

    id: str
    query: str
    gold: Mapping[str, str]


def live_gold(usage: Usage, level: Level) -> Iterator[GoldQuery]:
    """Per question of ``live``: its prompt, and what its reference solution uses."""
    for folder in question_folders(QUESTIONS):
        prompt = build_prompt(read_spec(folder), level, sorted(data_files(folder)))
        code = (folder / "reference.py").read_text(encoding="utf-8")
        gold = public_symbols(usage.symbols(code))
        if gold:
            yield GoldQuery(folder.name, prompt, gold)


def mattools_gold(usage: Usage, folder: Path) -> Iterator[GoldQuery]:
    """Per question of a recorded split: what at least half of the right solutions use.

    Questions without any right solution are left out: their gold is unknown.
    """
    used: dict[str, Counter[str]] = {}
    kinds: dict[str, str] = {}
    right: Counter[str] = Counter()
    for row in _rows(folder / "recorded_round1.jsonl"):
        if row["replayed"]["outcome"] != "all_correct":
            continue
        right[row["task"]] += 1
        names = public_symbols(usage.symbols(row["code"]))
        kinds.update(names)
        used.setdefault(row["task"], Counter()).update(names.keys())
    for row in _rows(folder / "tasks.jsonl"):
        counts = used.get(row["id"], Counter())
        common = sorted(n for n, count in counts.items() if 2 * count >= right[row["id"]])
        gold = {name: kinds[name] for name in common}
        if gold:
            yield GoldQuery(row["id"], row["question"], gold)


def public_symbols(names: Mapping[str, str]) -> dict[str, str]:
    """Without private names, sorted."""
    return {n: names[n] for n in sorted(names) if not any(p.startswith("_") for p in n.split("."))}


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        yield from (json.loads(line) for line in stream if line.strip())


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; the exit code is 2 for a user's mistake."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m experiments.export_gold")
    parser.add_argument("benchmark", choices=["live", "mattools"])
    parser.add_argument("path", nargs="?", type=Path, help="folder of the recorded split")
    parser.add_argument("--out", type=Path, required=True, help="JSONL file to write")
    parser.add_argument("--level", choices=["scaffold", "goal"], default="scaffold")
    parser.add_argument(
        "--packages", nargs="+", default=["pymatgen", "matminer", "robocrys", "phonopy"]
    )
    parser.add_argument("--env", default="live", help="environment that holds the packages")
    parser.add_argument("--site-packages", type=Path, help="their folder, instead of --env")
    options = parser.parse_args(arguments)
    if options.benchmark == "mattools" and options.path is None:
        parser.error("mattools needs the folder with tasks.jsonl and recorded_round1.jsonl")
    try:
        folder = options.site_packages or site_packages(options.env)
        usage = Usage(read_sources(options.packages, folder))
        if options.benchmark == "live":
            queries = list(live_gold(usage, options.level))
        else:
            queries = list(mattools_gold(usage, options.path))
    except (SourceError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    lines = [json.dumps(asdict(query), ensure_ascii=False) for query in queries]
    options.out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    names = sum(len(query.gold) for query in queries)
    print(f"{len(queries)} queries, {names} gold names -> {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
