"""``python -m tests.bench.indexes``: what checksums cost when an index is opened.

Every kind of index over one generated library is opened with and without its checksums in
turns, so that other load on the machine falls on both.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest import mock

from pydantic import BaseModel, Field, PositiveInt

from docgen.symbols import Chunk
from foundation.command import Command
from indexes.corpus import Corpus, Manifest, write_corpus, written_pages
from indexes.dense import dense_index
from indexes.embedding import HashingEmbedding
from indexes.lexical import lexical_index

_EMBEDDING = HashingEmbedding(1024)


async def bench(entries: int, rounds: int) -> list[dict[str, Any]]:
    """Rows ``{index, megabytes, seconds, ratio}``: medians; ratio of with to without."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = _corpus(entries, Path(folder))
        kinds: dict[str, Callable[[], Awaitable[object]]] = {
            "lexical": lambda: lexical_index(corpus),
            "dense": lambda: dense_index(corpus, _EMBEDDING, show_progress=False),
            "pages": lambda: written_pages(corpus),
        }
        return [
            await _measured(name, kinds[name], Path(folder), rounds) for name in kinds
        ]


async def _measured(
    name: str, opened: Callable[[], Awaitable[object]], cache: Path, rounds: int
) -> dict[str, Any]:
    before = _bytes(cache)
    await opened()  # is built
    size = _bytes(cache) - before
    with_checksums, without = [], []
    for _ in range(rounds):
        with_checksums.append(await _seconds(opened))
        with mock.patch("indexes.corpus.damage", return_value=None):
            without.append(await _seconds(opened))
    return {
        "index": name,
        "megabytes": round(size / 1e6, 1),
        "seconds": round(statistics.median(with_checksums), 4),
        "ratio": round(
            statistics.median(with_checksums) / statistics.median(without), 3
        ),
    }


async def _seconds(opened: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter()
    await opened()
    return time.perf_counter() - start


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _corpus(entries: int, cache: Path) -> Corpus:
    words = [f"word{number}" for number in range(5000)]
    chunks = []
    for number in range(entries):
        text = " ".join(words[(number * 7 + i * i) % len(words)] for i in range(100))
        chunks.append(
            Chunk(
                id=f"code:module.py:{number}",
                qualname=f"module.function_{number}",
                text=text,
                path="module.py",
                package="bench",
                version=None,
                corpus="code",
            )
        )
    manifest = Manifest("code", ("bench",), {}, "", None, {})
    return write_corpus(cache, manifest, chunks, {})


class IndexesOptions(BaseModel, extra="forbid"):
    """Arguments of ``python -m tests.bench.indexes``."""

    entries: PositiveInt = Field(2000, description="documents of the library")
    rounds: PositiveInt = Field(15, description="openings of each index")


async def _action(config: IndexesOptions) -> int:
    for row in await bench(config.entries, config.rounds):
        print(json.dumps(row))
    return 0


main = Command("python -m tests.bench.indexes", str(__doc__), IndexesOptions, _action)


if __name__ == "__main__":
    sys.exit(main())
