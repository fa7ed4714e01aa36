"""Worlds through the whole bench: oracle, baselines, and that no answer can look golds up."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from rich.console import Console

from experiments.benchmarks.folder.__main__ import main as check_folder
from experiments.benchmarks.folder.benchmark import FolderBenchmark
from experiments.benchmarks.invented.__main__ import main
from experiments.benchmarks.invented.benchmark import InventedBenchmark
from experiments.benchmarks.invented.knobs import Knobs
from experiments.benchmarks.invented.mistakes import differs
from experiments.benchmarks.invented.plans import depth_of
from experiments.benchmarks.invented.programs import program
from experiments.benchmarks.invented.questions import WorldError
from experiments.benchmarks.invented.ready import make, ready
from experiments.benchmarks.invented.world import World, generate
from experiments.benchmarks.question_format import question_folders
from experiments.config import validate
from experiments.job import execute
from experiments.rows import read_rows
from sandbox.factory import available

KNOBS: Mapping[str, Any] = {"size": 60, "depth": 2, "questions": 3}
#: Question -> the code that is replied to it; the test fills it in.
REPLIES: dict[str, str] = {}

# Looks for golds and references in everything that an answer can read.
HUNT = """\
def reference():
    import os
    wanted = {wanted!r}
    found, control = [], 0
    for folder, folders, files in os.walk("/"):
        folders[:] = [one for one in folders if one not in ("sys", "proc", "usr", "lib-dynload")]
        if folder.endswith("site-packages"):
            folders[:] = [one for one in folders if one == {package!r}]
        for name in files:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        text = file.read(1 << 20)
                    control += b"A power that keeps the sign" in text
                    found += [path for one in wanted if one.encode()[::-1] in text]
            except OSError:
                pass
    if found or not control:
        raise RuntimeError(f"{{control}} {{found}}")
    return dict.fromkeys({names!r})
"""


class Scripted(BaseChatModel):
    """Replies with what `REPLIES` holds for the question in the prompt."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        text = "\n".join(message.text for message in messages)
        code = next(code for goal, code in REPLIES.items() if goal in text)
        reply = f"<answer><code>```python\n{code}\n```</code><name>reference</name></answer>"
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply))])


def _crystal(prompt: str) -> str:
    """What tells the prompt of one question from that of another."""
    return prompt[prompt.index("They are wanted for one crystal") :].partition("\n\n")[0]


async def _run(folder: Path, *, model: dict[str, Any]) -> list[Any]:
    config = validate(
        {
            "system": {"_target_": "agents.single.Single", "name": "single"},
            "benchmark": {
                "_target_": "experiments.benchmarks.invented.benchmark.InventedBenchmark",
                "name": "invented",
                **KNOBS,
            },
            "retrieval": {"name": "none"},
            "model": {"cache": False, **model},
            "embedding": {"name": "none"},
            "sandbox": {"backend": "auto", "timeout": 60, "workers": 1},
            "out": str(folder),
        }
    )
    done = await execute(config, Console(file=io.StringIO()))
    return list(read_rows(done / "results.jsonl"))


SCRIPTED = {
    "provider": "class",
    "name": "scripted",
    "path": "tests.experiments.invented.test_bench.Scripted",
}


def _fill(code: Mapping[str, str]) -> InventedBenchmark:
    benchmark = InventedBenchmark(**KNOBS)
    REPLIES.clear()
    for sample in benchmark.load():
        REPLIES[_crystal(sample.question.prompt)] = code[sample.question.id]
    return benchmark


def _references() -> dict[str, str]:
    folders = question_folders(ready(Knobs(**KNOBS)).questions)
    return {folder.name: (folder / "reference.py").read_text() for folder in folders}


async def test_an_oracle_is_right_everywhere(tmp_path: Path) -> None:
    _fill(_references())
    rows = await _run(tmp_path / "run", model=SCRIPTED)
    assert len(rows) == 3
    assert all(passed for row in rows for passed in row.passed.values())
    assert sum(len(row.passed) for row in rows) >= 6
    assert {row.labels["depth"] for row in rows} == {"2"}
    assert {row.labels["gap"] for row in rows} == {"0"}


async def test_empty_answers_and_one_that_echoes_the_prompt_are_right_nowhere(
    tmp_path: Path,
) -> None:
    names = ("value_1", "value_2", "value_3", "value_4", "value_5")
    answers = zip(_references(), (None, "the crystal", 0), strict=True)
    code = {
        question: f"def reference():\n    return {dict.fromkeys(names, value)!r}\n"
        for question, value in answers
    }
    _fill(code)
    rows = await _run(tmp_path / "run", model=SCRIPTED)
    assert len(rows) == 3
    assert {row.outcome for row in rows} == {"ok"}
    assert not any(passed for row in rows for passed in row.passed.values())


