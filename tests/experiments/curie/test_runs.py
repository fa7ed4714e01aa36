"""Whole runs: a judge, and the arms."""

import json
import re

import pytest

from experiments.benchmarks.curie.benchmark import CurieBenchmark
from experiments.run.__main__ import main
from sandbox.factory import available
from tests.endpoint import Endpoint, text, tool_calls
from tests.experiments.runs import openai

pytestmark = pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine")


def test_rag_retrieves_from_the_paper_and_nothing_else(httpserver, tmp_path):
    samples = {s.question.id: s for s in CurieBenchmark(tasks=("mpv", "dft_s")).load()}
    endpoint = Endpoint(httpserver).play(lambda _: text("[]"))
    run = ["benchmark=curie", "benchmark.arm=retrieval", "benchmark.tasks=[mpv,dft_s]",
           "system=rag", "system.k=2", "retrieval.mode=hybrid", "embedding=hashing",
           *openai(endpoint.url), f"out={tmp_path / 'run'}"]  # fmt: skip
    assert main(run) == 0
    assert len(endpoint.bodies) == 4
    for file in (tmp_path / "run" / "trajectories").iterdir():
        trajectory = json.loads(file.read_text())
        steps = {step["kind"]: step for step in trajectory["steps"]}
        prompt = steps["model"]["messages"][-1]["content"]
        paper = samples[file.stem.rpartition("-")[0]].question.searched.text
        found = re.findall(r"<document [^>]*>\n(.*?)\n</document>", prompt, re.DOTALL)
        assert 1 <= len(found) <= 2
        assert all(chunk in paper for chunk in found)
        assert paper not in prompt
        assert {hit["id"].rpartition(":")[0] for hit in steps["retrieve"]["hits"]} == {
            "question:paper.txt"
        }  # fmt: skip


def test_the_tools_search_the_paper(httpserver, tmp_path):
    def play(body):
        asked = sum(message["role"] == "tool" for message in body["messages"])
        if asked:
            return text("[]")
        return tool_calls(
            ("search", '{"queries": ["band gap"]}'), ("lookup", '{"names": ["paper.part1"]}')
        )

    endpoint = Endpoint(httpserver).play(play)
    run = ["benchmark=curie", "benchmark.arm=retrieval", "benchmark.tasks=[mpv]", "limit=1",
           "system=tools", *openai(endpoint.url), f"out={tmp_path / 'run'}"]  # fmt: skip
    assert main(run) == 0
    results = [m["content"] for m in endpoint.bodies[-1]["messages"] if m["role"] == "tool"]
    (sample,) = CurieBenchmark(tasks=("mpv",)).load()[:1]
    assert "paper.part" in results[0]
    assert sample.question.searched.text[:200] in results[1]
