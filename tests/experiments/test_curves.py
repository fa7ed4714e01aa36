"""A grid of runs: every cell an ordinary run, one table, plots with intervals."""

from __future__ import annotations

import asyncio
import csv
import html.parser
import os
import re
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from agents.base import Question, Trajectory
from agents.episode import Parts
from experiments import curves
from experiments.report import curves as page
from experiments.report.lines import Point, lines
from experiments.report.runs import load_runs
from experiments.rows import read_rows
from experiments.samples import Property, Sample
from experiments.scorers.base import FIRST_WRONG
from experiments.scorers.properties import PropertyScorer
from experiments.stats import Interval
from sandbox.base import SandboxError
from sandbox.command import UsageError
from sandbox.runner import dumps
from tests.experiments.tiny import Scripted

HERE = "tests.experiments.test_curves"
GRID = [
    "benchmark=live", f"benchmark._target_={HERE}.Chains", "benchmark.name=chains",
    "system=single", f"system._target_={HERE}.Climber", "+system.steps=3",
    "model=rules", "retrieval=none", "sandbox.options={warmup:false}",
]  # fmt: skip


@dataclass(frozen=True)
class Chains:
    """Four questions that ask for as many steps as there are; a depth of 13 cannot be made."""

    level: str = "scaffold"
    depth: int = 1
    size: int = 10
    seed: int = 0
    name: str = "chains"
    packages: Sequence[str] = ("pymatgen",)
    scorer = PropertyScorer()

    def load(self) -> list[Sample]:
        """All questions."""
        if self.depth == 13:
            raise SandboxError("no world is 13 deep <b>")
        return [
            Sample(
                Question(f"q{n}-{self.seed}", f"{self.depth + n} steps", {"value": "int"}),
                (Property("value", "The sum.", "int", dumps(self.depth + n), "equal"),),
                "live",
                {},
                None,
            )
            for n in range(4)
        ]


class Climber(Scripted):
    """Right up to so many steps."""

    def __init__(self, parts: Parts, *, steps: int = 1, **_: object) -> None:
        super().__init__(parts)
        self.steps = steps

    async def solve(self, question: Question, *, seed: int = 0) -> Trajectory:
        """See :class:`agents.base.Agent`."""
        wanted = int(question.prompt.split()[0])
        value = wanted if wanted <= self.steps else 0
        plain = await super().solve(Question("lists", question.prompt, question.formats), seed=seed)
        code = f"def answer():\n    return {{'value': {value}}}\n"
        return Trajectory(**{**vars(plain), "question_id": question.id, "code": code})


