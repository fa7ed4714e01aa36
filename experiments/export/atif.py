"""The Agent Trajectory Interchange Format of Harbor, version 1.7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.export.turns import Turn, scores, turns
from experiments.report.runs import Run
from experiments.run.rows import Row
from experiments.run.store import trajectory_path, write_json

#: Harbor reads this version and later ones of the same kind.
VERSION = "ATIF-v1.7"
_SOURCE = {"system": "system", "user": "user", "assistant": "agent"}


def write(run: Run, out: Path) -> Sequence[Path]:
    """Write a file for each answer; returns where."""
    folder, paths = out / "atif", []
    folder.mkdir(parents=True, exist_ok=True)
    for row in run.rows:
        paths.append(folder / trajectory_path(run.folder, row.question_id, row.seed).name)
        write_json(paths[-1], _trajectory(run, row))
    return paths


def _trajectory(run: Run, row: Row) -> dict[str, Any]:
    trajectory = run.trajectory(row)
    steps = [_step(n, turn) for n, turn in enumerate(turns(trajectory), 1)]
    usage = trajectory["usage"]
    config = run.summary["config"]
    return {
        "schema_version": VERSION,
        "session_id": run.summary["config_hash"],
        "trajectory_id": f"{row.question_id}-{row.seed}",
        "agent": {
            "name": run.summary["system"], "version": run.summary["config_hash"],
            "model_name": run.model, "extra": {key: config[key] for key in ("system", "retrieval")},
        },
        "steps": steps,
        "final_metrics": {
            **_metrics(usage, "total_"), "total_steps": len(steps),
            "extra": {"scores": scores(run, row), "passed": row.passed, "outcome": row.outcome},
        },
        "extra": {"question": row.question_id, "seed": row.seed, "labels": row.labels},
    }  # fmt: skip


def _step(number: int, turn: Turn) -> dict[str, Any]:
    step: dict[str, Any] = {"step_id": number, "source": _SOURCE[turn.role], "message": turn.text}
    if turn.reasoning:
        step["reasoning_content"] = turn.reasoning
    if turn.usage is not None:
        step["metrics"] = _metrics(turn.usage)
        step["llm_call_count"] = 1
    if turn.calls:
        step["tool_calls"] = [
            {"tool_call_id": c.id, "function_name": c.name, "arguments": dict(c.arguments)}
            for c in turn.calls
        ]
    results = [
        {"source_call_id": call.id, "content": call.result}
        for call in turn.calls if call.result is not None
    ]  # fmt: skip
    if seen := [*results, *({"content": text} for text in turn.seen)]:
        step["observation"] = {"results": seen}
    return step


def _metrics(usage: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    kept = ("prompt_tokens", "completion_tokens", "cost_usd")
    return {f"{prefix}{name}": usage[name] for name in kept if usage[name] is not None}
