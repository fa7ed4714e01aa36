"""Every benchmark and arm, with the baselines: the runs of the golden file, as CI makes them."""

import json

import pytest

from sandbox.factory import available
from tests.frozen.__main__ import GOLDEN, PLAN, measured


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine")
@pytest.mark.parametrize("name", PLAN["runs"])
def test_runs_score_as_before(name):
    golden, found = json.loads(GOLDEN.read_text(encoding="utf-8")), measured([name])
    assert found == {key: golden[key] for key in found}
    assert not found or f"{name} exit" in found
