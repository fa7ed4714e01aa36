"""A grid of runs: every cell an ordinary run, one table, plots with intervals."""

import base64
import re
from dataclasses import replace

from agents.answer_formats import Number
from agents.base import Question
from agents.episode import Context
from experiments.benchmarks.own import Task
from experiments.command import main
from experiments.record import read_rows
from experiments.report.plots import drawn
from experiments.samples import Sample
from experiments.scorers.base import FIRST_WRONG
from experiments.scorers.grading import FunctionScorer
from experiments.stats import Interval
from sandbox.base import SandboxError
from tests.support.tiny import Patient

HERE = "tests.experiments.report.test_curves"
GRID = [
    "-m",
    "benchmark=live",
    f"benchmark._target_={HERE}.chains",
    "benchmark.name=chains",
    "system=single",
    f"system._target_={HERE}.Climber",
    "+system.steps=3",
    "model=none",
    "retrieval=none",
]


def chains(
    depth: int = 1, size: int = 10, seed: int = 0, level: str = "scaffold"
) -> Task:
    """Four questions that ask for as many steps as there are; depths above 12 cannot be made."""
    if depth == 13:
        raise SandboxError("no world is 13 deep <b>")
    if depth == 14:
        raise ZeroDivisionError("a planted bug")
    return Task(
        [
            Sample(
                Question(f"q{n}-{seed}", f"{depth + n} steps", answer=Number()),
                target=depth + n,
            )
            for n in range(4)
        ]
    )


class Climber(Patient):
    """Right up to so many steps."""

    def __init__(self, parts: Context, *, steps: int = 1, **_: object) -> None:
        super().__init__(parts)
        self.steps = steps

    async def solve(self, question, *, seed=0):
        wanted = int(question.prompt.split()[0])
        plain = await super().solve(Question("q0", ""), seed=seed)
        value = wanted if wanted <= self.steps else 0
        return replace(plain, question_id=question.id, value=value)


def page(out):
    (found,) = out.glob("comparison-*.html")
    return found.read_text()


def test_a_grid_from_words_to_tables_and_again(tmp_path, capsys):
    words = [
        *GRID,
        "+benchmark.depth=1,3,13,14",
        "+benchmark.size=10,200",
        f"out={tmp_path}",
    ]
    assert main(words) == 1  # a run that failed is not complete
    printed = capsys.readouterr().out
    for told in ("Traceback", "failed: no world is 13 deep <b>", "Paired comparisons"):
        assert told in printed
    assert len(list(tmp_path.glob("*/report.html"))) == 4
    text = page(tmp_path)
    for told in (
        "(depth 1, size 10)",
        "(depth 3, size 200)",
        "<th>depth</th><th>size</th>",
        "<h2>At equal budgets</h2>",
        "<h2>Over depth, size 200</h2>",
        "<h2>Over size, depth 3</h2>",
    ):
        assert told in text
    plots = [
        base64.b64decode(each).decode()
        for each in re.findall(r"xml;base64,(\S+)\"", text)
    ]
    assert (
        len(plots) == 2 + 2 + 2
    )  # over depth by size, over size by depth, tokens and calls
    assert all(name in plots[-1] for name in ("calls per answer", "size 200"))
    assert "First wrong link" not in text  # this benchmark follows no calls
    before = {path: list(read_rows(path)) for path in tmp_path.glob("*/results.jsonl")}
    assert len(before) == 4
    assert main(words) == 1
    assert "4 answers finished before" in " ".join(capsys.readouterr().out.split())
    assert before == {path: list(read_rows(path)) for path in before}


def test_curves_pool_seeds_and_take_names_as_text(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "experiments.report.plots.drawn", lambda *given: str(seen.append(given))
    )
    words = [
        *GRID,
        "+benchmark.seed=1,2",
        "+benchmark.depth=1,2",
        "benchmark.level=scaffold,goal",
    ]
    assert main([*words, f"out={tmp_path}"]) == 0
    text = page(tmp_path)
    assert "<h2>Over depth</h2>" in text
    assert "<h2>Over seed" not in text
    curves = {name: [place for place, _ in line] for name, line in seen[0][0].items()}
    assert (len(seen), curves) == (1, {"scaffold": [1, 2], "goal": [1, 2]})
    share = Interval(0.5, 0.25, 0.75)
    picture = drawn(
        {"<a> $x_\ud800": [(n, share) for n in range(99)]}, "depth"
    ).partition(",")[2]
    assert "&lt;a&gt; $x_\\ud800" in base64.b64decode(picture).decode()
    assert drawn({"a": []}, "depth") == ""


def test_what_comes_to_the_same_run_is_run_once(tmp_path, capsys):
    sources = "retrieval=code,official_doc"  # of a system that retrieves nothing
    assert main([*GRID[:-1], sources, f"out={tmp_path}"]) == 0
    assert len(list(tmp_path.glob("*/summary.json"))) == 1


def test_which_link_breaks_first_stands_on_the_page(tmp_path, monkeypatch):
    original = FunctionScorer.score
    said = {"q0-0": "1 of 4", "q1-0": "3 of 4", "q2-0": "none"}

    async def followed(self, sample, *rest):
        score = await original(self, sample, *rest)
        wrong = (
            {FIRST_WRONG: said[sample.question.id]}
            if sample.question.id in said
            else {}
        )
        return replace(
            score, artefacts={} if all((score.passed or {}).values()) else wrong
        )

    words = [*GRID, "+benchmark.depth=3,9", f"out={tmp_path}"]
    monkeypatch.setattr(FunctionScorer, "score", followed)
    assert main(words) == 0
    text = page(tmp_path)
    for broken in (
        "no code: 1, link 3: 1, after the last link: 1, all right: 1",
        "no code: 1, link 1: 1, link 3: 1, after the last link: 1",
    ):
        assert f">{broken}</span></td>" in text
