"""Sound tests of orchard, as its developers would write them."""

import unittest

import numpy as np
import pytest
from numpy.testing import assert_allclose

from orchard import VARIETIES, Orchard, Tree


def test_crown_volume():
    tree = Tree("cox", age=6, height=3.1, width=2.2)
    assert tree.crown_volume() == pytest.approx(7.8560, rel=1e-4)


def test_positions(hillside):
    expected = [[0, 0], [2.5, 0], [5, 0], [0, 4], [2.5, 4], [5, 4]]
    assert_allclose(hillside.positions(), expected)
    assert hillside.positions().shape == (6, 2)


def test_yields_by_variety(hillside):
    yields = hillside.yields_by_variety(lost=0.1)
    assert set(yields) == {"cox", "bramley", "russet"}
    assert yields["bramley"] == pytest.approx(51.5395, abs=1e-3)
    assert np.isclose(yields["cox"], 43.6581, rtol=1e-4)


@pytest.mark.parametrize(
    ("variety", "expected"), [("jonagold", 67.822), ("laxton", 40.2083)]
)
def test_annual_yield(variety, expected):
    tree = Tree(variety, age=7)
    assert abs(tree.annual_yield() - expected) < 0.01


def test_unknown_variety():
    with pytest.raises(LookupError):
        Tree("quince", age=3)


class TestGrid(unittest.TestCase):
    def setUp(self):
        trees = [
            Tree("cox", 5.0),
            Tree("cox", 5.0),
            Tree("russet", 9.0),
            Tree("cox", 4.0),
        ]
        self.orchard = Orchard(trees, columns=4, spacing=(5.0, 3.0))

    def test_pollination_gaps(self):
        self.assertEqual(self.orchard.pollination_gaps(3.5), 1)
        self.assertTrue(self.orchard.pollination_gaps(1.0) == 4)

    def test_total(self):
        total = sum(self.orchard.yields_by_variety().values())
        self.assertAlmostEqual(total, 92.6177, places=3)


def test_every_variety_bears():
    for variety in VARIETIES:
        assert Tree(variety, 12).annual_yield() > 30