class Page(html.parser.HTMLParser):
    """Counts what a browser would draw."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)


def table(out: Path) -> list[dict[str, str]]:
    with (out / "curves.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_words_of_a_grid(tmp_path: Path) -> None:
    out, grid = curves.cells(
        ["benchmark=live", "level=scaffold,goal", "system=single,rag", "model=rules",
         "retrieval=code,official_doc", "limit=2", f"out={tmp_path}"]
    )  # fmt: skip
    assert out == tmp_path
    assert len(grid) == 8
    assert grid[0].values == {"level": "scaffold", "system": "single", "retrieval": "code"}
    assert grid[0].config.benchmark.params["level"] == "scaffold"
    # What retrieves nothing is the same run with every retrieval.
    assert len({cell.folder for cell in grid}) == 6
    assert grid[0].folder == grid[1].folder
    assert all(cell.folder.parent == tmp_path and cell.config.limit == 2 for cell in grid)
    assert curves.cells(["benchmark=live", "level=goal,scaffold"])[0] == Path("runs/curves-live")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["benchmark=live", "depht=1,2"], "benchmark.depht: no such key"),
        (["benchmark=live", "system=single,dance"], "system=dance: no such choice"),
        (["benchmark=live", "-m"], "no such option"),
        (["benchmark=live", "level=goal,moon"], "level"),
    ],
)
def test_a_mistake_in_any_cell_stops_before_the_first(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert curves.main([*words, "model=rules", f"out={tmp_path / 'out'}"]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_grid_from_words_to_curves_and_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*GRID, "+benchmark.depth=1,3,13", "+benchmark.size=10,200", f"out={tmp_path}"]
    assert curves.main(words) == 1  # a cell that failed is not complete
    rows = table(tmp_path)
    assert [(row["depth"], row["size"]) for row in rows] == [
        ("1", "10"), ("1", "200"), ("3", "10"), ("3", "200"), ("13", "10"), ("13", "200"),
    ]  # fmt: skip
    shares = {row["depth"]: row["share"] for row in rows}
    assert shares == {"1": "0.75", "3": "0.25", "13": ""}
    assert all(row["low"] <= row["share"] <= row["high"] for row in rows)
    assert rows[-1]["problem"] == "no world is 13 deep <b>"
    assert rows[0]["tokens per answer"] == "15.0"
    assert rows[-1]["tokens per answer"] == ""
    runs = load_runs([cell.folder for cell in curves.cells(words)[1][:4]])
    assert all(run.summary["complete"] for run in runs)
    text = (tmp_path / "curves.html").read_text()
    assert "no world is 13 deep &lt;b&gt;" in text
    assert "not a language model" in text
    assert "<script" not in text
    drawn = Page(text).seen
    # Over depth for two sizes (two depths with a value each), over size for two depths, tokens.
    assert drawn.count("polyline") == 4
    assert drawn.count("circle") == 2 * 2 + 2 * 2 + 4
    for heading in ("Over depth, size 200", "Over size, depth 3", "Over tokens per answer"):
        assert heading in text
    before = {run.folder: list(read_rows(run.folder / "results.jsonl")) for run in runs}
    capsys.readouterr()
    assert curves.main(words) == 1
    assert "4 of them finished before" in " ".join(capsys.readouterr().out.split())
    assert before == {run.folder: list(read_rows(run.folder / "results.jsonl")) for run in runs}


def test_seeds_are_pooled_and_series_are_what_is_no_number(tmp_path: Path) -> None:
    words = [*GRID, "+benchmark.seed=1,2", "+benchmark.depth=1,2", "level=scaffold,goal"]
    words.append(f"out={tmp_path}")
    assert curves.main(words) == 0
    assert len(table(tmp_path)) == 8
    text = (tmp_path / "curves.html").read_text()
    assert "Over depth" in text
    assert "Over seed" not in text
    # One point per depth and level in either plot: both seeds together.
    assert Page(text).seen.count("circle") == 2 * 2 * 2


def test_an_interruption_keeps_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    original: Callable[..., object] = Climber.solve

    async def interrupted(self: Climber, question: Question, *, seed: int = 0) -> object:
        if question.prompt.startswith("5"):
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(60)
        return await original(self, question, seed=seed)  # type: ignore[misc]

    words = [*GRID, "+benchmark.depth=1,2", f"out={tmp_path}"]
    monkeypatch.setattr(Climber, "solve", interrupted)
    assert curves.main(words) == 130
    assert "the same command resumes" in capsys.readouterr().err
    first, second = table(tmp_path)
    assert first["share"] == "0.75"
    assert "without a verdict" in second["problem"]
    monkeypatch.setattr(Climber, "solve", original)
    assert curves.main(words) == 0
    assert [row["share"] for row in table(tmp_path)] == ["0.75", "0.5"]


def test_a_crash_of_one_cell_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    original = Chains.load

    def load(self: Chains) -> list[Sample]:
        if self.depth == 1:
            raise ZeroDivisionError("a planted bug")
        return original(self)

    monkeypatch.setattr(Chains, "load", load)
    assert curves.main([*GRID, "+benchmark.depth=1,2", f"out={tmp_path}"]) == 1
    assert "planted bug" in capsys.readouterr().out
    first, second = table(tmp_path)
    assert first["problem"] == "ZeroDivisionError: a planted bug"
    assert second["share"] == "0.5"


def test_a_cell_in_use_by_another_process_is_left_to_it(tmp_path: Path) -> None:
    from experiments.store import Store

    words = [*GRID, "+benchmark.depth=1,2", f"out={tmp_path}"]
    first = curves.cells(words)[1][0]
    with Store(first.folder, "x", {}):
        assert curves.main(words) == 1
    rows = table(tmp_path)
    assert "another process" in rows[0]["problem"]
    assert rows[1]["share"] == "0.5"


def test_lines_are_equally_far_apart_or_to_scale() -> None:
    point = Interval(0.5, 0.25, 0.75)
    drawn = lines(
        {"<a>": [Point(8, point), Point(1, point)], "b": []},
        about="x", axis="depth", ticks=[1, 2, 4, 8],
    )  # fmt: skip
    assert drawn.count("<circle") == 2
    assert "&lt;a&gt;, depth 8: 50.0 % [25.0, 75.0]" in drawn
    assert all(f">{tick}</text>" in drawn for tick in (1, 2, 4, 8))
    scaled = lines({"a": [Point(0, point), Point(4000, point)]}, about="x", axis="tokens")
    assert "polyline" not in scaled
    assert ">4k</text>" in scaled
    assert lines({"a": []}, about="x", axis="depth", ticks=[1]) == ""


def test_nothing_known_is_not_zero(tmp_path: Path) -> None:
    assert not page.write_curves(tmp_path, [({"depth": "1"}, tmp_path / "absent")], {})
    (row,) = table(tmp_path)
    assert row["problem"] == "not run"
    assert {row[key] for key in ("share", "passed", "tokens per answer", "US dollars")} == {""}
    with pytest.raises(UsageError):
        curves.cells(["benchmark=nowhere"])


def test_which_link_breaks_first_stands_on_the_page_and_in_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = PropertyScorer.score
    said = {"q0-0": "1 of 4", "q1-0": "3 of 4", "q2-0": "none"}

    async def followed(self: PropertyScorer, sample: Sample, *rest: Any) -> Any:
        score = await original(self, sample, *rest)
        wrong = {FIRST_WRONG: said[sample.question.id]} if sample.question.id in said else {}
        return replace(score, artefacts={} if all((score.passed or {}).values()) else wrong)

    words = [*GRID, "+benchmark.depth=3,9", f"out={tmp_path}"]
    monkeypatch.setattr(PropertyScorer, "score", followed)
    assert curves.main(words) == 0
    first, second = (row[FIRST_WRONG] for row in table(tmp_path))
    assert first == "no code: 1, link 3: 1, after the last link: 1, all right: 1"
    assert second == "no code: 1, link 1: 1, link 3: 1, after the last link: 1"
    text = (tmp_path / "curves.html").read_text()
    heads = re.findall(r"<th>(no code|link \d|after the last link|all right)</th>", text)
    assert heads == ["no code", "link 1", "link 3", "after the last link", "all right"]
    assert text.count('title="1 of 4">25 %</td>') == 8


def test_a_benchmark_that_follows_no_calls_has_no_such_column(tmp_path: Path) -> None:
    assert curves.main([*GRID, "+benchmark.depth=1,2", f"out={tmp_path}"]) == 0
    assert FIRST_WRONG not in table(tmp_path)[0]
    assert "Which link" not in (tmp_path / "curves.html").read_text()
