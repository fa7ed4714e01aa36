"""The layout of the published release, in a made-up release of a few rows."""

import json
import shutil

import pytest

from experiments.benchmarks.omnimatbench.benchmark import OmniMatBenchmark
from experiments.benchmarks.release import ReleaseError
from experiments.run.__main__ import main
from tests.endpoint import Endpoint, text
from tests.experiments import runs
from tests.experiments.runs import metrics, openai

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)
QA = {
    "id": 1, "type": "Materials Physics", "source_type": "book", "task_type": "explain",
    "source_name": "a book", "source_location": "p. 1", "multimodal": False,
    "image_url": "one, two", "question": "Why is $\\alpha$ < 1?", "answer": "Because.",
    "key_points": [{"id": "k1", "description": "it is small"},
                   {"id": "k2", "description": "it is \\frac{1}{2}"}],
    "scoring_weights": {"k1": 0.4, "k2": 0.6},
}  # fmt: skip


def cal(number, answers, **more):
    form = [["" for _ in group] if isinstance(group, list) else "" for group in answers]
    return {
        "id": number, "type": "Materials Science and Engineering", "source_name": "a book",
        "question": f"What is {number}?", "image_url": None, "final_answer_format": form,
        "final_answer_list": answers, "key_points": [f"y = {number} x"], **more,
    }  # fmt: skip


CAL = [
    cal(1, [["1.5 \\times 10^{4}"], ["\\tau = \\frac{Gb}{D}"]]),
    cal(2, ["12.30", "Yes"], image_url="gone"),
    cal(17, ["2.87", "0.96"]),
]


@pytest.fixture
def release(tmp_path):
    root = tmp_path / "OmniMatBench-main"
    qa = root / "qa" / "03"
    (qa / "images").mkdir(parents=True)
    (qa / "03_Materials_Physics_QA_rubric.json").write_text(json.dumps([QA]))
    for name in ("one.png", "two.PNG"):
        (qa / "images" / name).write_bytes(PNG)
    folder = root / "cal" / "01" / "01_Materials_Science_Cal"
    folder.mkdir(parents=True)
    lines = "\n".join(map(json.dumps, CAL))
    (folder / "01_Materials_Science_Cal_with_final_answers.jsonl").write_text(lines + "\n")
    return root


def load(path, **options):
    return OmniMatBenchmark(source="published", path=str(path), **options).load()


def test_rows_become_questions(release):
    one, two, three = load(release)
    assert [s.question.id for s in (one, two, three)] == ["cal-01-1", "cal-01-2", "cal-01-17"]
    assert one.target == {"slots": CAL[0]["final_answer_list"], "erratum": False}
    assert one.cluster == "a book"
    assert (one.labels["area"], one.labels["group"]) == ("Materials Science and Engineering", "FMS")
    assert one.question.answer.shape == [[""], [""]]
    assert two.unavailable == "its picture gone is not in images/"
    assert three.target["erratum"]
    (prose,) = load(release, split="qa")
    shown = [picture.mime for picture in prose.question.attachments]
    assert shown == ["image/png"] * 2  # `multimodal` is wrong
    assert [p["weight"] for p in prose.target["points"]] == [0.4, 0.6]
    assert "\\frac{1}{2}" in prose.target["points"][1]["text"]
    assert len(load(release, split="all")) == 4
    prompt = load(release, arm="formula")[0].question.prompt  # key points are the formulas
    assert "<formulas>\ny = 1 x\n</formulas>" in prompt


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda root: shutil.rmtree(root / "cal"), "has no folder cal"),
        (lambda root: _rows(root).write_text("{"), "jsonl:1: is no JSON"),
        (lambda root: _rows(root).write_bytes(b"\xff"), "cannot be read"),
        (lambda root: _rows(root).write_text("3"), "jsonl:1: an entry lacks"),
        (lambda root: _rows(root).write_text('{"id": 1}'), "jsonl:1: an entry lacks"),
        (lambda root: _rows(root).write_text(json.dumps(CAL[0] | {"final_answer_list": "5"})),
         "cal-01-1: final_answer_list"),
        (lambda root: _rows(root).write_text(""), "no question in cal/"),
    ],
)  # fmt: skip
def test_a_broken_release_is_one_line(release, spoil, message):
    spoil(release)
    with pytest.raises(ReleaseError, match=message):
        load(release)


def _rows(root):
    return next(root.rglob("*.jsonl"))


@pytest.mark.parametrize("changes", [
    {"scoring_weights": {"k1": 0.4}}, {"key_points": [{"id": "k1"}]},
])  # fmt: skip
def test_a_broken_rubric_is_one_line(release, changes):
    next(release.rglob("*rubric.json")).write_text(json.dumps([QA | changes]))
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
    run = ["benchmark=omnimatbench", "benchmark.source=published", f"benchmark.path={release}",
           *openai(endpoint.url), f"out={tmp_path / 'run'}"]  # fmt: skip
    assert main(run) == 0
    shares = metrics(tmp_path / "run")
    assert shares["micro"] == (1, 4)
    assert shares["lenient"] == (0.5, 1)  # the formula as well
    assert shares["sound"] == (0.5, 1)
    assert shares["published"] == (0.25, 1)
    assert runs.summary(tmp_path / "run")["unavailable"] == {
        "cal-01-2": "its picture gone is not in images/"
    }
