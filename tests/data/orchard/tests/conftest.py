"""Fixtures of orchard's tests."""

import pytest

from orchard import Orchard, Tree


@pytest.fixture
def hillside():
    """Six trees of three varieties in two rows."""
    ages = [3.0, 4.0, 5.5, 7.0, 8.0, 9.5]
    varieties = ["cox", "cox", "cox", "bramley", "russet", "russet"]
    yield Orchard([Tree(v, a) for v, a in zip(varieties, ages)], columns=3)
