"""Whole runs: slots, prose with a judge, pictures at an endpoint, and judges compared."""

import json

import pytest

from experiments import agreement
from experiments.benchmarks.omnimatbench.benchmark import OmniMatBenchmark
from experiments.benchmarks.omnimatbench.generate import proses
from experiments.report.tables import markdown
from experiments.report.taxonomy import count_failures
from experiments.run import main
from tests.endpoint import Endpoint, text


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def summary(folder):
    loaded = json.loads((folder / "summary.json").read_text())
    metrics = {m["name"]: (m["sum"], m["total"]) for m in loaded["metrics"]}
    return loaded, metrics


def rows(folder):
    lines = (folder / "results.jsonl").read_text().splitlines()
    return {row["question_id"]: row for row in map(json.loads, lines)}


def command(out, *more):
    return ["benchmark=omnimatbench", f"out={out}", *more]


def endpoint_of(httpserver, answer):
    """A model that answers by the first line of the question's prompt."""

    def play(body):
        content = body["messages"][-1]["content"]
        asked = content if isinstance(content, str) else content[0]["text"]
        return text(answer(asked, body))

    made = Endpoint(httpserver).play(play)
    return made, ["model=openai", "model.name=m", f"model.base_url={made.url}", "model.cache=false"]


def sent(value):
    return f"<answer>{json.dumps(value)}</answer>"


def test_slots_pictures_and_reasons(httpserver, tmp_path):
    benchmark = OmniMatBenchmark(items=1, templates=["lever", "tensile", "hall_petch", "bragg"])
    samples = {sample.question.prompt: sample for sample in benchmark.load()}

    def answer(asked, _body):
        sample = next(s for prompt, s in samples.items() if asked.startswith(prompt))
        golds = sample.target["slots"]
        if "lever" in sample.question.id:
            return sent([golds[0], "-" + golds[1], "", ""])  # a wrong sign, and padded
        if "bragg" in sample.question.id:
            return sent([f"{float(golds[0]) * 10:.1f}", "<script>alert(1)</script>"])
        return sent(golds)

    made, model = endpoint_of(httpserver, answer)
    run = command(tmp_path / "run", "benchmark.items=1", *model,
                  "benchmark.templates=[lever,tensile,hall_petch,bragg]")  # fmt: skip
    assert main(run) == 0
    loaded, metrics = summary(tmp_path / "run")
    assert metrics["micro"] == (6, 9)
    assert metrics["all_slots"] == (2, 4)
    assert metrics["padded"] == (1, 4)
    # Metallic Materials holds two questions: 5 of 5; the others 1 of 2 and 0 of 2.
    assert metrics["significant_figures"] == (pytest.approx(1.5), 3)
    assert metrics["published"] == (pytest.approx(1 + 3 / 4), 3)  # surplus slots pay
    found = rows(tmp_path / "run")
    assert found["cal-lever-0"]["reasons"]["slot 2"].startswith("sign: ")
    assert found["cal-lever-0"]["artefacts"] == {"padded": "4 slots for 2"}
    assert found["cal-bragg-0"]["reasons"]["slot 1"].startswith("factor of ten: ")
    assert found["cal-bragg-0"]["reasons"]["slot 2"].startswith("format: ")
    pictured = [b for b in made.bodies if not isinstance(b["messages"][-1]["content"], str)]
    (url,) = [b["messages"][-1]["content"][1]["image_url"]["url"] for b in pictured]
    assert url.startswith("data:image/png;base64,iVBOR")
    assert len(list((tmp_path / "run" / "images").iterdir())) == 1
    figures = json.loads((tmp_path / "run" / "figures" / "cal-tensile-0-0.json").read_text())
    assert figures["picture"] == url
    assert "<svg" in figures["gold and answer"]
    runs = agreement.load_runs([tmp_path / "run"])
    assert count_failures(runs[0].rows) == {"sign": 1, "factor of ten": 1, "format": 1}
    page = (tmp_path / "run" / "report.html").read_text()
    assert "factor of ten" in page
    assert "<script>alert" not in page
    assert loaded["judge"] is None


def test_rules_only_compute_where_formulas_are_given(tmp_path):
    for arm, right in (("formula", 30), ("direct", 0), ("retrieval", 0)):
        run = command(tmp_path / arm, "model=rules", f"benchmark.arm={arm}", "system=single")
        assert main(run) == 0
        loaded, metrics = summary(tmp_path / arm)
        assert metrics["all_slots"] == (right, 30), arm
        assert len(loaded["unavailable"]) == 18  # six templates with pictures
    assert main(command(tmp_path / "sets", "model=rules", "benchmark.arm=distractors")) == 0
    assert summary(tmp_path / "sets")[1]["all_slots"][0] >= 25


