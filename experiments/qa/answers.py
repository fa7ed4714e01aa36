"""The results of a multiple-choice run: one line per answer, and what they add up to."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agents.models import Reply
from experiments.config import ConfigError, RunConfig
from experiments.meter import RunMeter
from experiments.qa.questions import QAQuestion
from experiments.qa.wording import lenient_letter, strict_letter
from experiments.store import RunFolder

RESULTS = "results.jsonl"

#: Both ways of reading a reply.
RULES = ("strict", "lenient")

_ANSWERED, _FAILED = 1, 2


class Answers(RunFolder):
    """Reads and writes ``results.jsonl`` of a run folder; use `add` within an event loop.

    Lines of one turn of the event loop are handed to the system together, without a buffer in
    between: what is there survives the end of this process. Only which questions are answered
    is kept in memory, one byte each.

    Parameters
    ----------
    folder, config_hash, description
        As in `RunFolder`.
    meter
        Counts what stored and new answers cost.

    Raises
    ------
    ConfigError
        As `RunFolder`, and when the results are damaged.
    """

    def __init__(
        self, folder: Path, config_hash: str, description: Mapping[str, Any], meter: RunMeter
    ) -> None:
        super().__init__(folder, config_hash, description)
        self._states: dict[int, bytearray] = defaultdict(bytearray)
        self._pending: list[bytes] = []
        self._meter = meter
        self.path = folder / RESULTS
        self.broken: OSError | None = None
        try:
            whole = 0
            for row, size in _lines(self.path):
                whole += size
                self._count(row)
            # Without O_APPEND's buffering; a killed process leaves half a line.
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.truncate(self._file, whole)
        except BaseException:
            super().close()
            raise

    def answered(self, seed: int, number: int) -> bool:
        """Whether a question has an answer."""
        states = self._states[seed]
        return number < len(states) and states[number] == _ANSWERED

    def counted(self, seeds: Iterable[int], numbers: Iterable[int]) -> tuple[int, int]:
        """How many of these questions have an answer, and how many failed."""
        found: Counter[int] = Counter()
        for seed, number in itertools.product(seeds, numbers):
            states = self._states[seed]
            found[states[number] if number < len(states) else 0] += 1
        return found[_ANSWERED], found[_FAILED]

    def add(self, number: int, seed: int, question: QAQuestion, reply: Reply) -> bool:
        """Keep an answer; returns whether its letter, read leniently, is right."""
        strict = strict_letter(reply.text)
        lenient = strict or lenient_letter(reply.text)
        usage = reply.usage
        self._append(
            {
                "number": number, "seed": seed, "kind": question.kind, "source": question.source,
                "correct": question.correct_answer, "strict": strict, "lenient": lenient,
                "reply": reply.text, "calls": usage.calls, "prompt_tokens": usage.prompt_tokens,
                "completion_tokens": usage.completion_tokens,
                "tokens_estimated": usage.estimated, "cost_usd": usage.cost_usd,
                "seconds": round(reply.seconds, 4),
                **({"fault": reply.fault} if reply.fault else {}),
            }
        )  # fmt: skip
        return lenient == question.correct_answer

    def fail(self, number: int, seed: int, reason: str) -> None:
        """Keep why a question has no answer; it is asked again by the same command."""
        self._append({"number": number, "seed": seed, "error": reason})

    def _append(self, row: dict[str, Any]) -> None:
        self._count(row)
        if not self._pending:
            asyncio.get_running_loop().call_soon(self.flush)
        self._pending.append(json.dumps(row).encode("ascii") + b"\n")

    def _count(self, row: dict[str, Any]) -> None:
        states, number = self._states[row["seed"]], row["number"]
        if number >= len(states):
            states.extend(bytes(max(number + 1 - len(states), 4096)))
        if "error" in row:
            states[number] = _FAILED
            return
        states[number] = _ANSWERED
        tokens = row["prompt_tokens"] + row["completion_tokens"]
        self._meter.add(calls=row["calls"], tokens=tokens, cost_usd=row["cost_usd"])

    def flush(self) -> None:
        """Hand what has been added to the system; a failure is kept in ``broken``."""
        rest = memoryview(b"".join(self._pending))
        self._pending.clear()
        try:
            while rest and self.broken is None:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            self.broken = error

    def close(self) -> None:
        """Write what is left and let go of the folder."""
        self.flush()
        os.close(self._file)
        super().close()


def _lines(path: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Whole lines of a results file and their lengths in bytes."""
    if not path.exists():
        return
    with path.open("rb") as lines:
        for position, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                row = json.loads(line)
                if not isinstance(row["number"], int) or not isinstance(row["seed"], int):
                    raise TypeError("number and seed are no integers")  # noqa: TRY301
            except (ValueError, KeyError, TypeError) as error:
                raise ConfigError(
                    f"{path}, line {position}: is no answer; remove the line or the folder"
                ) from error
            yield row, len(line)


