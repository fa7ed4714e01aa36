"""Honest code: what a run or a call returns, shows and is given."""

import asyncio

import numpy as np
import pytest

from sandbox import shipping
from sandbox.base import Mount, Outcome, SandboxError
from sandbox.factory import get_sandbox
from sandbox.inside.tagged import UnencodableError
from sandbox.inside.values import Element, Msonable
from tests.support.sandboxes import PROGRAMS, bare, needs_bubblewrap

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_function_returns_its_value_whatever_it_prints(sandbox):
    done = await sandbox.run(PROGRAMS["prints"], "answer", timeout=30)
    assert done.outcome is Outcome.OK
    assert done.result == {"a": (1, 2.5), "b": None}
    assert done.stdout == "at import\né\n{'not': 'the result'}\n"
    assert done.stderr == "to stderr\n"
    assert done.error is None
    assert done.payload == '{"a":{"$":"tuple","v":[1,2.5]},"b":null}'
    assert done.confinement == sandbox.confinement
    assert 0 < done.seconds < 30


async def test_a_script_runs_as_main_and_a_module_does_not(sandbox):
    code = "print(__name__, __file__)\ndef f():\n    return __name__ == '__main__'"
    script = await sandbox.run(code, "", timeout=30)
    assert (script.outcome, script.result) == (Outcome.OK, None)
    assert script.stdout == "__main__ /tmp/run/main.py\n"
    module = await sandbox.run(code, "f", timeout=30)
    assert module.result is False


@pytest.mark.parametrize(
    ("code", "outcome", "text"),
    [
        ("def f(:", Outcome.EXCEPTION, "SyntaxError"),
        ("def g():\n    pass", Outcome.EXCEPTION, "no function 'f'"),
        ("f = 3", Outcome.EXCEPTION, "no function 'f'"),
        ("def f(x):\n    pass", Outcome.EXCEPTION, "TypeError"),
        (
            "def f():\n    return missing",
            Outcome.EXCEPTION,
            "line 2, in f\n    return missing",
        ),
        (
            "def f():\n    raise KeyboardInterrupt",
            Outcome.EXCEPTION,
            "KeyboardInterrupt",
        ),
        ("def f():\n    raise MemoryError('mine')", Outcome.MEMORY, "mine"),
        ("def f():\n    return exit()", Outcome.EXIT, "SystemExit"),
        ("import nothing_like_this", Outcome.EXCEPTION, "ModuleNotFoundError"),
        ("import sandbox", Outcome.EXCEPTION, "ModuleNotFoundError"),
        ("def f():\n    x: int = '\ud800'\n    return x", Outcome.EXCEPTION, "Error"),
    ],
)
async def test_how_code_fails(sandbox, code, outcome, text):
    done = await sandbox.run(code, "f", timeout=30)
    assert done.outcome is outcome
    assert text in (done.error or "")
    assert "sandbox/server" not in (done.error or "")
    assert done.result is None
    assert done.payload is None


async def test_what_was_printed_is_kept_and_cut(sandbox):
    done = await sandbox.run("print('so far')\nwhile True: pass", "", timeout=0.5)
    assert (done.outcome, done.stdout) == (Outcome.TIMEOUT, "so far\n")
    done = await sandbox.run(
        "print('x' * 1_000_000)\ndef f(): return 1", "f", timeout=30
    )
    assert (done.result, done.stdout) == (1, "x" * (64 << 10))


async def test_mounts_are_there_for_their_run_only_and_read_only(sandbox, tmp_path):
    folder = tmp_path / "files"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "POSCAR").write_text("rocksalt\n")
    (folder / "bytes.bin").write_bytes(bytes(range(256)))
    (folder / "empty").mkdir()
    single = tmp_path / "one.json"
    single.write_text('{"a": 1}')
    mounts = [Mount(folder, "source/tests"), Mount(single, "one.json")]
    for _ in range(2):  # the second time from the worker's own copy
        done = await sandbox.run(PROGRAMS["mounts"], "f", timeout=30, mounts=mounts)
        assert done.outcome is Outcome.OK, done.error
        assert done.result == {
            "text": "rocksalt\n",
            "bytes": bytes(range(256)),
            "json": {"a": 1},
            "refused": [
                "source/tests/deep/er/POSCAR",
                "source/tests/new",
                "one.json",
                "source/tests/bytes.bin",
                "one.json",
            ],
            "beside": True,
        }
    assert (await sandbox.run(PROGRAMS["listing"], "f", timeout=30)).result == [
        "main.py"
    ]
    assert single.read_text() == '{"a": 1}'


async def test_a_changed_input_is_seen(sandbox, tmp_path):
    (tmp_path / "sub").mkdir()
    file = tmp_path / "sub" / "value"
    code = "def f(): return open('in/sub/value').read()"
    for text in ("one", "two", "six"):
        file.write_text(text)
        done = await sandbox.run(code, "f", timeout=30, mounts=[Mount(tmp_path, "in")])
        assert done.result == text


async def test_wrong_mounts_are_the_callers_mistake(sandbox, tmp_path):
    with pytest.raises(SandboxError, match="does not exist"):
        await sandbox.run("", "", timeout=5, mounts=[Mount(tmp_path / "no", "in")])
    for target in ("/etc", "../up", "a/../../b", "", ".", "main.py"):
        with pytest.raises(ValueError, match="relative"):
            await sandbox.run("", "", timeout=5, mounts=[Mount(tmp_path, target)])
    nested = [Mount(tmp_path, "data"), Mount(tmp_path, "data/sub")]
    with pytest.raises(ValueError, match="lies in 'data'"):
        await sandbox.run("", "", timeout=5, mounts=nested)
    (tmp_path / "link").symlink_to("/etc/hostname")
    with pytest.raises(SandboxError, match="link out of"):
        await sandbox.run("", "", timeout=5, mounts=[Mount(tmp_path, "in")])


async def test_more_requests_than_workers_are_all_answered(sandbox):
    codes = [f"def f(): return {number} ** 2" for number in range(25)]
    done = await asyncio.gather(*(sandbox.run(code, "f", timeout=60) for code in codes))
    assert [item.result for item in done] == [number**2 for number in range(25)]


@needs_bubblewrap
async def test_a_cancelled_run_leaves_a_working_sandbox():
    async with get_sandbox(bare()) as sandbox:
        run = asyncio.create_task(
            sandbox.run("import time\ntime.sleep(60)", "", timeout=90)
        )
        while not sandbox.busy:  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert (sandbox.idle, sandbox.busy) == ([], set())
        assert (await sandbox.run("def f(): return 7", "f", timeout=60)).result == 7


@pytest.mark.parametrize(
    "value",
    [
        "'''\\\" __import__('os').abort()",
        "\ud800",
        {"$": "nonsense"},
        (1, {2}, None),
        [10**5000],
        Msonable("a.B", {"x": Element("Fe")}),
    ],
)
async def test_arguments_arrive_as_they_are(sandbox, value):
    done = await sandbox.call("tests.sandbox.called", "back", [value, "b"], timeout=20)
    assert done.result == [value, "b"]


async def test_arrays_and_what_the_module_imports(sandbox):
    done = await sandbox.call(
        "tests.sandbox.called", "doubled", [np.eye(2)], timeout=20
    )
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
        with pytest.raises(ValueError, match="not a module of the project"):
            await sandbox.call(name, "f", timeout=20)
