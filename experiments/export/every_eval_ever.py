"""Every Eval Ever, version 0.3: a record of the run, and a line for each answer and metric."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.export.turns import made, scores, tokens, turns
from experiments.report.runs import Run
from experiments.run.rows import Row
from experiments.run.store import write_json, write_text
from experiments.scorers.base import Metric

VERSION = "0.3.0"


def write(run: Run, out: Path) -> Sequence[Path]:
    """Write both files where the collection wants them; returns where."""
    summary = run.summary
    config = summary["config"]["model"]
    developer, _, name = (
        _safe(part) for part in f"{config['provider']}/{run.model}".partition("/")
    )
    digest = hashlib.sha256(f"{summary['config_hash']}{summary['questions_digest']}".encode())
    key = uuid.UUID(bytes=digest.digest()[:16], version=4)
    folder = Path("data") / _safe(summary["benchmark"]) / developer / name
    lines = folder / f"{key}_samples.jsonl"
    identity = f"{summary['benchmark']}/{developer}/{name}/{made(run).timestamp():.0f}"
    about = {"evaluation_id": identity, "model_id": f"{developer}/{name}"}
    rows = [record for row in run.scored for record in _records(run, row, about)]
    text = "".join(f"{json.dumps(record, default=repr)}\n" for record in rows)
    known = {"deployment_type": "unknown", "model_availability": "unknown"}
    record = {
        "schema_version": VERSION,
        "evaluation_id": identity,
        "evaluation_timestamp": made(run).isoformat(),
        "retrieved_timestamp": f"{made(run).timestamp():.0f}",
        "source_metadata": {
            "source_name": "matsmith", "source_type": "evaluation_run",
            "source_organization_name": "unknown", "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "matsmith", "version": summary["config_hash"],
            "additional_details": {
                "system": summary["system"], "retrieval": summary["retrieval"],
                "config": json.dumps(summary["config"]),
            },
        },
        "model_info": {
            "name": run.model, "id": f"{developer}/{name}", "developer": developer,
            "additional_details": known,
        },
        "evaluation_results": [_result(run, each) for each in run.metrics if _total(run, each)],
        "detailed_evaluation_results": {
            "format": "jsonl", "file_path": lines.as_posix(), "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(text.encode()).hexdigest(), "total_rows": len(rows),
        },
    }  # fmt: skip
    (out / folder).mkdir(parents=True, exist_ok=True)
    write_text(out / lines, text)
    write_json(out / folder / f"{key}.json", record)
    return [out / folder / f"{key}.json", out / lines]


def _safe(text: str) -> str:
    return re.sub(r"[^\w.-]+", "_", text).strip("._") or "none"


def _total(run: Run, metric: Metric) -> Mapping[str, Any] | None:
    found = next(entry for entry in run.summary["metrics"] if entry["name"] == metric.name)
    return found if found["total"] else None


def _result(run: Run, metric: Metric) -> dict[str, Any]:
    total, interval = _total(run, metric), run.interval(metric)
    assert total is not None
    bounds = (0.0, 1.0) if metric.unit == "%" else ("-Infinity", "Infinity")
    if " - " in metric.name:
        bounds = (-1.0, 1.0)
    details: dict[str, Any] = {"score": total["sum"] / total["total"]}
    if interval is not None:
        details["uncertainty"] = {
            "confidence_interval": {
                "lower": interval.low, "upper": interval.high, "confidence_level": 0.95,
                "method": "bootstrap over clusters of questions",
            },
            "num_samples": len(run.scored),
        }  # fmt: skip
    return {
        "evaluation_result_id": metric.name,
        "evaluation_name": run.summary["benchmark"],
        "source_data": {"dataset_name": run.summary["benchmark"], "source_type": "other"},
        "metric_config": {
            "evaluation_description": metric.about, "metric_id": f"matsmith.{metric.name}",
            "metric_name": metric.title, "lower_is_better": False, "score_type": "continuous",
            "min_score": bounds[0], "max_score": bounds[1],
        },
        "score_details": details,
    }  # fmt: skip


def _records(run: Run, row: Row, about: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    trajectory = run.trajectory(row)
    said = turns(trajectory)
    prompt, usage = trajectory["question"]["prompt"], trajectory["usage"]
    replies = [number for number, turn in enumerate(said) if turn.role == "assistant"]
    agentic = len(replies) > 1 or any(turn.calls or turn.seen for turn in said)
    where = f"messages[{replies[-1]}].content" if agentic else "output.raw"
    answer = trajectory["code"] or str(trajectory["value"] or trajectory["answer"] or "")
    messages = [
        {
            "turn_idx": number, "role": turn.role, "content": turn.text,
            "reasoning_trace": turn.reasoning,
            "tool_calls": [
                {
                    "id": call.id, "name": call.name,
                    "arguments": {key: str(value) for key, value in call.arguments.items()},
                }
                for call in turn.calls
            ] or None,
        }
        for number, turn in enumerate(said)
    ]  # fmt: skip
    for name, score in scores(run, row).items():
        yield {
            "schema_version": VERSION, **about,
            "evaluation_name": run.summary["benchmark"], "evaluation_result_id": name,
            "sample_id": f"{row.question_id}/{row.seed}",
            "interaction_type": "agentic" if agentic else "single_turn",
            "input": {"raw": prompt, "reference": []},
            "output": None if agentic else {"raw": [said[-1].text]},
            "messages": messages if agentic else None,
            "answer_attribution": [{
                "turn_idx": replies[-1] if agentic else 0, "source": where,
                "extracted_value": answer, "extraction_method": "custom", "is_terminal": True,
            }],
            "evaluation": {
                "score": score, "is_correct": row.all_correct, "num_turns": len(said),
                "tool_calls_count": sum(len(turn.calls) for turn in said),
            },
            "token_usage": tokens(usage) or None,
            "performance": {"latency_ms": 1000 * row.seconds},
            "error": row.error, "metadata": dict(row.labels),
        }  # fmt: skip
