"""Write a run in the format of another tool.

inspect  a log that `inspect view` and read_eval_log of inspect_ai open
atif     a trajectory of the Agent Trajectory Interchange Format (Harbor) for each answer
harbor   the questions of the run as tasks of Harbor, for agents that are run there

Logs and trajectories hold prompts, replies, tool calls, verdicts and what was spent; no expected
values, and nothing of private questions. Tasks hold what is expected, in their tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from experiments.export.harbor import harbor_tasks
from experiments.export.turns import Exported, Turn, made, tokens
from experiments.files import make_folder, write_json
from experiments.report.runs import Run, load_runs
from experiments.run.store import trajectory_path
from foundation.command import Command, Word

#: Harbor reads this version and later ones of the same kind.
ATIF = "ATIF-v1.7"
#: Why a reply ended, in the words of inspect_ai.
_STOPPED = {"answered": "stop", "context": "model_length"}


def inspect_log(run: Run, out: Path) -> Sequence[Path]:
    """Write one log of inspect_ai (version 2, as JSON); returns where."""
    summary, when = run.summary, made(run).isoformat()
    used, key = tokens(summary), summary["config_hash"]
    samples = [_sample(run, Exported(run, row)) for row in run.rows]
    results = [
        {
            "name": metric["name"],
            "scorer": metric["name"],
            "scored_samples": sum(
                metric["name"] in sample["scores"] for sample in samples
            ),
            "metrics": {
                "share": {"name": "share", "value": metric["sum"] / metric["total"]}
            },
        }
        for metric in summary["metrics"]
        if metric["total"]
    ]
    log = {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": key,
            "run_id": key,
            "task_id": key,
            "created": when,
            "task": f"matsmith/{summary['benchmark']}",
            "task_args": summary["config"]["benchmark"],
            "solver": summary["system"],
            "model": run.model,
            "config": {"epochs": len(summary["seeds"])},
            "dataset": {
                "name": summary["benchmark"],
                "samples": len(summary["question_ids"]),
                "sample_ids": summary["question_ids"],
            },
            "metadata": {
                "retrieval": summary["retrieval"],
                "config": summary["config"],
            },
        },
        "results": {
            "total_samples": len(summary["question_ids"]) * len(summary["seeds"]),
            "completed_samples": len(run.scored),
            "scores": results,
        },
        "stats": {
            "started_at": when,
            "completed_at": when,
            "model_usage": {run.model: used} if used else {},
        },
        "samples": samples,
    }
    name = re.sub(r"[^\w-]+", "-", f"{when}_{summary['benchmark']}_{key}")
    path = out / "inspect" / f"{name}.json"
    make_folder(path.parent)
    write_json(path, log)
    return [path]


def _sample(run: Run, exported: Exported) -> dict[str, Any]:
    row = exported.row
    conversation = [message for turn in exported.turns for message in _messages(turn)]
    last = next(m for m in reversed(conversation) if m["role"] == "assistant")
    why = "\n".join(f"{name}: {reason}" for name, reason in row.reasons.items()) or None
    stopped = _STOPPED.get(row.ending.reason, "unknown")
    sample: dict[str, Any] = {
        "id": row.question_id,
        "epoch": list(run.summary["seeds"]).index(row.seed) + 1,
        "input": exported.prompt,
        "target": "",
        "messages": conversation,
        "output": {
            "model": run.model,
            "choices": [{"message": last, "stop_reason": stopped}],
            "usage": exported.tokens or None,
        },
        "scores": {
            name: {"value": value, "answer": exported.answer, "explanation": why}
            for name, value in exported.scores.items()
        },
        "metadata": {**row.labels, "passed": row.passed, "outcome": row.outcome},
        "model_usage": {run.model: exported.tokens} if exported.tokens else {},
        "total_time": row.seconds,
    }
    if row.infra:
        reason = row.error or row.ending.reason
        sample["error"] = {
            "message": reason,
            "traceback": reason,
            "traceback_ansi": reason,
        }
    return sample


def _messages(turn: Turn) -> list[dict[str, Any]]:
    message: dict[str, Any] = {"role": turn.role, "content": turn.text}
    if turn.reasoning:
        thoughts = [{"type": "reasoning", "reasoning": turn.reasoning}]
        message["content"] = [*thoughts, {"type": "text", "text": turn.text}]
    if turn.calls:
        message["tool_calls"] = [
            {"id": call.id, "function": call.name, "arguments": dict(call.arguments)}
            for call in turn.calls
        ]
    if turn.seen:
        message["metadata"] = {"seen": turn.seen}
    results = [
        {
            "role": "tool",
            "content": call.result,
            "tool_call_id": call.id,
            "function": call.name,
        }
        for call in turn.calls
        if call.result is not None
    ]
    return [message, *results]


def trajectories(run: Run, out: Path) -> Sequence[Path]:
    """Write a file of the Agent Trajectory Interchange Format per answer; returns where."""
    folder, paths = out / "atif", []
    make_folder(folder)
    for row in run.rows:
        paths.append(
            folder / trajectory_path(run.folder, row.question_id, row.seed).name
        )
        write_json(paths[-1], _trajectory(run, Exported(run, row)))
    return paths


def _trajectory(run: Run, exported: Exported) -> dict[str, Any]:
    row, summary = exported.row, run.summary
    steps = [_step(number, turn) for number, turn in enumerate(exported.turns, 1)]
    return {
        "schema_version": ATIF,
        "session_id": summary["config_hash"],
        "trajectory_id": f"{row.question_id}-{row.seed}",
        "agent": {
            "name": summary["system"],
            "version": summary["config_hash"],
            "model_name": run.model,
            "extra": {key: summary["config"][key] for key in ("system", "retrieval")},
        },
        "steps": steps,
        "final_metrics": {
            **_metrics(exported.usage, "total_"),
            "total_steps": len(steps),
            "extra": {
                "scores": exported.scores,
                "passed": row.passed,
                "outcome": row.outcome,
            },
        },
        "extra": {"question": row.question_id, "seed": row.seed, "labels": row.labels},
    }


def _step(number: int, turn: Turn) -> dict[str, Any]:
    source = "agent" if turn.role == "assistant" else turn.role
    step: dict[str, Any] = {"step_id": number, "source": source, "message": turn.text}
    if turn.reasoning:
        step["reasoning_content"] = turn.reasoning
    if turn.usage is not None:
        step |= {"metrics": _metrics(turn.usage), "llm_call_count": 1}
    if turn.calls:
        step["tool_calls"] = [
            {
                "tool_call_id": c.id,
                "function_name": c.name,
                "arguments": dict(c.arguments),
            }
            for c in turn.calls
        ]
    results = [
        {"source_call_id": call.id, "content": call.result}
        for call in turn.calls
        if call.result is not None
    ]
    if seen := [*results, *({"content": text} for text in turn.seen)]:
        step["observation"] = {"results": seen}
    return step


def _metrics(usage: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    counts = ("prompt_tokens", "completion_tokens", "cost_usd")
    return {
        f"{prefix}{name}": usage[name] for name in counts if usage[name] is not None
    }


FORMATS: Mapping[str, Callable[[Run, Path], Sequence[Path]]] = {
    "inspect": inspect_log,
    "atif": trajectories,
    "harbor": harbor_tasks,
}


class ExportOptions(BaseModel, extra="forbid"):
    """Arguments of ``matsmith export``."""

    run: Annotated[Path, Word()] = Field(description="run folder")
    to: Literal["inspect", "atif", "harbor"] = Field(
        description="format: a log for inspect_ai, trajectories or tasks as Harbor has them"
    )
    out: Path | None = Field(None, description="folder to write; none: RUN/export")


def _export(options: ExportOptions) -> int:
    (run,) = load_runs([options.run])
    written = FORMATS[options.to](run, options.out or run.folder / "export")
    for path in written[:2]:
        print(f"written: {path}")
    if len(written) > 2:
        print(f"and {len(written) - 2} more")
    return 0


main = Command("matsmith export", str(__doc__), ExportOptions, _export)
