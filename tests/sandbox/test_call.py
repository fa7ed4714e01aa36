"""Functions of the project that run inside: what goes in with them, what comes back."""

import numpy as np
import pytest

from sandbox import shipping
from sandbox.base import Outcome
from sandbox.inside.tagged import UnencodableError
from sandbox.inside.values import Element, Msonable

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize(
    "value",
    [
        "'''\\\" __import__('os').abort()", "\ud800", {"$": "nonsense"}, (1, {2}, None), [10**5000],
        Msonable("a.B", {"x": Element("Fe")}),
    ],
)  # fmt: skip
async def test_arguments_arrive_as_they_are(sandbox, value):
    done = await sandbox.call("tests.sandbox.called", "back", [value, "b"], timeout=20)
    assert done.result == [value, "b"]


async def test_arrays_and_what_the_module_imports(sandbox):
    done = await sandbox.call("tests.sandbox.called", "doubled", [np.eye(2)], timeout=20)
    assert done.outcome is Outcome.OK, done.error
    assert done.result.tolist() == [[2, 0], [0, 2]]
    assert set(shipping.texts("tests.sandbox.called")) == {
        "tests.sandbox.called",
        "tests.sandbox.called_by",
    }


async def test_an_error_shows_the_line_of_the_module(sandbox):
    done = await sandbox.call("tests.sandbox.called", "fails", timeout=20)
    assert done.outcome is Outcome.EXCEPTION
    assert done.error is not None
    first = done.error.splitlines()[1]
    assert "tests/sandbox/called.py" in first
    assert 'raise ValueError("here")' in done.error


async def test_answers_see_none_of_it(sandbox):
    code = (
        "import sys\ndef f():\n    open('sandbox.py', 'w').write('theirs = 1')\n"
        "    import sandbox\n    return sandbox.theirs, [n for n in sys.modules if 'inside' in n]"
    )
    done = await sandbox.run(code, "f", timeout=20)
    assert done.result == (1, [])


async def test_what_cannot_be_called_says_so(sandbox):
    deep = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(UnencodableError, match="deeper"):
        await sandbox.call("tests.sandbox.called", "back", [deep, 1], timeout=20)
    for name in ("os.path", "tests.nothing", "../secret", "numpy"):
        with pytest.raises(ValueError, match="no module of the project"):
            await sandbox.call(name, "f", timeout=20)
