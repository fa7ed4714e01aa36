"""Replays of recorded functions: the paper's figures beside them, and the order of work."""

import csv
import io
from pathlib import Path

import pytest
from rich.console import Console

from agents.base import Question
from experiments.benchmarks.mattools.replay import __main__ as replay
from experiments.benchmarks.mattools.replay.compare import Replayed, compare, print_compared
from experiments.benchmarks.mattools.replay.grade import Graded
from experiments.benchmarks.mattools.replay.paper import Figures, RunKey, published
from experiments.benchmarks.mattools.replay.recorded import (
    Recorded,
)
from experiments.benchmarks.mattools.replay.schedule import Schedule, groups
from experiments.benchmarks.mattools.replay.tables import print_comparison
from experiments.samples import Property, Sample
from sandbox.base import SandboxError

PUBLISHED = Path(__file__).parents[3] / "shared" / "data" / "mattools_published.csv"


def test_the_papers_figures():
    figures = published()
    assert len(figures) == 84
    assert figures[RunKey("reflect", "gpt-4o-2024-08-06", "llm_doc", 2)] == Figures(42, 84)
    slip = RunKey("rag", "gemini-2.0-flash-thinking-exp-01-21", "code", 2)
    assert figures[slip] == Figures(22, 26)


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="the published tables are not here")
def test_the_papers_figures_are_those_of_its_tables():
    figures = dict(published())
    with PUBLISHED.open() as file:
        for row in csv.DictReader(file):
            key = RunKey(row["system"], row["model"], row["retrieval"], int(row["round"]))
            found = figures.pop(key)
            assert found.properties == int(row["properties_of_138"])
            assert found.runnable == int(row["runnable_of_49"]) or "runnable" in row["note"]
    assert not figures


def whole_set(missing=2):
    """49 questions with two properties each; the last ones lack input files."""
    tasks = {}
    for number in range(49):
        properties = (Property("a", "", "int", "1"), Property("b", "", "int", "1"))
        task = Sample(Question(f"q{number}", "?", {}), properties, "live")
        absent = "input files are missing: x" if number >= 49 - missing else None
        tasks[task.question.id] = Sample(task.question, properties, "live", {}, absent)
    return tasks


KEY = RunKey("single", "gpt-4o-2024-08-06", "none", 1)  # published: 23 | 25


def played(runnable, passed, tasks, key=KEY):
    """A run in which so many functions are runnable and so many properties pass."""
    rows = [Recorded(f"k:{name}", "run", key, name, "c", "f", None) for name in tasks]
    results = {}
    for number, row in enumerate(rows):
        ran, right = number < runnable, max(0, min(2, passed - 2 * number))
        outcome = "some_wrong" if ran else "not_runnable"
        graded = Graded(key=row.key, scorer="published", outcome=outcome,
                        reason="wrong_value" if ran else "exception", passed=right,
                        wrong=2 - right if ran else None, seconds=0.5)  # fmt: skip
        results[row.key, "published"] = graded
    return Replayed(rows, tasks, results, ["published"])


def printed(replayed, workers=2):
    console = Console(file=io.StringIO(), width=400)
    print_comparison(replayed, console, workers=workers)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("runnable", "passed", "inside"),
    [
        (23, 25, (True, True)),
        (21, 21, (True, True)),  # two questions and their four properties may be what is missing
        (20, 20, (False, False)),
        (24, 25, (False, True)),  # above the published value
        (23, 26, (True, False)),
    ],
)
def test_a_published_value_may_exceed_a_replay_by_what_is_missing(runnable, passed, inside):
    tasks = whole_set()
    replayed = played(runnable, passed, tasks)
    (found,) = compare(replayed)
    assert found.inside == inside
    assert found.broken == {"exception": 47 - runnable, "files missing": 2}
    lines = printed(replayed).splitlines()
    assert lines[-1] == f"agree {sum(inside)}/2"
    shown = "the same" if (runnable, passed) == (23, 25) else "within" if all(inside) else "outside"
    exact = (runnable, passed) == (23, 25)
    assert (
        f"1 runs are in the paper: {int(exact)} exactly as replayed, "
        f"{int(all(inside) and not exact)} more explained by missing input files, "
        f"{int(not all(inside))} not."
    ) in lines
    assert any(f"{runnable} | {passed}" in line and shown in line for line in lines)


