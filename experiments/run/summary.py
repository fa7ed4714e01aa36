"""From rows to the one summary of a run."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from agents.base import Image
from experiments.record import Row
from experiments.run.config import RunConfig
from experiments.samples import Sample
from experiments.scorers.base import Metric, measuring

#: Fields of a summary that depend on the clock; all others follow from the rows.
WALL_CLOCK = ("seconds", "sandbox_seconds")
#: Dollars and counts of rows; unknown when any of them is.
_SUMS = (
    "calls",
    "cached_calls",
    "judge_calls",
    "judge_tokens",
    "judge_cost_usd",
    "executions",
    "tokens",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
)


def samples_digest(samples: Iterable[Sample]) -> str:
    """Digest of everything that decides an answer or its verdict, contents of input files included.

    A file that is replaced, or turns up later, makes it another digest.
    """
    digest = hashlib.sha256()
    content = cache(_content)  # questions share their files
    for sample in sorted(samples, key=lambda sample: sample.question.id):
        question = sample.question
        files = [
            (inside, content(Path(source)))
            for inside, source in question.mounts.items()
        ]
        images = [part for part in question.attachments if isinstance(part, Image)]
        # A picture is known by what it shows, also where it lies in a file.
        pictures = {
            hashlib.sha256(image.data).hexdigest(): image.key for image in images
        }
        parts = [
            question.id,
            question.prompt,
            sorted(question.formats.items()),
            sorted(
                (inside, pictures.get(str(found), found)) for inside, found in files
            ),
            [vars(prop) for prop in sample.properties],
            sample.environment,
            sample.target,
            sample.reference,
            repr(question.answer),
            [
                part.key if isinstance(part, Image) else vars(part)
                for part in question.attachments
            ],
        ]
        digest.update(json.dumps(parts, sort_keys=True, default=repr).encode())
    return digest.hexdigest()


def _content(path: Path) -> str | None:
    """Digest of a file, or of everything below a folder; ``None``: absent."""
    if not path.exists():
        return None
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    inside = (file for file in path.rglob("*") if file.is_file())
    named = sorted(
        (file.relative_to(path).as_posix(), _content(file)) for file in inside
    )
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()


def summarise(
    config: RunConfig,
    *,
    config_hash: str,
    llm: bool,
    metrics: Sequence[Metric],
    samples: Sequence[Sample],
    rows: Sequence[Row],
    packages: Mapping[str, Mapping[str, str]],
    outside: Mapping[str, Mapping[str, Any]],
    stopped: str | None = None,
) -> dict[str, Any]:
    """Count what the run has shown so far.

    ``rows`` is every stored line of the selected ``samples``, superseded ones included: their
    verdicts do not count, their cost does. ``outside`` is what was spent outside of questions, by
    purpose; it is in no sum over questions. The first of ``metrics`` is the primary one.

    Returns
    -------
    dict
        JSON-able. Counts of verdicts are sums over seeds; every metric says what it is out of;
        ``faulty`` names the properties that are known to be faulty themselves, by question.
        ``reply_faults`` counts replies of all stored lines that were no whole answer, by kind.
    """
    latest = {row.key: row for row in rows}
    available = [sample for sample in samples if sample.unavailable is None]
    scored = [row for row in latest.values() if row.scored]
    wanted = len(available) * len(config.seeds)
    return {
        "system": config.system.name,
        "retrieval": config.retrieval.name,
        "model": config.model.name,
        "model_kind": "LLM" if llm else "none",
        "benchmark": config.benchmark.name,
        "level": config.benchmark.params.get("level"),
        "seeds": list(config.seeds),
        "questions": len(available),
        "answers": len(scored),
        "complete": len(scored) == wanted,
        "missing": wanted - len(latest),
        "infra": sum(row.infra for row in latest.values()),
        "not_finished": sum(row.not_finished for row in latest.values()),
        "unavailable": {
            t.question.id: t.unavailable for t in samples if t.unavailable is not None
        },
        "metrics": [_total(metric, scored) for metric in metrics],
        "faulty": _faulty(samples),
        "format_errors": sum(row.format_status == "error" for row in scored),
        "format_repaired": sum(row.format_status == "repaired" for row in scored),
        "reply_faults": _counts(
            k for row in rows for k in Counter(row.reply_faults).elements()
        ),
        "recorded": dict(
            sum((Counter(row.recorded) for row in latest.values()), Counter())
        ),
        "outcomes": _counts(row.outcome for row in latest.values()),
        "stop_reasons": _counts(row.ending.reason for row in latest.values()),
        **{name: _sum(getattr(row, name) for row in rows) for name in _SUMS},
        "judge": config.judge.name if config.judge else None,
        "tokens_estimated": any(row.tokens_estimated for row in rows),
        **{
            name: round(sum(getattr(row, name) for row in rows), 3)
            for name in WALL_CLOCK
        },
        "sandbox_tier": sorted({row.tier for row in rows if row.tier}),
        "question_ids": [sample.question.id for sample in available],
        "outside": {purpose: dict(spent) for purpose, spent in outside.items()},
        "limits": _counts(
            str(row.error) for row in latest.values() if row.not_finished
        ),
        "stopped": stopped,
        "packages": {name: dict(versions) for name, versions in packages.items()},
        "questions_digest": samples_digest(available),
        "config_hash": config_hash,
        "config": config.plain(),
    }


def _total(metric: Metric, scored: Sequence[Row]) -> dict[str, Any]:
    """A metric as its sum and what it is out of."""
    measured = list(map(measuring(scored, metric), scored))
    return {
        **vars(metric),
        "sum": round(sum(gained for gained, _ in measured), 6),
        "total": round(sum(total for _, total in measured), 6),
    }


def _sum(spent: Iterable[float | None]) -> float | None:
    amounts = list(spent)
    return None if None in amounts else round(sum(filter(None, amounts)), 6)


def _faulty(samples: Sequence[Sample]) -> dict[str, list[str]]:
    """Names of the properties that have an erratum, by question."""
    names = {
        sample.question.id: [
            prop.name for prop in sample.properties if prop.erratum is not None
        ]
        for sample in samples
    }
    return {name: faulty for name, faulty in names.items() if faulty}


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))
