"""One sound test, and four that must not become questions."""

import pytest

from orchard import VARIETIES, Orchard, Tree, picking_days


def test_picking_days(hillside):
    assert picking_days(hillside, pickers=2) == pytest.approx(0.7667, abs=1e-3)


def test_wrong_gold(hillside):
    # Written down wrongly: it is what three pickers need.
    assert picking_days(hillside, pickers=1) == pytest.approx(0.6778, abs=1e-3)


def test_nothing_is_lost():
    orchard = Orchard([Tree("cox", 5), Tree("russet", 5)], columns=2)
    assert orchard.pollination_gaps(10.0) == 0


def test_varieties_present():
    orchard = Orchard([Tree(variety, 5) for variety in VARIETIES], columns=3)
    assert orchard.varieties_present() == list(set(VARIETIES))


def test_height_is_kept():
    tree = Tree("laxton", 4, height=3.17)
    assert tree.height == 3.17