async def test_the_link_that_breaks_first_is_named(tmp_path: Path) -> None:
    made, code, expected = generate(Knobs(**KNOBS)), {}, {}
    for question, where in zip(made.questions, ("1 of 2", "2 of 2", "1 of 2"), strict=True):
        plans = {one.name: one.plan for one in question.asked}
        leaf = where == "1 of 2"
        # One that takes numbers: three times a crystal has the same properties.
        deep = next(
            name
            for name, given in plans.items()
            if depth_of(given) == 2
            and all(one.call.entry.result in {"float", "int"} for one in given.call.inputs)
        )
        given = plans[deep]
        if leaf:  # the value that the function needs is computed wrongly: all but it are left out
            inner = next(one for one in given.call.inputs if one.call.entry.kind != "constant")
            wrong = replace(given, call=replace(inner.call, settings=()), factor=2.0)
            plans = {deep: wrong} if inner.call.settings else {}
        else:
            plans[deep] = replace(given, call=replace(given.call, inputs=tuple(
                replace(one, factor=one.factor * 3) for one in given.call.inputs)))  # fmt: skip
        code[question.id] = program(plans, question.crystal)
        expected[question.id] = where
    _fill(code)
    rows = await _run(tmp_path / "run", model=SCRIPTED)
    assert {row.question_id: row.artefacts["first wrong link"] for row in rows} == expected


async def test_closed_book_without_a_model_is_right_nowhere(tmp_path: Path) -> None:
    rows = await _run(tmp_path / "run", model={"provider": "rules", "name": "rules"})
    assert len(rows) == 3
    assert not any(passed for row in rows for passed in row.passed.values())


@pytest.mark.long
@pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine")
async def test_no_answer_finds_golds_references_or_questions(tmp_path: Path) -> None:
    benchmark = InventedBenchmark(**KNOBS)
    wanted = []
    for folder in question_folders(benchmark.world.questions):
        gold = json.loads((folder / "gold.json").read_text())["properties"]
        wanted += [repr(value) for value in gold.values() if isinstance(value, float)]
        wanted += [line for line in (folder / "reference.py").read_text().splitlines()
                   if line.startswith("from ") and "pymatgen" not in line]  # fmt: skip
    assert len(wanted) > 10
    code = {}
    for sample in benchmark.load():
        code[sample.question.id] = HUNT.format(
            wanted=[one[::-1] for one in wanted],  # so that the hunt does not find itself
            package=benchmark.packages[0],
            names=list(sample.question.formats),
        )
    _fill(code)
    rows = await _run(tmp_path / "run", model=SCRIPTED)
    # It ran to the end: it did see the package, and found nothing of what it looked for.
    assert [(row.outcome, row.reasons["value_1"]) for row in rows] == [("ok", "None")] * 3


def test_a_world_that_is_handed_on_can_be_asked_and_checked_as_a_folder(tmp_path: Path) -> None:
    made = make(Knobs(**KNOBS), tmp_path)
    samples = FolderBenchmark(tmp_path / "private", level="goal").load()
    asked = {q.id: {one.name: one.gold for one in q.asked} for q in made.questions}
    for sample in samples:
        golds = {prop.name: json.loads(prop.expected) for prop in sample.properties}
        assert not differs(asked.pop(sample.question.id), golds, 1e-6)
        assert sample.labels["depth"] == "2"
    assert not asked
    assert check_folder(["check", str(tmp_path / "private")]) == 0


@pytest.mark.long
def test_what_retrieval_is_measured_against_is_what_references_call() -> None:
    benchmark = InventedBenchmark(**KNOBS)
    gold = benchmark.gold().gold()
    package = benchmark.packages[0]
    assert set(gold) == {sample.question.id for sample in benchmark.load()}
    for folder in question_folders(benchmark.world.questions):
        text = (folder / "reference.py").read_text()
        used = {name for name in gold[folder.name] if name.startswith(f"{package}.")}
        assert len(used) >= 3
        assert all(name.rpartition(".")[2] in text for name in used)


@pytest.mark.long
def test_a_world_whose_references_fail_is_not_handed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoilt(knobs: Knobs) -> World:
        made = generate(knobs)
        name = next(n for n, text in made.files.items() if "value = " in text)
        text = made.files[name].replace("    value = ", "    value = 2 * ")
        return replace(made, files={**made.files, name: text})

    monkeypatch.setattr("experiments.benchmarks.invented.ready.generate", spoilt)
    with pytest.raises(WorldError, match="but the graph gives"):
        make(Knobs(**KNOBS), tmp_path / "world")


def test_the_command_says_what_is_wrong(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for words, said in (
        (["size=60"], "out=...: is required"),
        ([f"out={tmp_path / 'x'}", "deep=4"], "deep"),
        ([f"out={tmp_path / 'x'}", "depth=0"], "depth=0: give a whole number from 1 to 10"),
        ([f"out={Path(__file__).parent}"], "exists already"),
    ):
        assert main(words) == 2
        assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("size", "depth"), [(60, 2), (300, 4), (1500, 8)])
def test_a_world_passes_all_gates(
    size: int, depth: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = {60: "full", 300: "outdated", 1500: "source"}[size]
    words = [
        f"out={tmp_path / 'world'}",
        f"size={size}",
        f"depth={depth}",
        f"docs={docs}",
        "seed=2",
    ]
    assert main(words) == 0, capsys.readouterr().err
    told = capsys.readouterr().out
    assert f"{size} symbols, 30 questions" in told
    assert len(question_folders(tmp_path / "world" / "private" / "questions")) == 30
