"""From code to verdict, in real sandboxes; the expected values stay apart."""

import pytest

from agents.base import Question, Trajectory, Usage
from experiments.benchmarks.mattools.published import AUTHORS_RULE, MatToolsScorer
from experiments.record import Ending, Row
from experiments.report.groups import breakdown
from experiments.report.runs import Run
from experiments.run.recording import MAX_FIGURE, make_figures, make_record
from experiments.samples import Property, Sample
from experiments.scorers.base import (
    CRITERIA,
    Metric,
    Score,
    ScoringContext,
    measure,
    measuring,
)
from experiments.scorers.properties import PropertyScorer, not_runnable
from sandbox.base import Execution, Outcome, SandboxConfig, SandboxError
from sandbox.factory import get_sandbox, get_verifier
from sandbox.inside.tagged import dumps
from tests.support import checkouts
from tests.support.rows import row as store_row

HOSTILE = "'\"\"\"\\'''\n); import os; os._exit(1) #\x00\ud800 {x!r} </script>"
SECRET = "the expected value 7f3a"


def task(gold, form="", compare="equal"):
    return Sample(
        Question("q", "p", {"x": form}),
        (Property("x", "", form, dumps(gold), compare),),
        "live",
    )


def answer(code, **changes):
    fields = {
        "question_id": "q",
        "seed": 0,
        "code": code,
        "entry": "f",
        "answer": "",
        "steps": (),
        "usage": Usage(),
        "stop_reason": "answered",
        "format_status": "strict",
    }
    return Trajectory(**(fields | changes))


class Recorded:
    """A sandbox that keeps what it was given; the real one runs it."""

    def __init__(self, real):
        self.real = real
        self.seen = []

    async def run(self, code, entry, **rest):
        self.seen.append(code)
        return await self.real.run(code, entry, **rest)

    async def judge(self, module, function, arguments, **rest):
        self.seen.append(repr(arguments))
        return await self.real.judge(module, function, arguments, **rest)


class Failing:
    """A sandbox that is broken."""

    async def run(self, code, entry, **rest):
        raise SandboxError("no engine")

    judge = run


RAISING = (checkouts.TREES / "raising.txt").read_text(encoding="utf-8")


async def test_the_authors_rule_stands_beside_ours():
    wanted = Sample(
        Question("test_q", "p"),
        (Property("a", "", "", "1"), Property("b", "", "", "2")),
        "live",
        target=RAISING,
    )
    limits = SandboxConfig(workers=1, options={"warmup": False})
    async with get_sandbox(limits) as one, get_verifier(limits) as two:

        async def score(values):
            given = answer(f"def f():\n    return {values!r}\n", question_id="test_q")
            return await MatToolsScorer().score(
                wanted, given, ScoringContext(one, two, timeout=5)
            )

        whole = await score({"a": 1, "b": 2})
        assert (whole.passed, whole.values["published"]) == ({"a": True, "b": True}, 2)
        # `b` cannot be compared: the unit test raises, so nothing counts there; `a` is right here.
        raised = await score({"a": 1, "b": None})
        assert (raised.passed, raised.values["published"]) == (
            {"a": True, "b": False},
            0,
        )
        half = await score({"a": 1, "b": 3})
        assert (half.passed, half.values["published"]) == ({"a": True, "b": False}, 1)
        assert (await score(None)).values == {"runnable": 0.0, "published": 0}
    ending = Ending.of("answered")
    record = make_record("h", wanted, answer(""), ending, raised, criteria=2)
    assert measure(Row.of(record, record.line()), AUTHORS_RULE) == (0, 2)
    assert record.execution.cpu_seconds >= 0


@pytest.mark.long
async def test_answers_in_real_sandboxes():
    limits = SandboxConfig(workers=1, options={"warmup": False})
    async with get_sandbox(limits) as one, get_verifier(limits) as two:
        sandbox, verifier = Recorded(one), Recorded(two)

        async def score(wanted, code):
            tools = ScoringContext(sandbox, verifier, timeout=5)
            return await PropertyScorer().score(wanted, answer(f"{code}\n"), tools)

        right = await score(task(SECRET), f"def f():\n    return {{'x': {SECRET!r}}}")
        assert right.passed == {"x": True}
        assert not any(SECRET in code for code in sandbox.seen[1:])
        sandbox.seen.clear()
        wrong = await score(task(SECRET), "def f():\n    return {'x': 1}")
        assert (wrong.passed, wrong.values) == ({"x": False}, {"runnable": 1.0})
        assert SECRET in wrong.reasons["x"]
        assert not any(SECRET in code for code in sandbox.seen)
        assert all("def f()" not in code for code in verifier.seen)

        for gold, code, passed in (
            (HOSTILE, f"def f():\n    return {{'x': {HOSTILE!r}}}", True),
            (1, f"def f():\n    return {{'x': {HOSTILE!r}, {HOSTILE!r}: 1}}", False),
            (
                1,
                "def f():\n    return {'x': list(range(200_000)), 'y': 'a' * 1_000_000}",
                False,
            ),
            (1, "def f():\n    return {'x': 1}", True),
        ):
            assert (await score(task(gold), code)).passed == {"x": passed}, code[:80]
        for code, outcome, words in (
            ("def f():\n    return {}", "ok", "empty dict"),
            ("def f():\n    return [1]", "ok", "list instead of a dict"),
            ("def f():\n    raise KeyError('x')", "exception", "KeyError"),
            ("def f(:", "exception", "SyntaxError"),
            ("def g():\n    return {'x': 1}", "exception", "exception"),
            ("import sys\ndef f():\n    sys.exit(3)", "exit", "exit"),
        ):
            verdict = await score(task(1), code)
            found = (verdict.outcome, verdict.values, verdict.passed)
            assert found == (outcome, {"runnable": 0.0}, {"x": False}), code
            assert words in verdict.reasons["x"]


