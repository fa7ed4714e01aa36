"""The table of attacks, one after the other: see ``programs/attacks.yaml``."""

from __future__ import annotations

import json

import pytest

from sandbox.base import Outcome
from tests.abuse.conftest import Lab, programs

pytestmark = pytest.mark.asyncio(loop_scope="session")
ATTACKS = programs("attacks")
WRITES = """
import os
def attack():
    rest = memoryview({message})
    while rest:
        rest = rest[os.write(3, rest):]
    os._exit(0)
"""
BODY = "import ctypes, os, sys\ndef attack():\n    {body}\n"


@pytest.mark.parametrize("name", ATTACKS)
async def test_attack(lab: Lab, name: str) -> None:
    attack = ATTACKS[name]
    ends, timeout = map(Outcome, attack["ends"].split()), attack.get("timeout", 2.0)
    code = attack.get("code") or (WRITES if "message" in attack else BODY).format_map(attack)
    if "before" in attack:
        await lab.attack(attack["before"], Outcome.OK)
    done = await lab.attack(code, *ends, timeout=timeout, collect=attack.get("collect", False))
    assert attack.get("said", "") in (done.error or "")
    assert attack.get("payload", "") in (done.payload or "")
    assert attack.get("seconds", 0) <= done.seconds <= attack.get("within", 300)
    assert attack.get("cpu", 0) <= (done.cpu_seconds or 0)
    if "result" in attack:
        assert json.loads(json.dumps(done.result)) == attack["result"]
    if "between" in attack:
        low, high = attack["between"]
        assert low < done.result < high
    if "message" in attack:  # nothing beside it either
        assert (done.caught, done.files) == ((), ())
