"""Whole runs: by rules, by replies of an endpoint, with a judge, with pictures, private."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from agents.models.rules import problems
from experiments.benchmarks.qmbench import benchmark
from experiments.benchmarks.qmbench.__main__ import gold_reply
from experiments.benchmarks.qmbench.__main__ import main as command
from experiments.benchmarks.qmbench.benchmark import QMBenchmark
from experiments.benchmarks.qmbench.points import points
from experiments.benchmarks.qmbench.scorer import problem_of
from experiments.report.runs import load_runs
from experiments.run import main
from tests.endpoint import Endpoint, text

CANARY = "canary-77aa31"


def rows(folder):
    lines = (Path(folder) / "results.jsonl").read_text().splitlines()
    return {row["question_id"]: row for row in map(json.loads, lines)}


def summary(folder):
    return json.loads((Path(folder) / "summary.json").read_text())


def run(out, *more):
    return main(["benchmark=qmbench", f"out={out}", *more])


@pytest.fixture(autouse=True)
def _here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("system", ["single", pytest.param("reflect", marks=pytest.mark.long)])
def test_rules_answer_numbers_and_structures_in_the_arm_tool(system, tmp_path, capsys):
    assert run(tmp_path / "out", "benchmark.arm=tool", "benchmark.items=4", f"system={system}",
               "retrieval=none") == 0  # fmt: skip
    found = rows(tmp_path / "out")
    told = summary(tmp_path / "out")
    assert len(told["unavailable"]) == 4
    assert set(told["unavailable"].values()) == {"model.images=false: the question has a picture"}
    known = {name for name, row in found.items() if row["labels"]["type"] in {"number", "poscar"}}
    assert len(known) == 16
    assert {name for name, row in found.items() if row["values"]["score"] == 1.0} == known
    for name in set(found) - known:
        assert found[name]["values"]["answered"] == 0.0
        assert "model=rules knows nothing of it" in found[name]["reasons"].values()
    assert "questions without an answer: 12, mostly: model=rules knows nothing of it" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_rules_read_every_sentence_of_their_templates(seed):
    for sample in QMBenchmark(seed=seed, items=8, arm="tool").load():
        reply = problems.answer(f"{sample.question.prompt}\n<answer>")
        known = sample.labels["type"] in {"number", "poscar"} and not sample.question.parts
        assert (reply is not None) == known, sample.question.prompt


def test_rules_know_no_other_sentence():
    asks = 'Write a function that returns the dict {"answer": VALUE}. <answer>'
    for other in ("Write a POSCAR file of ice.", "How large is the gap of silicon, in eV?",
                  "What is the Chern number of the lower band?", "POSCAR of a slab of jelly",
                  "supercell POSCAR of MgO in the rock salt structure, a = 4.2 Å"):  # fmt: skip
        assert problems.answer(f"{other} {asks}") is None
    assert problems.answer("Write a POSCAR file of the conventional cubic cell of MgO") is None


@pytest.mark.long
def test_rules_are_right_for_other_seeds(tmp_path):
    assert run(tmp_path / "out", "benchmark.arm=tool", "benchmark.items=6", "benchmark.seed=11",
               "benchmark.templates=[k_points,topology,gap,structure]") == 0  # fmt: skip
    assert [row["values"]["score"] for row in rows(tmp_path / "out").values()] == [1.0] * 24


def test_at_once_and_without_data(tmp_path, capsys):
    assert run(tmp_path / "out") == 0
    told = summary(tmp_path / "out")
    titles = [metric["title"] for metric in told["metrics"]]
    assert titles == ["score", "without images", "guessing", "above guessing", "answered"]
    assert {metric["title"]: metric["sum"] for metric in told["metrics"]}["answered"] == 0
    assert "questions without an answer: 21, mostly: model=rules knows nothing of it" in " ".join(
        capsys.readouterr().out.split()
    )
    page = (tmp_path / "out" / "report.html").read_text()
    assert "By topics" in page
    assert "By type" in page


def play(samples, replies):
    """An endpoint that knows what to say to which prompt; judges give half of every point."""
    by_prompt = {sample.question.prompt: sample for sample in samples}

    def answer(body):
        content = body["messages"][-1]["content"]
        asked = content if isinstance(content, str) else content[0]["text"]
        if "<judged>" in asked:
            most = [float(part.split('"')[0]) for part in asked.split('most="')[1:]]
            return text(json.dumps({"marks": [mark / 2 for mark in most]}))
        sample = next(s for prompt, s in by_prompt.items() if prompt in asked)
        return text(replies(sample))

    return answer


def openai(url, *more):
    return ["model=openai", "model.name=m", f"model.base_url={url}", "model.cache=false", *more]


def judge(url, *more):
    return ["judge=openai", "judge.name=j", f"judge.base_url={url}", "judge.cache=false", *more]


def test_right_replies_with_a_judge_and_pictures(httpserver, tmp_path):
    samples = QMBenchmark().load()
    endpoint = Endpoint(httpserver).play(play(samples, lambda s: gold_reply(problem_of(s))))
    kept = [f"judge.record={tmp_path / 'judge.jsonl'}", f"model.record={tmp_path / 'model.jsonl'}"]
    assert run(tmp_path / "out", *openai(endpoint.url), *judge(endpoint.url), *kept) == 0
    found = rows(tmp_path / "out")
    for row in found.values():
        share = 0.5 if row["labels"]["type"] == "text" else 1.0
        assert row["values"]["score"] == share, row
        assert ("text_only" in row["values"]) == (row["labels"]["template"] != "bands")
        drawn = list((tmp_path / "out" / "figures").glob(f"{row['question_id']}*"))
        assert bool(drawn) == (row["labels"]["template"] in {"bands", "structure"})
    assert summary(tmp_path / "out")["judge_calls"] == 3
    assert len(list((tmp_path / "out" / "images").iterdir())) == 3
    for name in ("judge.jsonl", "model.jsonl"):
        assert "iVBOR" not in (tmp_path / name).read_text()
    asked = [body for body in endpoint.bodies if len(body["messages"][-1]["content"]) == 2]
    assert len(asked) == 3
    assert all(
        body["messages"][-1]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")
        for body in asked
    )
    endpoint.play("nobody is asked")
    again = [f"judge.replay={tmp_path / 'judge.jsonl'}", f"model.replay={tmp_path / 'model.jsonl'}"]
    assert run(tmp_path / "again", *openai(endpoint.url), *judge(endpoint.url), *again) == 0
    assert endpoint.bodies == []
    assert {n: r["values"] for n, r in rows(tmp_path / "again").items()} == {
        name: row["values"] for name, row in found.items()
    }


def test_prose_without_a_judge_is_unknown_and_a_failing_judge_is_no_wrong_answer(
    httpserver, tmp_path
):
    samples = QMBenchmark(templates=["settings"]).load()
    endpoint = Endpoint(httpserver).play(play(samples, lambda _: "Spin polarisation."))
    only = "benchmark.templates=[settings]"
    assert run(tmp_path / "none", *openai(endpoint.url), only) == 1  # verdicts are missing
    unknown = rows(tmp_path / "none").values()
    assert [(row["values"]["score"], row["passed"]) for row in unknown] == [(None, None)] * 3
    assert (summary(tmp_path / "none")["answers"], summary(tmp_path / "none")["infra"]) == (0, 0)
    gone = judge("http://127.0.0.1:9/v1", "judge.max_retries=0")
    assert run(tmp_path / "gone", *openai(endpoint.url), *gone, only) == 1
    assert summary(tmp_path / "gone")["infra"] == 3


def test_marks_are_clamped(httpserver, tmp_path):
    def answer(body):
        if "<judged>" not in body["messages"][-1]["content"]:
            return text("Spin.")
        count = body["messages"][-1]["content"].count("<point ")
        return text(json.dumps({"marks": [99] * (count - 1) + [-5]}))

    endpoint = Endpoint(httpserver).play(answer)
    assert run(tmp_path / "out", *openai(endpoint.url), *judge(endpoint.url),
               "benchmark.templates=[settings]", "limit=1") == 0  # fmt: skip
    (row,) = rows(tmp_path / "out").values()
    marks = [value for name, value in row["values"].items() if name.startswith("point ")]
    assert marks[-1] == 0
    assert 0.5 < row["values"]["score"] < 1
    assert list(row["passed"].values()) == [True] * (len(marks) - 1) + [False]


def test_hostile_replies_have_a_named_verdict(httpserver, tmp_path):
    hostile = {
        "choice": "<answer>" + "A," * 200_000 + "Z</answer>",
        "number": "<answer>1e999999999</answer>",
        "poscar": "<file>\nx\n1.0\n1e9 0 0\n0 1e9 0\n0 0 1e9\nMg O\n4 4\nDirect\n"
                  + "0 0 0\n" * 8 + "</file>",
    }  # fmt: skip
    samples = QMBenchmark(items=2).load()
    endpoint = Endpoint(httpserver).play(
        play(samples, lambda s: hostile.get(problem_of(s).type, "no"))
    )
    assert run(tmp_path / "out", *openai(endpoint.url), "benchmark.items=2") == 1  # prose: no judge
    errors = {r["labels"]["type"]: r["artefacts"]["error"] for r in rows(tmp_path / "out").values()}
    assert errors["number"] == "NotFinite"
    assert errors["poscar"] == "InvalidCell"
    assert errors["choice"] == "no answer could be read"
    assert summary(tmp_path / "out")["infra"] == 0


PRIVATE = """\
id: secret
topics: [electronic]
type: choice
prompt: Which letter is the one that only we know?
choices: {{A: alpha-words, B: beta-words}}
canary: {canary}
answer: B
"""


def test_a_private_split_leaves_only_digests(httpserver, tmp_path):
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "secret.yaml").write_text(PRIVATE.format(canary=CANARY))
    endpoint = Endpoint(httpserver).play("<answer>B</answer> as alpha-words is wrong")
    assert run(tmp_path / "out", *openai(endpoint.url), f"benchmark.path={folder}",
               "benchmark.private=true") == 0  # fmt: skip
    assert rows(tmp_path / "out")["secret"]["values"]["score"] == 1.0
    kept = [path.read_text(errors="replace") for path in (tmp_path / "out").rglob("*")
            if path.is_file()]  # fmt: skip
    assert any("private, SHA-256" in content for content in kept)
    for secret in ("alpha-words", "only we know", CANARY):
        assert not any(secret in content for content in kept)
    (prompt,) = endpoint.prompts
    assert "only we know" in prompt
    assert CANARY not in prompt


@pytest.mark.parametrize("arm", ["direct", "tool"])
def test_canaries_and_golds_reach_no_prompt_and_no_sandbox(arm, httpserver, tmp_path):
    """The code looks through everything that it can read."""
    folder = tmp_path / "problems"
    folder.mkdir()
    (folder / "secret.yaml").write_text(PRIVATE.format(canary=CANARY))
    (folder / "p.yaml").write_text(
        "id: p\ntopics: [structure]\ntype: poscar\nprompt: Write a POSCAR.\nanswer: {poscar: g}\n"
    )
    gold = f"{CANARY}\n1.0\n3 0 0\n0 3 0\n0 0 3\nPo\n1\nDirect\n0 0 0\n"
    (folder / "g").write_text(gold)
    half, rest = CANARY[:9], CANARY[9:]
    hunt = (
        "def hunt():\n    import os\n    found = []\n"
        f"    wanted = {half!r} + {rest!r}\n"
        "    for top, _, files in os.walk('.'):\n"
        "        paths = [os.path.join(top, name) for name in files]\n"
        "        found += [p for p in paths if wanted in open(p, errors='replace').read()]\n"
        "    found += [v for v in os.environ.values() if wanted in v]\n"
        "    return {'answer': 'found' if found else 'nothing'}\n"
    )
    reply = f"<answer><code>```python\n{hunt}```</code><name>hunt</name></answer>"
    endpoint = Endpoint(httpserver).play(reply)
    assert run(tmp_path / "out", *openai(endpoint.url), f"benchmark.path={folder}",
               f"benchmark.arm={arm}") == 0  # fmt: skip
    assert endpoint.prompts
    assert not any(CANARY in prompt for prompt in endpoint.prompts)
    for path in (tmp_path / "out" / "trajectories").iterdir():
        kept = json.loads(path.read_text())
        assert CANARY not in json.dumps(kept)
        if arm == "tool":
            assert "nothing" in kept["execution"]["result"]


def test_points_of_ten(tmp_path, capsys):
    assert run(tmp_path / "direct", "benchmark.items=2") == 0
    assert run(tmp_path / "tool", "benchmark.items=2", "benchmark.arm=tool") == 0
    capsys.readouterr()
    assert command(["points", str(tmp_path / "direct"), str(tmp_path / "tool")]) == 0
    console = Console(file=io.StringIO(), width=200)
    console.print(points(load_runs([tmp_path / "direct", tmp_path / "tool"])))
    lines = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in console.file.getvalue().splitlines()
        if line.startswith("│")
    ]
    table = {line[0]: line[1:] for line in lines}  # fmt: skip
    assert table["all"][1].startswith("5.71 ± ")
    assert table["all"][1].endswith("(14)")
    assert table["all"][:2] == table["without images"][:2]
    assert table["type: poscar"] == ["0.00 ± 0.00 (2)", "10.00 ± 0.00 (2)", "+10.00 ± 0.00 (2)",
                                     "0.500"]  # fmt: skip
    assert {"topic: symmetry", "topic: optical", "difficulty: hard", "guessing"} <= set(table)
    assert list(table)[:3] == ["all", "without images", "type: choice"]
    # Every topic of a problem counts.
    counts = {name: int(line[1].rpartition("(")[2][:-1]) for name, line in table.items()}
    topics = sum(count for name, count in counts.items() if name.startswith("topic: "))
    assert topics > counts["all"]


def test_another_week_is_another_seed(monkeypatch):
    monkeypatch.setattr(benchmark, "_week", lambda: 202647)
    one = QMBenchmark(seed="week", items=1).load()
    assert [s.question for s in one] == [
        s.question for s in QMBenchmark(seed=202647, items=1).load()
    ]
