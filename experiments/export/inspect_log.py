"""The log format of inspect_ai (version 2, as JSON)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.export.turns import Turn, made, scores, tokens, turns
from experiments.report.runs import Run
from experiments.run.rows import Row
from experiments.run.store import write_json

#: Why a reply ended, in the words of inspect_ai.
_STOPPED = {"answered": "stop", "context": "model_length"}


def write(run: Run, out: Path) -> Sequence[Path]:
    """Write one log; returns where."""
    summary, when = run.summary, made(run).isoformat()
    used = tokens(summary)
    samples = [_sample(run, row) for row in run.rows]
    results = [
        {
            "name": metric["name"], "scorer": metric["name"],
            "scored_samples": sum(metric["name"] in sample["scores"] for sample in samples),
            "metrics": {"share": {"name": "share", "value": metric["sum"] / metric["total"]}},
        }
        for metric in summary["metrics"] if metric["total"]
    ]  # fmt: skip
    task = f"matsmith/{summary['benchmark']}"
    log = {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": summary["config_hash"], "run_id": summary["config_hash"],
            "task_id": summary["config_hash"], "created": when, "task": task,
            "task_args": summary["config"]["benchmark"], "solver": summary["system"],
            "model": run.model, "config": {"epochs": len(summary["seeds"])},
            "dataset": {
                "name": summary["benchmark"], "samples": len(summary["question_ids"]),
                "sample_ids": summary["question_ids"],
            },
            "metadata": {"retrieval": summary["retrieval"], "config": summary["config"]},
        },
        "results": {
            "total_samples": len(summary["question_ids"]) * len(summary["seeds"]),
            "completed_samples": len(run.scored), "scores": results,
        },
        "stats": {
            "started_at": when, "completed_at": when,
            "model_usage": {run.model: used} if used else {},
        },
        "samples": samples,
    }  # fmt: skip
    name = re.sub(r"[^\w-]+", "-", f"{when}_{summary['benchmark']}_{summary['config_hash']}")
    path = out / "inspect" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, log)
    return [path]


def _sample(run: Run, row: Row) -> dict[str, Any]:
    trajectory = run.trajectory(row)
    conversation = [message for turn in turns(trajectory) for message in _messages(turn)]
    last = next(m for m in reversed(conversation) if m["role"] == "assistant")
    answer = trajectory["code"] or str(trajectory["value"] or trajectory["answer"] or "")
    why = "\n".join(f"{name}: {reason}" for name, reason in row.reasons.items()) or None
    given, used = scores(run, row), tokens(trajectory["usage"])
    sample: dict[str, Any] = {
        "id": row.question_id,
        "epoch": list(run.summary["seeds"]).index(row.seed) + 1,
        "input": trajectory["question"]["prompt"],
        "target": "",
        "messages": conversation,
        "output": {
            "model": run.model,
            "choices": [
                {"message": last, "stop_reason": _STOPPED.get(str(row.stop_reason), "unknown")}
            ],
            "usage": used or None,
        },
        "scores": {
            name: {"value": value, "answer": answer, "explanation": why}
            for name, value in given.items()
        },
        "metadata": {**row.labels, "passed": row.passed, "outcome": row.outcome},
        "model_usage": {run.model: used} if used else {},
        "total_time": row.seconds,
    }  # fmt: skip
    if row.infra:
        said = row.error or str(row.stop_reason)
        sample["error"] = {"message": said, "traceback": said, "traceback_ansi": said}
    return sample


def _messages(turn: Turn) -> list[dict[str, Any]]:
    message: dict[str, Any] = {"role": turn.role, "content": turn.text}
    if turn.reasoning:
        said = [{"type": "reasoning", "reasoning": turn.reasoning}]
        message["content"] = [*said, {"type": "text", "text": turn.text}]
    if turn.calls:
        message["tool_calls"] = [
            {"id": call.id, "function": call.name, "arguments": dict(call.arguments)}
            for call in turn.calls
        ]
    if turn.seen:
        message["metadata"] = {"seen": turn.seen}
    results = [
        {"role": "tool", "content": call.result, "tool_call_id": call.id, "function": call.name}
        for call in turn.calls if call.result is not None
    ]  # fmt: skip
    return [message, *results]