def test_a_right_answer_in_other_words(httpserver, tmp_path):
    """What is right scores 1 in every mode but the published one, which asks for the text."""

    def plain(slot):
        mantissa, times, power = slot.partition(" \\times 10^{")
        return f"{mantissa}e{power.rstrip('}')}" if times else slot

    by_id = {s.question.prompt: s for s in OmniMatBenchmark(items=2).load()}

    def answer(asked, _body):
        sample = next(s for prompt, s in by_id.items() if asked.startswith(prompt))
        golds = sample.target["slots"]
        nested = isinstance(golds[0], list)
        return sent([[plain(x) for x in g] for g in golds] if nested else list(map(plain, golds)))

    _, model = endpoint_of(httpserver, answer)
    assert main(command(tmp_path / "run", "benchmark.items=2", *model)) == 0
    _, metrics = summary(tmp_path / "run")
    for name in ("significant_figures", "micro", "lenient", "threshold", "all_slots"):
        assert metrics[name][0] == pytest.approx(metrics[name][1]), name
    assert metrics["published"][0] < metrics["published"][1]


@pytest.fixture
def prose():
    return {each.text: each for each in proses(1, 10)}


def judged(body):
    """A judge that knows what the three fixed answers deserve."""
    asked = body["messages"][-1]["content"]
    head, _, said = asked.rpartition("<judged>")
    points = [line.partition(">")[2].removesuffix("</point>") for line in head.splitlines()
              if line.startswith("<point ")]  # fmt: skip
    if '"quality"' in head:
        return json.dumps({"quality": [float(point in said) for point in points]})
    stated = [point for point in points if point in said]
    return json.dumps({"true": stated, "false": [] if stated else ["off topic"]})


@pytest.mark.parametrize("kind", ["all", "half", "off topic"])
def test_prose_of_known_verdict(httpserver, tmp_path, prose, kind):
    def answer(asked, body):
        if "<judged>" in asked:
            return judged(body)
        return next(p for start, p in prose.items() if asked.startswith(start)).fixed[kind][0]

    made, model = endpoint_of(httpserver, answer)
    judge = ["judge=openai", "judge.name=j", f"judge.base_url={made.url}", "judge.cache=false"]
    run = command(tmp_path / "run", "benchmark.split=qa", *model, *judge)
    assert main(run) == 0
    loaded, metrics = summary(tmp_path / "run")
    assert (loaded["answers"], loaded["judge_calls"], loaded["calls"]) == (10, 20, 10)
    shares = {name: gained / total for name, (gained, total) in metrics.items()}
    recalls = []
    for each in prose.values():
        qualities = each.fixed[kind][1]
        recalls.append(sum(q * w for q, (_, w) in zip(qualities, each.points, strict=True)))
    assert shares["recall"] == pytest.approx(sum(recalls) / 10)
    assert shares["precision"] == (0.0 if kind == "off topic" else 1.0)
    f1 = [2 * r / (1 + r) if r else 0.0 for r in recalls]
    assert shares["f1"] == pytest.approx(sum(f1) / 10)  # two questions in each subfield


def test_judges_are_compared(httpserver, tmp_path, prose, capsys):
    def answer(asked, body):
        if "<judged>" in asked:
            return judged(body)
        each = next(p for start, p in prose.items() if asked.startswith(start))
        return each.fixed[("all", "half", "off topic")[each.number % 3]][0]

    made, model = endpoint_of(httpserver, answer)
    judge = ["judge=openai", "judge.name=j", f"judge.base_url={made.url}", "judge.cache=false"]
    run = ["benchmark.split=qa", *model]
    assert main(command(tmp_path / "one", *run, *judge)) == 0
    assert main(command(tmp_path / "two", *run, "judge=rules")) == 0
    human = tmp_path / "human.csv"
    lines = ["question,name,mark"]
    for each in prose.values():
        qualities = each.fixed[("all", "half", "off topic")[each.number % 3]][1]
        lines += [f"{each.name},recall.quality[{n}],{q}" for n, q in enumerate(qualities, 1)]
    human.write_text("\n".join(lines))
    capsys.readouterr()
    one, two = (
        agreement.marks_of_run(found)
        for found in agreement.load_runs([tmp_path / "one", tmp_path / "two"])
    )
    people = agreement.marks_of_file(human)
    (exact,) = agreement.compare(one, people)
    assert (exact.name, exact.mae, exact.kappa) == ("recall.quality", 0, 1)
    assert exact.spearman == pytest.approx(1)
    assert exact.count == sum(len(each.points) for each in prose.values())
    lexical = {line.name: line for line in agreement.compare(one, two)}
    assert lexical["recall.quality"].spearman > 0.8
    assert {"f1", "precision", "recall"} <= lexical.keys()
    assert agreement.main([str(tmp_path / "one"), str(tmp_path / "two"), str(human)]) == 0
    assert "no LLM judge" in capsys.readouterr().out