def selected(limit: int | None, ids: Collection[str]) -> Collection[int]:
    """The numbers that ``limit`` and ``ids`` of a configuration select."""
    if ids:
        return frozenset(sorted(map(int, ids))[:limit])
    return range(sys.maxsize if limit is None else limit)


def read_answers(folder: Path, config: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Stream the answers (no failures) of a run that its configuration selects.

    Raises
    ------
    ConfigError
        When a line is no answer.
    """
    seeds, numbers = set(config["seeds"]), selected(config["limit"], config["ids"])
    for row, _ in _lines(folder / RESULTS):
        if row["number"] in numbers and row["seed"] in seeds and "error" not in row:
            yield row


def summarise(
    folder: Path,
    config: RunConfig,
    *,
    config_hash: str,
    questions: int,
    failed: int,
    file: Path,
    digest: str,
) -> dict[str, Any]:
    """Count the answers of a run, one line at a time.

    Parameters
    ----------
    folder, config, config_hash
        The run.
    questions
        Selected questions, each asked once per seed.
    failed
        Answers that are missing because the endpoint, or another part that is no model, failed.
    file, digest
        Where the questions are, and the SHA-256 of their content.

    Returns
    -------
    dict
        JSON-able. The keys that a summary of a code benchmark has as well mean the same;
        ``strict`` and ``lenient`` are right answers by either rule, ``no_...`` replies without
        a letter by it (they count as wrong).
    """
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    counts: Counter[str] = Counter()
    spent: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    cost: float | None = 0.0
    seconds, estimated = 0.0, False
    for row in read_answers(folder, config.plain()):
        counts["answers"] += 1
        kinds[row["kind"] or "-"]["answers"] += 1
        for rule in RULES:
            right, unread = row[rule] == row["correct"], row[rule] is None
            for count in (counts, kinds[row["kind"] or "-"]):
                count[rule] += right
                count[f"no_{rule}"] += unread
        for name in ("calls", "prompt_tokens", "completion_tokens"):
            spent[name] += row[name]
        if "fault" in row:
            faults[row["fault"]] += 1
        seconds += row["seconds"]
        estimated = estimated or row["tokens_estimated"]
        known = cost is not None and row["cost_usd"] is not None
        cost = (cost or 0.0) + row["cost_usd"] if known else None
    wanted = questions * len(config.seeds)
    answers = counts["answers"]
    return {
        "kind": "multiple choice",
        "system": config.system.name,
        "retrieval": config.retrieval.name,
        "model": config.model.name,
        "model_kind": "LLM" if config.model.llm else "no LLM",
        "benchmark": config.benchmark.name,
        "seeds": list(config.seeds),
        "questions": questions,
        "answers": answers,
        "complete": answers == wanted,
        "missing": wanted - answers - failed,
        "infra": failed,
        **{name: counts[name] for rule in RULES for name in (rule, f"no_{rule}")},
        "reply_faults": dict(sorted(faults.items())),
        "kinds": {kind: dict(count) for kind, count in sorted(kinds.items())},
        "calls": spent["calls"],
        "prompt_tokens": spent["prompt_tokens"],
        "completion_tokens": spent["completion_tokens"],
        "tokens": spent["prompt_tokens"] + spent["completion_tokens"],
        "tokens_estimated": estimated,
        "cost_usd": None if cost is None else round(cost, 6),
        "seconds": round(seconds, 3),
        "questions_file": str(file),
        "questions_digest": digest,
        "config_hash": config_hash,
        "config": config.plain(),
    }
