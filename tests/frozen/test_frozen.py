"""Every benchmark and arm, with the baselines: the runs of the golden file, as CI makes them."""

import json

import pytest

from sandbox.factory import available
from tests.frozen.__main__ import GOLDEN, JOBS, measured


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine")
@pytest.mark.parametrize("job", JOBS)
def test_it_is_as_before(job):
    golden, found = json.loads(GOLDEN.read_text(encoding="utf-8")), measured(job)
    wanted = {
        key: golden[key] for key in golden if key in found or key.startswith(f"{job} ")
    }
    if not found:
        pytest.skip("needs data that are not here")
    assert found == wanted
