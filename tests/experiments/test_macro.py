"""Means over groups: every subfield weighs alike, however many slots it holds."""

import pytest

from experiments.report.groups import breakdown
from experiments.report.runs import Run
from experiments.scorers.base import PARTS, Metric, measure, measuring
from tests.experiments.test_store import row as make_row

MACRO = Metric("right", "right", "a mean over areas", out_of="asked", macro="area")


def rows():
    large = [
        make_row(f"a{n}", labels={"area": "large"}, values={"right": 1.0, "asked": 10.0}, parts=10)
        for n in range(9)
    ]
    small = make_row("b", labels={"area": "small"}, values={"right": 1.0, "asked": 1.0}, parts=1)
    return [*large, small]


def test_a_macro_mean_is_the_mean_over_groups(tmp_path):
    measured = list(map(measuring(rows(), MACRO), rows()))
    assert sum(total for _, total in measured) == pytest.approx(2)  # as many as groups
    assert sum(gained for gained, _ in measured) == pytest.approx(0.1 + 1)
    run = Run(tmp_path, {"seeds": [0]}, tuple(rows()), "x")
    assert run.interval(MACRO).estimate == pytest.approx(0.55)
    parts = Metric(PARTS, "micro", "all slots alike")
    assert list(map(measuring(rows(), parts), rows())) == [measure(row, parts) for row in rows()]


def test_what_it_is_out_of_can_differ_by_answer_and_be_unknown():
    row = make_row("a", values={"right": 1.0, "asked": 100.0}, parts=1)
    assert measure(row, MACRO) == (1.0, 100.0)
    assert measure(make_row("a", values={"right": 1.0, "asked": None}), MACRO) == (0.0, 0.0)
    assert measure(make_row("a", values={"right": None, "asked": 3.0}), MACRO) == (0.0, 0.0)


def test_a_break_down_follows_the_definition_of_the_metric(tmp_path):
    """Two areas of one kind, 21 of 21 slots and 4 of 7: the mean over areas is 78.6, not 89.3."""
    found = [
        make_row(name, labels={"area": name, "kind": "picture"},
                 values={"right": right, "asked": asked, "other": None})
        for name, right, asked in (("a", 21.0, 21.0), ("b", 4.0, 7.0))
    ]  # fmt: skip
    kinds = (MACRO, Metric("other", "", ""))
    entries = [vars(metric) | {"sum": 1, "total": metric.name == "right"} for metric in kinds]
    run = Run(tmp_path, {"seeds": [0], "metrics": entries}, tuple(found), "x")
    assert breakdown([run], "kind") == (
        ["kind", "answers", "right %"], [["picture", "2", "78.6"]]
    )  # fmt: skip
    lines = breakdown([run], "area")[1]
    assert lines == [["a", "1", "100.0"], ["b", "1", "57.1"]]
    assert breakdown([run], "task")[1] == []


def test_a_mean_of_means():
    both = Metric("right", "right", "two levels", out_of="asked", macro="half,area")
    found = [
        make_row(f"{half}{area}{n}", labels={"half": half, "area": area},
                 values={"right": right, "asked": 1.0})
        for half, areas in {"one": {"a": 1.0, "b": 0.0, "c": 0.0}, "two": {"a": 1.0}}.items()
        for area, right in areas.items() for n in range(3)
    ]  # fmt: skip
    measured = list(map(measuring(found, both), found))
    assert sum(total for _, total in measured) == pytest.approx(2)
    assert sum(gained for gained, _ in measured) == pytest.approx(1 / 3 + 1)
