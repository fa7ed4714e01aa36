"""Rows and trajectories of finished runs, for tests of what is made of them."""

import json

from experiments.record import Row
from tests.support.paths import DATA


def row(question="a", seed=0, **changes):
    fields = {
        "config_hash": "h",
        "question_id": question,
        "seed": seed,
        "labels": {},
        "cluster": "",
        "parts": 1,
        "outcome": "ok",
        "values": {"runnable": 1.0},
        "passed": {"x": True},
        "reasons": {},
        "artefacts": {},
        "stop_reason": "answered",
        "format_status": "strict",
        "calls": 1,
        "cached_calls": 0,
        "prompt_tokens": 1,
        "completion_tokens": 1,
        "tokens_estimated": False,
        "cost_usd": None,
        "executions": 0,
        "seconds": 0.1,
        "sandbox_seconds": 0.1,
        "tier": "bubblewrap",
        "error": None,
    }
    return Row(**(fields | changes))


INFRA = {"outcome": "infra", "values": {}, "passed": None, "stop_reason": "model_error"}


QUESTIONS = ("cubic", "formula", "lists", "plain")


HOSTILE = "</pre></script><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\x00\ud800"


def trajectory(prompt=None):
    text = (
        (DATA / "of_runs" / "trajectory.json")
        .read_text()
        .replace("HOSTILE", json.dumps(HOSTILE)[1:-1])
    )
    plain = json.loads(text)
    plain["question"]["prompt"] = prompt or plain["question"]["prompt"]
    return plain


def failed(reason, **changes):
    return {"passed": {"x": False}, "reasons": {"x": reason}} | changes
