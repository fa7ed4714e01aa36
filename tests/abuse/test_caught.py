"""Exceptions that the code catches itself: reported, bounded, and not a way to harm anyone."""

from __future__ import annotations

import json

import pytest

from sandbox.base import Caught, Outcome
from sandbox.server.bounds import MAX_CAUGHT, MAX_MESSAGE
from tests.abuse.conftest import Lab

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_what_the_code_swallows_is_reported_once_with_its_own_line(lab: Lab) -> None:
    code = """
        import contextlib, json
        def inner():
            return {}["missing"]
        def attack():
            values = {}
            for key in ("a", "b"):
                try:
                    values[key] = inner()
                except Exception:
                    values[key] = None
            try:
                json.loads("{")
            except ValueError as error:
                del error
            with contextlib.suppress(ZeroDivisionError):
                1 / 0
            return values
        """
    done = await lab.attack(code, Outcome.OK)
    assert done.result == {"a": None, "b": None}
    assert [(item.type, item.line) for item in done.caught] == [
        ("KeyError", 4), ("JSONDecodeError", 13), ("ZeroDivisionError", 17),
    ]  # fmt: skip
    assert done.caught[0].message == "'missing'"
    assert "property name" in done.caught[1].message


async def test_what_libraries_catch_is_not_reported(lab: Lab) -> None:
    code = """
        import json, numpy
        def attack():
            getattr(object, "missing", None), hasattr(1, "missing")
            return json.loads("[1]", parse_float=None), numpy.float64("1.5") + next(iter([]), 1)
        """
    assert (await lab.attack(code, Outcome.OK)).caught == ()


async def test_what_ends_the_code_is_not_called_caught(lab: Lab) -> None:
    code = """
        def attack():
            try:
                int("x")
            except TypeError:
                pass
            except ValueError as error:
                try:
                    [][0]
                except IndexError:
                    pass
                raise KeyError("final") from error
        """
    done = await lab.attack(code, Outcome.EXCEPTION)
    assert done.caught == (Caught("IndexError", "list index out of range", 9),)


async def test_many_and_long_ones_are_bounded(lab: Lab) -> None:
    code = """
        def attack():
            for number in range(100_000):
                try:
                    raise ValueError(str(number) + "x" * 10_000)
                except ValueError:
                    pass
        """
    done = await lab.attack(code, Outcome.OK, timeout=30.0)
    assert len(done.caught) == MAX_CAUGHT
    assert all(len(item.message) == MAX_MESSAGE for item in done.caught)


HOSTILE = {
    "str raises": "class E(Exception):\n    def __str__(self): raise SystemExit(9)",
    "str is no str": "class E(Exception):\n    def __str__(self): return 7",
    "surrogates": "class E(Exception):\n    def __str__(self): return '\\ud800\\x1b'",
    "lying name": "class M(type):\n    __name__ = property(lambda s: 1 / 0)\n"
    "class E(Exception, metaclass=M): pass",
}


@pytest.mark.parametrize("definition", HOSTILE.values(), ids=HOSTILE.keys())
async def test_hostile_exceptions_change_nothing(lab: Lab, definition: str) -> None:
    code = f"""{definition}
def attack():
    try:
        raise E()
    except E:
        return "as before"
"""
    done = await lab.attack(code, Outcome.OK, Outcome.EXIT)
    if done.outcome is Outcome.OK:
        assert done.result == "as before"
        assert [item.type for item in done.caught] == ["E"]
        done.caught[0].message.encode()  # can be written to a file


async def test_code_at_the_limit_of_recursion_behaves_as_before(lab: Lab) -> None:
    code = """
        import sys
        def depth(n):
            try:
                return depth(n + 1)
            except RecursionError:
                return n
        def plain():
            scope = {}
            lines = "def depth(n):", " try: return depth(n + 1)", " except RecursionError: return n"
            exec("\\n".join(lines), scope)
            return scope["depth"](0)
        def attack():
            return depth(0) - plain()
        """
    assert abs((await lab.attack(code, Outcome.OK)).result) <= 1  # exec() is a frame of its own


REPORT = 'ok {"caught": %s, "files": [], "left": []}\n1'
FORGED = {
    "no JSON": "ok [[[[\nnull",
    "too many": REPORT % json.dumps([["E", "", 1]] * 21),
    "no list": REPORT % "99999999999999999999",
    "other types": REPORT % '[[1, "x", true]]',
    "a negative line": REPORT % '[["E", "x", -1]]',
    "deep": "ok " + "[" * 60000 + "\n1",
}


@pytest.mark.parametrize("message", FORGED.values(), ids=FORGED.keys())
async def test_a_forged_list_is_a_bad_result(lab: Lab, message: str) -> None:
    code = f"""
        import os
        def attack():
            os.write(3, {message.encode()!r})
            os._exit(0)
        """
    done = await lab.attack(code, Outcome.BAD_RESULT)
    assert done.caught == ()


async def test_processor_time_is_counted_over_all_processes(lab: Lab) -> None:
    code = """
        import os, time
        def burn(seconds):
            while time.process_time() < seconds:
                pass
        def attack():
            pid = os.fork()
            if pid == 0:
                burn(0.3)
                os._exit(0)
            if os.fork() == 0:
                burn(0.3)
                time.sleep(60)  # never waited for
            burn(0.3)
            os.waitpid(pid, 0)
            time.sleep(0.8)
        """
    done = await lab.attack(code, Outcome.OK, timeout=30.0)
    assert done.cpu_seconds is not None
    assert 0.8 <= done.cpu_seconds <= 2.5
    assert done.seconds >= 0.8
