"""Whole runs: every task on recorded traffic, the arms, and what needs no model."""

from __future__ import annotations

import json
import re

import pytest

from experiments.benchmarks.curie.benchmark import CurieBenchmark
from experiments.rows import read_rows
from experiments.run import main
from sandbox.factory import available
from tests.endpoint import Endpoint, text
from tests.experiments.curie.answers import perfect

pytestmark = pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine")
SMALL = ["benchmark=curie", "benchmark.items=1", "benchmark.words=[1000]"]


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def summary(folder):
    found = json.loads((folder / "summary.json").read_text())
    shares = {m["name"]: m["sum"] / m["total"] for m in found["metrics"] if m["total"]}
    return found, shares


def model(endpoint):
    url = f"model.base_url={endpoint.url}"
    return ["model=openai", "model.name=m", url, "model.cache=false"]


def rows(folder):
    found = [row.model_dump(exclude={"seconds", "sandbox_seconds"}) for row in
             read_rows(folder / "results.jsonl")]  # fmt: skip
    return sorted(found, key=lambda row: row["question_id"])


def knowing(samples):
    """An endpoint that answers each question perfectly, and judges kindly."""
    asked = {s.question.prompt: perfect(s) for s in samples}

    def play(body):
        said = "\n".join(str(message["content"]) for message in body["messages"])
        if "<judged>" in said:
            if "index" not in said:
                return text("good")
            gold = json.loads(said.split("Reference entry:")[1].split("Reply with")[0].replace(
                "\\n", "\n").replace("\\'", "'"))  # fmt: skip
            return text(json.dumps({"matches": [{"index": 0, "fields": dict.fromkeys(gold, 1)}]}))
        content = body["messages"][-1]["content"]
        said = content if isinstance(content, str) else content[0]["text"]
        return text(next(reply for prompt, reply in asked.items() if prompt in said))

    return play


@pytest.mark.parametrize("system", ["single", pytest.param("rag", marks=pytest.mark.long)])
def test_all_tasks_on_recorded_traffic(httpserver, tmp_path, system):
    samples = CurieBenchmark(items=1, words=(1000,)).load()
    endpoint = Endpoint(httpserver).play(knowing(samples))
    retrieval = "retrieval=llm_doc" if system == "rag" else "retrieval=none"
    run = [*SMALL, f"system={system}", retrieval, *model(endpoint)]
    recorded = f"model.record={tmp_path / 't.jsonl'}"
    assert main([*run, recorded, f"out={tmp_path / 'run'}"]) == 0
    found, shares = summary(tmp_path / "run")
    assert (found["answers"], found["infra"]) == (10, 0)
    assert shares["overall"] == pytest.approx(1.0)
    assert shares["published"] < 0.95
    image = next(b for b in endpoint.bodies if isinstance(b["messages"][-1]["content"], list))
    assert image["messages"][-1]["content"][1]["image_url"]["url"].startswith("data:image/png")
    endpoint.play("nobody is asked")
    replay = f"model.replay={tmp_path / 't.jsonl'}"
    assert main([*run, replay, f"out={tmp_path / 'again'}"]) == 0
    assert endpoint.bodies == []
    one, two = rows(tmp_path / "run"), rows(tmp_path / "again")
    for each in (*one, *two):
        del each["config_hash"]
    assert one == two
    page = (tmp_path / "run" / "report.html").read_text()
    for title in ("alignment", "box", "evidence"):
        assert re.search(rf">\s*{title}|alt=\"{title}", page), title


def test_a_judge_counts_apart_and_its_verdicts_are_kept(httpserver, tmp_path):
    samples = CurieBenchmark(items=1, words=(1000,), tasks=("mpv", "hfe")).load()
    endpoint = Endpoint(httpserver).play(knowing(samples))
    run = [*SMALL, "benchmark.tasks=[mpv,hfe]", "retrieval=none", *model(endpoint),
           "judge=openai", "judge.name=j", f"judge.base_url={endpoint.url}", "judge.cache=false",
           f"out={tmp_path / 'run'}"]  # fmt: skip
    assert main(run) == 0
    found, shares = summary(tmp_path / "run")
    entries = len(next(s for s in samples if s.labels["task"] == "mpv").target["gold"])
    assert (found["calls"], found["judge_calls"]) == (2, entries + 2)
    assert shares["llmsim"] == pytest.approx(1 / entries)  # the judge names entry 0 every time
    assert shares["lmscore_word"] == 1.0
    assert "lmscore" not in shares
    kept = [json.loads(p.read_text()) for p in (tmp_path / "run" / "trajectories").iterdir()]
    assert sum(len(each["judged"]) for each in kept) == entries + 2


