"""Crystals and cases as AtomWorld publishes them."""

import json

import numpy as np
import pytest

from experiments.benchmarks.atomworld.crystal import Crystal
from tests.support.paths import SHARED

ATOMWORLD = SHARED / "atomworld"


published = pytest.mark.skipif(
    not ATOMWORLD.is_dir(), reason=f"no published data at {ATOMWORLD.name}"
)


def crystal_of(plain):
    return Crystal(
        tuple(plain["cell"]), tuple(plain["species"]), np.array(plain["frac"], float)
    )


def rows(name):
    return [json.loads(line) for line in (ATOMWORLD / name).read_text().splitlines()]
