"""What an author of a benchmark gets wrong is told in one line, before anything is paid for."""

import json
import linecache
import sys
from dataclasses import replace

import pytest

from experiments.benchmarks.own import Task, json_samples
from experiments.benchmarks.question_format import QuestionError, data_files
from experiments.command import main
from experiments.regrade import main as regrade
from experiments.report import tables
from experiments.run.config import read_run
from experiments.run.setup import load_samples, scorer_digest
from experiments.scorers.grading import ChoiceScorer, accuracy
from foundation.errors import UsageError
from tests.support.tiny import TinyBenchmark

GUESSES = [
    "benchmark=tests.experiments.benchmarks.test_authors_mistakes:guesses",
    "system=single",
    "model=none",
]


class Absent(Task):
    """Its data lack a key."""

    def load(self):
        return {}["answer"]


@pytest.mark.parametrize(
    ("benchmark", "words"),
    [
        (Task(2 * TinyBenchmark().load()), ["several questions have the id", "cubic"]),
        (Absent(()), [f"{__file__}:", "KeyError: 'answer'"]),
    ],
)
def test_a_benchmark_that_cannot_be_loaded(benchmark, words):
    config = read_run(["benchmark=live", "system=single"])
    with pytest.raises(UsageError) as refused:
        load_samples(benchmark, config)
    for word in ["benchmark=live: ", *words]:
        assert word in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            '{"input": "a", "target": 1}\n{"input": "b"\n',
            ["data.jsonl:2: is not valid JSON"],
        ),
        ('[{"input": "a",\n "target": }]', ["data.jsonl:2: is not valid JSON"]),
        (
            '{"input": "a", "target": 1}\n{"target": 1}',
            ["data.jsonl:2: KeyError: 'input'"],
        ),
        (
            '{"input": "a", "target": "c", "choices": ["d"]}',
            ["data.jsonl:1:", "c is none of"],
        ),
        ('{"input": "a", "target": 1, "files": ["b.png"]}', ["data.jsonl:1:", "b.png"]),
        (
            '{"id": 7, "input": "a", "target": 1}\n' * 2,
            ["several questions have the id 7"],
        ),
    ],
)
def test_a_file_of_samples_that_cannot_be_read(tmp_path, capsys, content, words):
    (tmp_path / "data.jsonl").write_text(content)
    assert main([*GUESSES, f"path={tmp_path / 'data.jsonl'}"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    for word in ["error: benchmark=guesses: ", *words]:
        assert word in told


def guesses(path: str):
    """Whatever a file asks."""
    return Task(json_samples(path))


def test_what_most_answers_fail_for_is_told(tmp_path, capsys):
    lines = [json.dumps({"input": f"{n}?", "target": n}) for n in range(4)]
    (tmp_path / "data.jsonl").write_text("\n".join(lines))
    answers = [
        json.dumps({"id": str(n), "answer": "<answer>3</answer>"}) for n in range(1, 5)
    ]
    (tmp_path / "answers.jsonl").write_text("\n".join(answers) + "\n")
    words = [f"path={tmp_path / 'data.jsonl'}", f"out={tmp_path / 'out'}"]
    assert regrade([GUESSES[0], f"answers={tmp_path / 'answers.jsonl'}", *words]) == 0
    assert (
        "3 of 4 answers fail for the same reason: the answer is 3.0"
        in capsys.readouterr().out
    )


def test_a_scorer_that_was_changed_is_announced(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "data.jsonl").write_text('{"input": "1?", "target": 1}')
    told = []
    for rule in ("answer == 1", "answer == 1", "answer == 2", "answer == 2"):
        (tmp_path / "rules.py").write_text(
            "from matsmith.extend import Task, json_samples\n"
            f"def right(sample, answer):\n    return {rule}\n"
            f"def rules():\n    return Task(json_samples('{tmp_path}/data.jsonl'), right)\n"
        )
        linecache.clearcache()
        sys.modules.pop("rules", None)
        assert (
            main(["benchmark=rules:rules", "system=oracle", f"out={tmp_path / 'out'}"])
            == 0
        )
        told.append(
            "`matsmith regrade benchmark=rules:rules " in capsys.readouterr().out
        )
    assert told == [False, False, True, True]
    assert scorer_digest(Task((), accuracy).scorer) == scorer_digest(
        Task((), accuracy).scorer
    )
    parameter = replace(ChoiceScorer(), executes=True)
    assert scorer_digest(parameter) != scorer_digest(ChoiceScorer())


def test_a_name_is_only_text_in_markdown():
    assert tables._escaped("[a](http://x)|<b>\n`c`") == r"\[a\](http://x)\|\<b\> \`c\`"


def test_a_link_of_a_question_reads_no_file_of_the_host(tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("k")
    for name, link, target in (
        ("file", "data/POSCAR", "secret/key"),
        ("folder", "data/more", "secret"),
        ("whole", "data", "secret"),
    ):
        path = tmp_path / name / link
        path.parent.mkdir(parents=True)
        path.symlink_to(tmp_path / target)
        with pytest.raises(QuestionError, match="is a link"):
            data_files(tmp_path / name)
    honest = tmp_path / "honest" / "data"
    honest.mkdir(parents=True)
    (honest / "POSCAR").write_text("x")
    (honest / "CONTCAR").symlink_to("POSCAR")
    assert sorted(data_files(tmp_path / "honest")) == ["data/CONTCAR", "data/POSCAR"]