def test_retrieval_says_what_it_found(tmp_path):
    run = [*SMALL, "benchmark.arm=retrieval", "benchmark.tasks=[mpv,pdb,dft_s]", "benchmark.k=3",
           "model=rules", "retrieval=none", f"out={tmp_path / 'run'}"]  # fmt: skip
    assert main(run) == 0
    found, shares = summary(tmp_path / "run")
    assert found["answers"] == 3
    assert 0 < shares["evidence"] < 1
    assert 0 < shares["identity"] < 1  # of the records that were shown


@pytest.mark.parametrize(("arm", "system"), [("direct", "single"), ("tool", "reflect")])
def test_sequences_and_captions_without_a_model(tmp_path, arm, system):
    run = ["benchmark=curie", "benchmark.items=2", "benchmark.words=[1000]", "retrieval=none",
           "benchmark.tasks=[pdb,biogr]", f"benchmark.arm={arm}", f"system={system}", "model=rules",
           "model.images=true", f"out={tmp_path / 'run'}"]  # fmt: skip
    assert main(run) == 0
    found, shares = summary(tmp_path / "run")
    assert found["answers"] == 4
    assert shares["identity"] == 1.0
    named = {row["question_id"]: row["values"]["iou"] for row in rows(tmp_path / "run")
             if "iou" in row["values"]}  # fmt: skip
    assert named == {"biogr-1-1": 0.0, "biogr-1-2": 1.0}  # only one caption has the degrees
    assert 0 < shares["world"] < 0.1


def test_what_the_rules_cannot_answer_they_say(tmp_path):
    run = [*SMALL, "benchmark.tasks=[hfe]", "model=rules", "retrieval=none"]
    run.append(f"out={tmp_path / 'r'}")
    assert main(run) == 0
    (kept,) = (tmp_path / "r" / "trajectories").iterdir()
    assert "without an LLM" in json.loads(kept.read_text())["answer"]


def test_a_paper_beyond_the_window_is_counted_and_not_sent(httpserver, tmp_path):
    endpoint = Endpoint(httpserver)
    run = ["benchmark=curie", "benchmark.items=1", "benchmark.words=[1000,8000]",
           "benchmark.tasks=[mpv]", "retrieval=none", *model(endpoint),
           "model.context_tokens=4000", f"out={tmp_path / 'run'}"]  # fmt: skip
    assert main(run) == 0
    found, shares = summary(tmp_path / "run")
    assert (found["answers"], found["infra"], len(endpoint.bodies)) == (2, 0, 1)
    assert shares["context"] == 0.5
    assert found["reply_faults"] == {"context": 1}


def test_a_wrong_option_is_one_line(tmp_path, capsys):
    assert main(["benchmark=curie", "benchmark.source=published", "model=rules"]) == 2
    assert "benchmark=curie: source=published needs path=CHECKOUT" in capsys.readouterr().err


CANARY = "canary-51d0c7e2aa"  # never written whole into a draft
HUNT = """\
import os

def hunt():
    wanted = ("canary-" + "51d0" + "c7e2aa").encode()
    found = []
    for folder, folders, files in os.walk("."):
        for name in files:
            with open(os.path.join(folder, name), "rb") as file:
                found += [name] if wanted in file.read() else []
    return {"answer": str(sorted(os.listdir("."))) + str(found or "nothing")}
"""


class Baited(CurieBenchmark):
    """Every gold, record and reference holds the canary."""

    def load(self):
        def baited(value):
            if isinstance(value, dict):
                return {key: baited(each) for key, each in value.items()} | {"canary": CANARY}
            if isinstance(value, list):
                return [*map(baited, value)]
            return f"{value} {CANARY}" if isinstance(value, str) else value

        samples = super().load()
        for sample in samples:
            held = {key: baited(sample.target[key]) for key in ("gold", "record", "clean")}
            sample.target.update(held)
        return samples


def test_no_gold_reaches_a_prompt_or_a_file(httpserver, tmp_path):
    code = f"<answer><code>```python\n{HUNT}\n```</code><name>hunt</name></answer>"
    endpoint = Endpoint(httpserver).play(code)
    run = [*SMALL, "benchmark._target_=tests.experiments.curie.test_runs.Baited", "system=reflect",
           "benchmark.arm=tool", "benchmark.tasks=[mpv,biogr,hfe]", "system.max_iterations=2",
           "retrieval=none", *model(endpoint), f"out={tmp_path / 'run'}"]  # fmt: skip
    assert main(run) == 0
    assert len(rows(tmp_path / "run")) == 3
    assert not any(CANARY in json.dumps(body) for body in endpoint.bodies)
    kept = [(tmp_path / "run" / "trajectories" / p.name).read_text()
            for p in (tmp_path / "run" / "trajectories").iterdir()]  # fmt: skip
    assert sum("paper.txt" in text and "nothing" in text for text in kept) == 3
    assert sum("map.png" in json.loads(t)["execution"]["result"] for t in kept) == 1
    assert not any(CANARY in text for text in kept)