def test_processor_time_is_not_shared_among_workers():
    """Each of 49 functions takes 2 s of processor time; 90 runs of them 147 min, however split."""
    tasks = whole_set()
    replayed = played(23, 25, tasks)
    for key, row in replayed.results.items():
        replayed.results[key] = row.model_copy(update={"seconds": 4.0, "cpu_seconds": 2.0})
    for workers in (1, 4):
        text = printed(replayed, workers)
        assert f"need {49 * 90 * 2 / 60:.1f} min of processor time" in text
        assert f"take {49 * 90 * 4 / 60 / workers:.1f} min at this pace" in text


def test_what_cannot_be_compared_is_not_guessed():
    tasks = whole_set()
    replayed = played(23, 25, tasks, key=None)
    replayed.rows.append(Recorded("k:q1", "b", KEY, "q1", "c", "f", None))
    new = RunKey("single", "new", "none", 1)
    replayed.rows.append(Recorded("k:q2", "c", new, "q2", "c", "f", None))
    found = {run.run: run for run in compare(replayed)}
    assert "not matched" in found["run"].why_not
    assert found["b"].why_not == "1 of 49 questions"
    assert found["c"].why_not == "not in the tables"
    assert not any(run.published for run in found.values())
    console = Console(file=io.StringIO(), width=200)
    print_compared(list(found.values()), console)
    assert console.file.getvalue().count("not compared with the paper") == 3
    assert printed(replayed).splitlines()[-1] == "agree 0/0"


def test_a_question_answered_twice_counts_once():
    tasks = whole_set(missing=0)
    replayed = played(23, 25, tasks)
    replayed.rows.append(Recorded("later", "run", KEY, "q0", "c", "f", None))
    replayed.results["later", "published"] = Graded(
        key="later", scorer="published", outcome="not_runnable", reason="exception"
    )
    (found,) = compare(replayed)
    assert found.replayed == Figures(22, 23)
    assert "1 generations answer a question that their run answers again" in printed(replayed)


# --- order -------------------------------------------------------------------------------------


def rows_of(name, count):
    return [Recorded(f"{name}{n}", "r", None, name, f"c{n}", "f", None) for n in range(count)]


def test_slow_questions_run_first_and_equal_functions_once():
    twice = [*rows_of("fast", 5), *rows_of("slow", 5), rows_of("slow", 5)[4]]
    found = groups(twice)
    assert [len(group) for group in found] == [1] * 9 + [2]
    schedule = Schedule(found, {})
    order = []
    while (group := schedule.next()) is not None:
        name = group[0].question_id
        order.append(name)
        schedule.finished(group, 10.0 if name == "slow" else 0.1)
        if len(order) < 6:
            assert schedule.left(2) is None  # some pilots have not ended
        if len(order) == 6:
            assert schedule.left(2) == pytest.approx([(2 * 10.0 + 2 * 0.1) / 2] * 2)
    assert order == [*["fast", "slow"] * 3, "slow", "slow", "fast", "fast"]
    again = Schedule(found, {"slow": [1.0] * 3, "fast": [2.0] * 3})
    assert again.next()[0].question_id == "fast"


def test_the_time_left_is_a_span_that_holds_what_is_left():
    """One question of two takes long in half of its functions; the first of them fail at once."""
    costs = {f"slow{n}": 0.1 if n < 10 or n % 2 else 100.0 for n in range(100)}
    costs |= {f"fast{n}": 0.5 for n in range(100)}
    schedule = Schedule(groups([*rows_of("slow", 100), *rows_of("fast", 100)]), {})
    total = sum(costs.values())
    spans = []
    while (group := schedule.next()) is not None:
        total -= costs[group[0].key]
        schedule.finished(group, costs[group[0].key])
        if (span := schedule.left(1)) is not None:
            spans.append((span[0] <= total + 1e-9 <= span[1] + 1e-6, span))
    held = [inside for inside, _ in spans]
    assert sum(held) > 0.9 * len(held)
    assert held[0]
    assert spans[0][1][1] > spans[0][1][0]


def test_minutes_left():
    assert replay._span(None) == "time left not known yet"
    assert replay._span((61.0, 300.0)) == "2 to 5 min left"
    assert replay._span((20.0, 20.0)) == "about 1 min left"


def test_a_sandbox_that_never_works_ends_the_replay_but_one_bad_question_does_not():
    failures = replay.Failures()
    groups_of = {name: (Recorded("k", "r", None, name, "c", "f", None),) for name in "ab"}
    for _ in range(100):
        failures.add(groups_of["a"], SandboxError("the unit test cannot be loaded"))
    with pytest.raises(SandboxError):
        failures.add(groups_of["b"], SandboxError("the disk is full"))
    failures.none()
    failures.add(groups_of["b"], SandboxError("the disk is full"))
    assert len(failures.lines) == 102


# --- the command -------------------------------------------------------------------------------
