"""What tests of whole runs share: how a model and a judge are named, and what a run leaves."""

import json

from agents.models import ModelConfig, build_model
from experiments.scorers.judge import Judge


def openai(url, *more):
    return [
        "model=openai",
        "model.name=m",
        f"model.base_url={url}",
        "model.cache=false",
        *more,
    ]


def judging(url, *more, name="j"):
    return [
        "judge=openai",
        f"judge.name={name}",
        f"judge.base_url={url}",
        "judge.cache=false",
        *more,
    ]


def judge(endpoint):
    config = {
        "provider": "openai",
        "name": "j",
        "base_url": endpoint.url,
        "max_retries": 0,
    }
    return Judge(build_model(ModelConfig(**config)))


def asked(body):
    """The text of the last message of a request."""
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else content[0]["text"]


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


def metrics(folder):
    return {m["name"]: (m["sum"], m["total"]) for m in summary(folder)["metrics"]}


def rows(folder):
    lines = (folder / "results.jsonl").read_text().splitlines()
    return {row["question_id"]: row for row in map(json.loads, lines)}


def trajectories(folder):
    return [
        json.loads(path.read_text()) for path in (folder / "trajectories").iterdir()
    ]
