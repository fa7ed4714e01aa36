"""The layout of the release, in a made-up one of a few rows; whole runs; judges compared."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from experiments import agreement
from experiments.benchmarks.omnimatbench.benchmark import OmniMatBenchmark
from experiments.benchmarks.omnimatbench.slots import Slots
from experiments.benchmarks.release import ReleaseError
from experiments.command import main
from foundation.configuration import data_of
from tests.support import runs
from tests.support.endpoint import Endpoint, text
from tests.support.runs import judging, metrics, openai, rows

RELEASE = Path(__file__).with_name("release")  # a made-up one
ROW = json.loads(next(RELEASE.rglob("*.jsonl")).read_text().splitlines()[0])


@pytest.fixture
def release(tmp_path):
    return shutil.copytree(RELEASE, tmp_path / "OmniMatBench-main")


def load(path, **options):
    return OmniMatBenchmark(source="published", path=str(path), **options).load()


def test_rows_become_questions(release):
    one, two, three = load(release)
    assert [s.question.id for s in (one, two, three)] == [
        "cal-01-1",
        "cal-01-2",
        "cal-01-17",
    ]
    assert one.target == {"slots": ROW["final_answer_list"], "erratum": False}
    assert one.cluster == "a book"
    assert (one.labels["area"], one.labels["group"]) == (
        "Materials Science and Engineering",
        "FMS",
    )
    assert one.question.answer.shape == [[""], [""]]
    assert two.unavailable == "its picture gone is not in images/"
    assert three.target["erratum"]
    (prose,) = load(release, split="qa")
    shown = [picture.mime for picture in prose.question.attachments]
    assert shown == ["image/png"] * 2  # `multimodal` is wrong
    assert [p["weight"] for p in prose.target["points"]] == [0.4, 0.6]
    assert "\\frac{1}{2}" in prose.target["points"][1]["text"]
    assert len(load(release, split="all")) == 4
    prompt = load(release, arm="formula")[
        0
    ].question.prompt  # key points are the formulas
    assert "<formulas>\ny = 1 x\n</formulas>" in prompt


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda root: shutil.rmtree(root / "cal"), "has no folder cal"),
        (lambda root: _rows(root).write_text("{"), "jsonl:1: is not valid JSON"),
        (lambda root: _rows(root).write_bytes(b"\xff"), "cannot be read"),
        (lambda root: _rows(root).write_text("3"), "jsonl:1: an entry lacks"),
        (lambda root: _rows(root).write_text('{"id": 1}'), "jsonl:1: an entry lacks"),
        (
            lambda root: _rows(root).write_text(
                json.dumps(ROW | {"final_answer_list": "5"})
            ),
            "cal-01-1: final_answer_list",
        ),
        (lambda root: _rows(root).write_text(""), "no question in cal/"),
    ],
)
def test_a_broken_release_is_one_line(release, spoil, message):
    spoil(release)
    with pytest.raises(ReleaseError, match=message):
        load(release)


def _rows(root):
    return next(root.rglob("*.jsonl"))


@pytest.mark.parametrize(
    "changes",
    [
        {"scoring_weights": {"k1": 0.4}},
        {"key_points": [{"id": "k1"}]},
    ],
)
def test_a_broken_rubric_is_one_line(release, changes):
    file = next(release.rglob("*rubric.json"))
    file.write_text(json.dumps([json.loads(file.read_text())[0] | changes]))
    with pytest.raises(ReleaseError, match="qa-03-1: a key point lacks"):
        load(release, split="qa")


def test_formulas_are_compared_in_the_sandbox_and_errata_are_left_out(
    release, httpserver, tmp_path
):
    def play(body):
        asked = body["messages"][-1]["content"]
        if "What is 17?" in asked:
            return text('<answer>["1e999999999", "0"]</answer>')
        return text('<answer>[[15000], ["G*b/D"]]</answer>')

    endpoint = Endpoint(httpserver).play(play)
    run = [
        "benchmark=omnimatbench",
        "benchmark.source=published",
        f"benchmark.path={release}",
        *openai(endpoint.url),
        f"out={tmp_path / 'run'}",
    ]
    assert main(run) == 0
    shares = metrics(tmp_path / "run")
    assert shares["micro"] == (1, 4)
    assert shares["lenient"] == (0.5, 1)  # the formula as well
    assert shares["sound"] == (0.5, 1)
    assert shares["published"] == (0.25, 1)
    assert runs.summary(tmp_path / "run")["unavailable"] == {
        "cal-01-2": "its picture gone is not in images/"
    }


TABLES = data_of(__file__, "tables")
MUCH = ["[" * 9999, "x" * 2_000_000, "```x" + " " * 99_999 + "y"]
REPLIES = [*TABLES["replies"], *((text, None, None) for text in MUCH)]


def command(out, *more):
    return ["benchmark=omnimatbench", f"out={out}", *more]


def endpoint_of(httpserver, answer):
    made = Endpoint(httpserver).play(lambda body: text(answer(runs.asked(body), body)))
    return made, openai(made.url)


def sent(value):
    return f"<answer>{json.dumps(value)}</answer>"


@pytest.mark.parametrize(("reply", "value", "status"), REPLIES)
def test_one_slot_is_read_as_the_authors_read_it(reply, value, status):
    reading = Slots([""]).read(reply)
    assert (reading and reading.value, reading and reading.status) == (value, status)


def test_samples_arms_and_golds():
    samples = OmniMatBenchmark(split="all").load()
    assert [
        sum(s.labels["split"] == split for s in samples) for split in ("cal", "qa")
    ] == [33, 5]
    assert sum(bool(s.question.attachments) for s in samples) == 3
    arms = ("direct", "formula", "distractors", "retrieval", "search", "tool")
    targets = {
        arm: [s.target["slots"] for s in OmniMatBenchmark(arm=arm).load()]
        for arm in arms
    }
    assert all(target == targets["direct"] for target in targets.values())
    chosen = {str(s.target["slots"]) for s in OmniMatBenchmark(arm="choose").load()}
    assert chosen <= {f"['{letter}']" for letter in "ABCD"}


def test_slots_pictures_reasons_and_asking_again(httpserver, tmp_path):
    samples = {s.question.prompt: s for s in OmniMatBenchmark().load()}
    asked_of = Counter()

    def answer(asked, body):
        first = body["messages"][0]["content"]
        first = first if isinstance(first, str) else first[0]["text"]
        sample = next(s for prompt, s in samples.items() if first.startswith(prompt))
        golds, task = sample.target["slots"], sample.labels["task"]
        asked_of[sample.question.id] += 1
        if task == "lever":
            return sent([golds[0], "-" + golds[1], "", ""])  # a wrong sign, and padded
        if task == "arrhenius":  # one slot: unreadable twice, then without a list
            return (
                "Sorry."
                if asked_of[sample.question.id] < 3
                else f"<answer>{golds[0]}</answer>"
            )
        return "never" if task == "hall_petch" else sent(golds)

    _, model = endpoint_of(httpserver, answer)
    assert main(command(tmp_path / "run", *model, "model.images=true")) == 0
    loaded, shares = runs.summary(tmp_path / "run"), metrics(tmp_path / "run")
    assert set(asked_of.values()) == {1, 3}
    # 10 of 20 (lever), 10 of 10 (arrhenius), 0 of 30 (hall_petch), 7 of 7 (pictures)
    assert shares["micro"] == (27, 67)
    assert shares["padded"] == (10, 33)
    assert shares["again"] == (40, 33)
    found = list(rows(tmp_path / "run").values())
    assert [r["artefacts"]["wrong_type"] for r in found].count(
        "not the list asked for"
    ) == 20
    assert any(r["reasons"].get("slot 2", "").endswith(" given") for r in found)
    figures = [
        json.loads(f.read_text()) for f in (tmp_path / "run" / "figures").iterdir()
    ]
    assert sum("picture" in each for each in figures) == 3
    assert all("<svg" in each["gold and answer"] for each in figures)
    assert loaded["judge"] is None


def judged(quality):
    """A judge that gives every point one quality."""

    def answer(asked, body):
        if "<judged>" not in asked:
            return "Something about the material."
        points = asked.count("<point ")
        if "quality_score" in asked:
            return json.dumps(
                {
                    "met": [1] * points,
                    "quality_score": [quality] * points,
                    "quote": ["something"] * points,
                }
            )
        assert "redundant" in asked
        return json.dumps({"true": ["a"], "false": ["b"]})

    return answer


def test_prose_is_judged_as_published_and_judges_are_compared(
    httpserver, tmp_path, capsys
):
    marks = []

    def answer(asked, body):
        return judged(marks[-1])(asked, body)

    made, model = endpoint_of(httpserver, answer)
    for name, quality in (("one", 1.0), ("two", 0.45)):
        marks.append(quality)
        run = command(tmp_path / name, "benchmark.split=qa", *model, *judging(made.url))
        assert main(run) == 0
        loaded, shares = runs.summary(tmp_path / name), metrics(tmp_path / name)
        assert (loaded["answers"], loaded["judge_calls"]) == (5, 10)
        nearest = 0.5 if quality < 1 else 1.0
        assert shares["recall"][0] / shares["recall"][1] == pytest.approx(nearest)
        assert shares["precision"][0] / shares["precision"][1] == 0.5
    figures = [
        json.loads(f.read_text()) for f in (tmp_path / "two" / "figures").iterdir()
    ]
    assert all("something" in each["key points"] for each in figures)
    capsys.readouterr()
    one, two = (
        agreement.marks_of_run(found)
        for found in agreement.load_runs([tmp_path / "one", tmp_path / "two"])
    )
    lines = {line.name: line for line in agreement.compare(one, two)}
    assert set(lines) == {
        "points.met",
        "points.quality_score",
        "statements.true",
        "statements.false",
        "precision",
        "recall",
        "f1",
    }
    assert lines["f1"].count == 5
    assert lines["points.quality_score"].mae == pytest.approx(0.55)
    assert agreement.main([str(tmp_path / "one"), str(tmp_path / "two")]) == 0


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("llmsim:3.matches[2].fields.spin", "llmsim.matches.fields"),
        ("lmscore", "lmscore"),
        ("llmsim:3.matches", "llmsim.matches"),
        ("points.quality_score[4]", "points.quality_score"),
        ("recall.marks[1]", "recall.marks"),
    ],
)
def test_kinds_of_marks(name, kind):
    assert agreement.kind_of(name) == kind


def test_what_agreement_is_made_of(tmp_path, capsys):
    def marks(*values, text=None):
        return {
            (f"q{n}", 0, "x[1]"): agreement.Mark(v, text) for n, v in enumerate(values)
        }

    (line,) = agreement.compare(marks(0, 0, 1, 1), marks(0, 1, 1, 1))
    assert (line.name, line.count, line.mae) == ("x", 4, 0.25)
    assert line.kappa == pytest.approx(0.5)  # seen 3/4, by chance 1/2
    assert line.spearman == pytest.approx(1 / 3**0.5)
    (line,) = agreement.compare(marks(1, 1), marks(1, 1))
    assert (line.spearman, line.mae, line.kappa) == (None, 0, None)
    assert agreement.compare(marks(1, text="h"), marks(1, text="other")) == []
    files = [tmp_path / who / "human.csv" for who in ("anna", "ben")]  # of one name
    for file in files:
        file.parent.mkdir()
        file.write_text("question,name,mark\nq,x,1\n")
    assert agreement.main(list(map(str, files))) == 0
    assert capsys.readouterr().out.count("human") == 2


@pytest.mark.parametrize(("value", "marks"), TABLES["marks"])
def test_what_of_a_verdict_is_a_mark(value, marks):
    assert dict(agreement._numbers(value, "p")) == marks