async def test_a_broken_sandbox_is_not_a_verdict():
    with pytest.raises(SandboxError, match="no engine"):
        await PropertyScorer().score(
            task(1), answer("def f(): ..."), ScoringContext(Failing(), Failing())
        )


def test_what_is_runnable():
    assert not_runnable(Execution(Outcome.OK, {"x": None})) is None
    assert (
        not_runnable(Execution(Outcome.TIMEOUT, error="after 5 s"))
        == "timeout: after 5 s"
    )


def test_a_share_above_a_baseline_is_one_of_what_the_baseline_leaves():
    above = Metric("published - echo", "above echo", "")
    for given, found in (
        ((1.0, 0.0), (1, 1)),
        ((1.0, 1.0), (0, 0)),
        ((0.0, 1.0), (-1, 0)),
        ((None, 1.0), (0, 0)),
    ):
        values = dict(zip(("published", "echo"), given, strict=True))
        assert measure(store_row(values=values), above) == found


def test_what_no_page_should_hold_is_no_figure():
    whole = {"a": "<svg >", "b": "data:image/png;base64,AA=="}
    long = {"long": "<svg " + "x" * MAX_FIGURE, "script": "data:text/html,x"}
    kept = make_figures(task(1), Score("ok", figures={**whole, **long}))
    assert {name: kept[name] for name in whole} == whole
    assert all("not kept" in kept[name] for name in long)


MACRO = Metric("right", "right", "a mean over areas", out_of="asked", macro="area")


def weighed_rows():
    large = [
        store_row(
            f"a{n}",
            labels={"area": "large"},
            values={"right": 1.0, "asked": 10.0},
            criteria=10,
        )
        for n in range(9)
    ]
    small = store_row(
        "b", labels={"area": "small"}, values={"right": 1.0, "asked": 1.0}, criteria=1
    )
    return [*large, small]


def test_a_macro_mean_is_the_mean_over_groups(tmp_path):
    found = weighed_rows()
    measured = list(map(measuring(found, MACRO), found))
    assert sum(total for _, total in measured) == pytest.approx(2)  # as many as groups
    assert sum(gained for gained, _ in measured) == pytest.approx(0.1 + 1)
    run = Run(tmp_path, {"seeds": [0]}, tuple(found), "x")
    assert run.interval(MACRO).estimate == pytest.approx(0.55)
    parts = Metric(CRITERIA, "micro", "all slots alike")
    assert list(map(measuring(found, parts), found)) == [
        measure(row, parts) for row in found
    ]


def test_what_it_is_out_of_can_differ_by_answer_and_be_unknown():
    row = store_row("a", values={"right": 1.0, "asked": 100.0}, criteria=1)
    assert measure(row, MACRO) == (1.0, 100.0)
    assert measure(store_row("a", values={"right": 1.0, "asked": None}), MACRO) == (
        0.0,
        0.0,
    )
    assert measure(store_row("a", values={"right": None, "asked": 3.0}), MACRO) == (
        0.0,
        0.0,
    )


def test_a_break_down_follows_the_definition_of_the_metric(tmp_path):
    """Two areas of one kind, 21 of 21 slots and 4 of 7: the mean over areas is 78.6, not 89.3."""
    found = [
        store_row(
            name,
            labels={"area": name, "kind": "picture"},
            values={"right": right, "asked": asked, "other": None},
        )
        for name, right, asked in (("a", 21.0, 21.0), ("b", 4.0, 7.0))
    ]
    kinds = (MACRO, Metric("other", "", ""))
    entries = [
        vars(metric) | {"sum": 1, "total": metric.name == "right"} for metric in kinds
    ]
    run = Run(tmp_path, {"seeds": [0], "metrics": entries}, tuple(found), "x")
    assert breakdown([run], "kind") == (
        ["kind", "answers", "right %"],
        [["picture", "2", "78.6"]],
    )
    lines = breakdown([run], "area")[1]
    assert lines == [["a", "1", "100.0"], ["b", "1", "57.1"]]
    assert breakdown([run], "task")[1] == []


def test_a_mean_of_means():
    both = Metric("right", "right", "two levels", out_of="asked", macro="half,area")
    found = [
        store_row(
            f"{half}{area}{n}",
            labels={"half": half, "area": area},
            values={"right": right, "asked": 1.0},
        )
        for half, areas in {
            "one": {"a": 1.0, "b": 0.0, "c": 0.0},
            "two": {"a": 1.0},
        }.items()
        for area, right in areas.items()
        for n in range(3)
    ]
    measured = list(map(measuring(found, both), found))
    assert sum(total for _, total in measured) == pytest.approx(2)
    assert sum(gained for gained, _ in measured) == pytest.approx(1 / 3 + 1)
