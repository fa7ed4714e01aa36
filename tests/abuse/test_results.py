"""Cases 12 to 24 and 30: how code ends, and what it writes where its result belongs."""

from __future__ import annotations

import pytest

from sandbox.base import Outcome
from sandbox.inside.values import Opaque
from tests.abuse.conftest import Lab

pytestmark = pytest.mark.asyncio(loop_scope="session")


ENDS = {
    "12 a deep result": ("deep = []\n    for _ in range(100_000): deep = [deep]\n    return deep",
                         Outcome.BAD_RESULT, "deeper"),
    "12 a result that holds itself": ("snake = {}; snake['tail'] = [snake]\n    return snake",
                                      Outcome.BAD_RESULT, ""),
    "13 recursion": ("return attack()", Outcome.EXCEPTION, "RecursionError"),
    "14 a segmentation fault": ("ctypes.string_at(1)", Outcome.KILLED, "SIGSEGV"),
    "15 leaving without a result": ("os._exit(0)", Outcome.NO_RESULT, ""),
    "16 sys.exit": ("sys.exit('enough')", Outcome.EXIT, "enough"),
    "17 abort": ("os.abort()", Outcome.KILLED, "signal"),
    "23 all descriptors closed": ("os.closerange(0, 256)\n    return 1", Outcome.NO_RESULT, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
async def test_how_code_ends(lab: Lab, name: str) -> None:
    body, outcome, said = ENDS[name]
    done = await lab.attack(f"import ctypes, os, sys\ndef attack():\n    {body}", outcome)
    assert said in (done.error or "")


async def test_18_killing_everything(lab: Lab) -> None:
    code = "import os\ndef attack():\n    os.kill(-1, 9)"
    await lab.attack(code, Outcome.OK, Outcome.EXCEPTION, Outcome.KILLED)


async def test_19_killing_parent_and_init(lab: Lab) -> None:
    code = """
        import os
        def attack():
            done = []
            for pid in {os.getppid(), 1} - {0, os.getpid()}:
                try:
                    os.kill(pid, 9)
                    done.append(pid)
                except OSError:
                    pass
            return done
        """
    assert (await lab.attack(code, Outcome.OK)).result == []


async def test_20_a_forged_result_is_only_a_result(lab: Lab) -> None:
    """It cannot be told from an honest one: that is why results are never trusted."""
    code = """
        import os
        def attack():
            os.write(3, b'ok\\n{"forged": true}')
            os._exit(0)
        """
    assert (await lab.attack(code, Outcome.OK)).result == {"forged": True}


@pytest.mark.parametrize("kind", ["infra", "timeout", "killed", "ok"])
async def test_20_a_forged_outcome_is_a_bad_result(lab: Lab, kind: str) -> None:
    code = f"""
        import os
        def attack():
            os.write(3, b"{kind}\\nforged")
            os._exit(0)
        """
    await lab.attack(code, Outcome.BAD_RESULT)


GARBAGE = {
    "21 random bytes": "os.urandom(100_000).replace(b'\\n', b' ')",
    "21 not UTF-8": "b'ok\\n\"' + bytes([0xFF, 0xC0, 0x80]) + b'\"'",
    "21 no line end": "b'ok'",
    "22 open brackets": "b'ok\\n' + b'[' * 200_000",
    "22 open braces": "b'ok\\n' + b'{\"a\":' * 200_000",
    "22 a huge integer": "b'ok\\n' + b'9' * 100_000",
    "22 a huge exponent": "b'ok\\n1e999999'",
    "22 a key twice": 'b\'ok\\n{"a": 1, "a": 2}\'',
    "22 bare NaN": "b'ok\\nNaN'",
    "22 an unknown tag": 'b\'ok\\n{"$": "pickle", "v": "gASV"}\'',
    "22 a tag that is a list": 'b\'ok\\n{"$": [], "v": 1}\'',
    "22 many values": "b'ok\\n[' + b'[],' * 1_500_000 + b'1]'",
    "22 an array too short": (
        'b\'ok\\n{"$": "array", "dtype": "<f8", "shape": [1000000000000], "raw": ""}\''
    ),
    "22 an array of objects": (
        'b\'ok\\n{"$": "array", "dtype": "|O", "shape": [1], "raw": "AAAAAAAAAAA="}\''
    ),
    "22 two values": "b'ok\\n{} {}'",
}


@pytest.mark.parametrize("message", GARBAGE.values(), ids=GARBAGE.keys())
async def test_garbage_as_a_result_is_a_bad_result(lab: Lab, message: str) -> None:
    code = f"""
        import os
        def attack():
            rest = memoryview({message})
            while rest:
                rest = rest[os.write(3, rest):]
            os._exit(0)
        """
    done = await lab.attack(code, Outcome.BAD_RESULT, timeout=20.0)
    assert "cannot be read" in (done.error or "")


async def test_22_a_result_need_not_be_a_dict(lab: Lab) -> None:
    code = "import os\ndef attack():\n    os.write(3, b'ok\\n5')\n    os._exit(0)"
    assert (await lab.attack(code, Outcome.OK)).result == 5


async def test_24_only_four_descriptors_are_open(lab: Lab) -> None:
    code = """
        import os
        def attack():
            found = {}
            for number in range(256):
                try:
                    os.fstat(number)
                except OSError:
                    continue
                found[str(number)] = os.readlink(f"/proc/self/fd/{number}").split(":")[0]
            return found
        """
    found = (await lab.attack(code, Outcome.OK)).result
    assert found == {"0": "/dev/null", "1": "pipe", "2": "pipe", "3": "pipe"}


HOSTILE_OBJECTS = {
    "raises": ("raise RuntimeError('no')", Outcome.OK),
    "returns no dict": ("return 7", Outcome.OK),
    "recurses": ("return self.as_dict()", Outcome.OK),
    "returns itself": ("return {'self': self}", Outcome.BAD_RESULT),
    "exits": ("import sys; sys.exit(3)", Outcome.EXIT),
    "never ends": ("while True: pass", Outcome.TIMEOUT),
}


@pytest.mark.parametrize(("body", "outcome"), HOSTILE_OBJECTS.values(), ids=HOSTILE_OBJECTS.keys())
async def test_30_a_hostile_as_dict(lab: Lab, body: str, outcome: Outcome) -> None:
    code = (
        f"class Thing:\n    def as_dict(self):\n        {body}\n\ndef attack():\n    return Thing()"
    )
    done = await lab.attack(code, outcome, timeout=1.5)
    if outcome is Outcome.OK:
        assert isinstance(done.result, Opaque)
        assert done.result.class_name == "main.Thing"