def test_what_agreement_is_made_of():
    def marks(name, *values, text=None):
        by_key = {(f"q{n}", 0, "x[1]"): agreement.Mark(v, text) for n, v in enumerate(values)}
        return agreement.Marks(name, by_key)

    (line,) = agreement.compare(marks("a", 0, 0, 1, 1), marks("b", 0, 1, 1, 1))
    assert (line.name, line.count, line.mae) == ("x", 4, 0.25)
    assert line.kappa == pytest.approx(0.5)  # seen 3/4, by chance 1/2
    assert line.spearman == pytest.approx(1 / 3**0.5)
    (line,) = agreement.compare(marks("a", 1, 1), marks("b", 1, 1))
    assert (line.spearman, line.mae, line.kappa) == (None, 0, None)
    assert agreement.compare(marks("a", 1, text="h"), marks("b", 1, text="other")) == []


def test_agreement_refuses_what_it_cannot_compare(tmp_path, capsys):
    table = tmp_path / "x.csv"
    table.write_text("question,name,mark\nq,n,1\n")
    other = tmp_path / "y.csv"
    for content, message in (
        ("a,b\n1,2\n", "needs the columns"),
        ("question,name,mark\nq,n,good\n", "needs the columns"),
        ("question,name,mark\nq,n,nan\n", "line 2: the mark"), ("question,name,mark\n", "no marks"),
        ("question,name,mark\nother,n,1\n", "no mark in common"),
    ):  # fmt: skip
        other.write_text(content)
        assert agreement.main([str(table), str(other)]) == 2
        assert message in " ".join(capsys.readouterr().err.split())
    assert agreement.main([str(table)]) == 2


def test_without_a_judge_prose_has_no_verdict(httpserver, tmp_path):
    _, model = endpoint_of(httpserver, lambda *_: "Something.")
    run = command(tmp_path / "run", "benchmark.split=qa", "benchmark.questions=2", *model)
    main(run)
    loaded, metrics = summary(tmp_path / "run")
    assert metrics["f1"] == (0, 0)
    assert loaded["answers"] == 0
    assert "| 2 not judged |" in markdown(agreement.load_runs([tmp_path / "run"]))


def test_an_empty_answer_is_wrong_without_asking_the_judge(httpserver, tmp_path):
    made, model = endpoint_of(httpserver, lambda *_: " ")
    judge = ["judge=openai", "judge.name=j", f"judge.base_url={made.url}", "judge.cache=false"]
    run = command(tmp_path / "run", "benchmark.split=qa", "benchmark.questions=2", *model, *judge)
    assert main(run) == 0
    loaded, metrics = summary(tmp_path / "run")
    assert (loaded["judge_calls"], metrics["f1"][0]) == (0, 0)
    assert loaded["answers"] == 2


def test_both_halves_count_alike(httpserver, tmp_path):
    def answer(asked, body):
        return judged(body) if "<judged>" in asked else "no idea"

    made, model = endpoint_of(httpserver, answer)
    judge = ["judge=openai", "judge.name=j", f"judge.base_url={made.url}", "judge.cache=false"]
    small = ["benchmark.questions=2", "benchmark.items=1", "benchmark.templates=[lever,bragg,fick]"]
    run = command(tmp_path / "run", "benchmark.split=all", *small, *model, *judge)
    assert main(run) == 0
    _, metrics = summary(tmp_path / "run")
    assert metrics["overall"] == (0, 2)


def test_code2_and_the_tool_arm(httpserver, tmp_path):
    def answer(asked, body):
        if "First write one Python program" in asked:
            return "```python\nprint(6 * 7)\n```"
        if "<printed>" in asked:
            return sent(["42", "1"]) if "42" in asked else sent(["0", "0"])
        code = (
            "def f():\n    data = open('picture.png', 'rb').read()\n"
            "    assert data[:4] == b'\\x89PNG'\n    return {'answer': (1.5, '2')}"
        )
        return f"<answer><code>```python\n{code}\n```</code><name>f</name></answer>"

    made, model = endpoint_of(httpserver, answer)
    some = ["benchmark.items=1", "benchmark.templates=[tensile]", *model]
    assert main(command(tmp_path / "code2", "system=code2", *some)) == 0
    loaded, metrics = summary(tmp_path / "code2")
    assert (loaded["calls"], loaded["executions"], metrics["micro"][1]) == (2, 1, 2)
    trajectory = json.loads((tmp_path / "code2/trajectories/cal-tensile-0-0.json").read_text())
    assert trajectory["value"] == ["42", "1"]
    assert main(command(tmp_path / "tool", "benchmark.arm=tool", *some)) == 0
    found = rows(tmp_path / "tool")["cal-tensile-0"]
    assert found["outcome"] == "ok", found["error"]
    assert set(found["passed"]) == {"slot 1", "slot 2"}
    assert "1.5 given" in found["reasons"]["slot 1"]
    assert any(not isinstance(m["content"], str) for b in made.bodies for m in b["messages"])
