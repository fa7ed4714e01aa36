"""The messages of an answer, out of the steps of its trajectory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from experiments.record import Record, Row
from experiments.report.runs import Run
from experiments.scorers.base import measure


@dataclass
class ToolUse:
    """A tool call of a model, and what it brought (``None``: it was not made)."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    result: str | None = None


@dataclass
class Turn:
    """A message; ``seen`` is what the architecture then did: documents looked up, code run."""

    role: Literal["system", "user", "assistant"]
    text: str
    calls: list[ToolUse] = field(default_factory=list)
    usage: Mapping[str, Any] | None = None
    reasoning: str | None = None
    seen: list[str] = field(default_factory=list)


def turns(record: Record) -> list[Turn]:
    """Every message once; results of tools stand at their calls."""
    found: list[Turn] = []
    for step in record.steps:
        if step["kind"] == "model":
            found += (turn for turn in _asked(step) if turn not in found)
            calls = [
                ToolUse(f"call_{len(found)}_{number}", call["name"], call["arguments"])
                for number, call in enumerate(step.get("calls", ()))
            ]
            text = str(step.get("reply") or "")
            found.append(
                Turn("assistant", text, calls, step.get("usage"), step.get("reasoning"))
            )
        elif step["kind"] == "tool":
            open_ = (
                [call for call in found[-1].calls if call.result is None]
                if found
                else []
            )
            for call in [call for call in open_ if call.name == step["name"]][:1]:
                call.result = str(step["result"])
        elif step["kind"] in {"execute", "retrieve"} and found:
            detail = {
                k: v for k, v in step.items() if k not in {"kind", "hits", "code"} and v
            }
            hits = [hit["id"] for hit in step.get("hits", ())]
            about = {step["kind"]: detail | ({"hits": hits} if hits else {})}
            found[-1].seen.append(json.dumps(about, default=repr))
    if not any(
        turn.role == "assistant" for turn in found
    ):  # of a system without a model
        text = record.answer
        found += [
            Turn("user", record.question.prompt),
            Turn("assistant", text),
        ]
    return found


def _asked(step: Mapping[str, Any]) -> Iterator[Turn]:
    for message in step["messages"]:
        content = message["content"]
        if not isinstance(content, str):
            content = "\n".join(
                str(block.get("text", "[picture]")) for block in content
            )
        if message["role"] == "system":
            yield Turn("system", content)
        elif message["role"] in {"human", "user"}:
            yield Turn("user", content)


def tokens(counts: Mapping[str, Any]) -> dict[str, int]:
    """Tokens of prompts, of replies and together; nothing where they are unknown."""
    prompts, replies = counts["prompt_tokens"], counts["completion_tokens"]
    if prompts is None or replies is None:
        return {}
    return {
        "input_tokens": prompts,
        "output_tokens": replies,
        "total_tokens": prompts + replies,
    }


class Exported:
    """An answer of a run as every format writes it.

    ``scores`` are what it got of each metric, out of one, where that is known.
    """

    def __init__(self, run: Run, row: Row) -> None:
        record = run.record(row)
        measured = {metric.name: measure(row, metric) for metric in run.metrics}
        self.row = row
        self.turns = turns(record)
        self.prompt: str = record.question.prompt
        self.usage: Mapping[str, Any] = asdict(record.usage)
        self.tokens = tokens(self.usage)
        self.answer = record.code or str(record.value or record.answer)
        self.scores = {
            name: got / total for name, (got, total) in measured.items() if total
        }


def made(run: Run) -> datetime:
    """When the run was last worked on."""
    return datetime.fromtimestamp((run.folder / "summary.json").stat().st_mtime, tz=UTC)
