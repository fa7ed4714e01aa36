"""What code hands over beside its result: files in ``out``, exceptions that it caught, its time."""

from __future__ import annotations

import json

import pytest

from sandbox.base import Caught, Mount, Outcome
from sandbox.exchange import MAX_NAME, read_report
from sandbox.inside.tagged import MAX_CAUGHT, MAX_MESSAGE, MB, OUT_BYTES, OUT_FILES
from tests.support.sandboxes import PROGRAMS, Lab

session_loop = pytest.mark.asyncio(loop_scope="session")


@session_loop
async def test_files_are_handed_over_as_they_are(lab: Lab) -> None:
    done = await lab.attack(PROGRAMS["out files"], Outcome.OK, collect=True)
    assert done.result == {"x": 1.5}
    assert {file.name: file.data for file in done.files} == {
        "empty.txt": b"",
        "plots/a b.png": bytes(range(256)),
    }
    assert done.left == ()
    done = await lab.attack(PROGRAMS["out and caught"], Outcome.OK, collect=True)
    assert [item.type for item in done.caught] == ["ZeroDivisionError"]
    assert done.files[0].data == b"b"


@session_loop
async def test_only_whoever_asks_gets_files(lab: Lab) -> None:
    code = "import os\ndef attack():\n    return os.path.exists('out')"
    done = await lab.attack(code, Outcome.OK)
    assert (done.result, done.files) == (False, ())
    assert (await lab.attack(code, Outcome.OK, collect=True)).result is True
    code = "def attack():\n    open('out/a', 'w').write('b')\n    1 / 0"
    assert (await lab.attack(code, Outcome.EXCEPTION, collect=True)).files == ()


@session_loop
async def test_links_and_pipes_are_left(lab: Lab) -> None:
    done = await lab.attack(PROGRAMS["out links"], Outcome.OK, collect=True)
    assert done.files == ()
    assert len(done.left) == 6
    assert any(line.startswith("passwd: not a plain file") for line in done.left)
    assert all(line.isprintable() for line in done.left)
    code = "import os\ndef attack():\n    os.rmdir('out')\n    os.symlink('/env/lib', 'out')"
    done = await lab.attack(code, Outcome.OK, collect=True)
    assert (done.files, done.left) == ((), ())


@session_loop
async def test_the_limits_are_kept(lab: Lab) -> None:
    done = await lab.attack(PROGRAMS["out many"], Outcome.OK, collect=True)
    assert len(done.files) == OUT_FILES == 32
    assert "000: at most 8 MB are handed over" in done.left
    assert sum("files are handed over" in line for line in done.left) == 4
    # All that is allowed arrives beside a large result.
    done = await lab.attack(PROGRAMS["out full"], Outcome.OK, timeout=20, collect=True)
    assert len(done.result) == 15 * MB
    assert len(done.files[0].data) == OUT_BYTES == 8 * MB


@session_loop
async def test_an_input_cannot_stand_where_output_is_written(
    lab: Lab, tmp_path
) -> None:
    (tmp_path / "x").write_text("x")
    with pytest.raises(ValueError, match="out"):
        await lab.sandbox.run(
            "", "", timeout=1, mounts=[Mount(tmp_path, "out")], collect=True
        )


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../up",
        "a/../b",
        "a//b",
        "",
        ".",
        "a/.b",
        "c:\\x",
        "nul",
        "COM1.txt",
        "a ",
        "a.",
        "x" * (MAX_NAME + 1),
        "a/b/c/d/e",
        "\u202etxt.exe",
        "a\nb",
        "a\0b",
    ],
)
def test_a_forged_name_is_refused(name: str) -> None:
    report = read_report(message_of([(name, b"data")]))
    assert report.message == b"ok\nnull"
    assert report.files == ()
    assert len(report.left) == 1
    assert report.left[0].isprintable()


def test_files_that_one_folder_cannot_hold_are_refused() -> None:
    given = [("a", b"1"), ("A", b"2"), ("a/b", b"3"), ("c/d", b"4"), ("C", b"5")]
    report = read_report(message_of(given))
    assert [file.name for file in report.files] == ["a", "c/d"]
    assert len(report.left) == 3


def message_of(files: list[tuple[str, bytes]]) -> bytes:
    report = {
        "caught": [],
        "files": [[name, len(data)] for name, data in files],
        "left": [],
    }
    contents = b"".join(data for _, data in files)
    return b"ok " + json.dumps(report).encode() + b"\n" + contents + b"null"


@session_loop
async def test_what_the_code_swallows_is_reported_once_with_its_own_line(
    lab: Lab,
) -> None:
    done = await lab.attack(PROGRAMS["caught once"], Outcome.OK)
    assert done.result == {"a": None, "b": None}
    assert [(item.type, item.line) for item in done.caught] == [
        ("KeyError", 3),
        ("JSONDecodeError", 12),
        ("ZeroDivisionError", 16),
    ]
    assert done.caught[0].message == "'missing'"
    assert "property name" in done.caught[1].message
    assert (await lab.attack(PROGRAMS["caught by libraries"], Outcome.OK)).caught == ()
    done = await lab.attack(PROGRAMS["caught and ended"], Outcome.EXCEPTION)
    assert done.caught == (Caught("IndexError", "list index out of range", 8),)


@session_loop
async def test_many_and_long_ones_are_bounded(lab: Lab) -> None:
    done = await lab.attack(PROGRAMS["caught often"], Outcome.OK, timeout=30.0)
    assert len(done.caught) == MAX_CAUGHT
    assert all(len(item.message) == MAX_MESSAGE for item in done.caught)


HOSTILE = {
    "str raises": "class E(Exception):\n    def __str__(self): raise SystemExit(9)",
    "str is no str": "class E(Exception):\n    def __str__(self): return 7",
    "surrogates": "class E(Exception):\n    def __str__(self): return '\\ud800\\x1b'",
    "lying name": "class M(type):\n    __name__ = property(lambda s: 1 / 0)\n"
    "class E(Exception, metaclass=M): pass",
}


@session_loop
@pytest.mark.parametrize("definition", HOSTILE.values(), ids=HOSTILE.keys())
async def test_hostile_exceptions_change_nothing(lab: Lab, definition: str) -> None:
    code = "\ndef attack():\n    try: raise E()\n    except E: return 'as before'"
    done = await lab.attack(definition + code, Outcome.OK, Outcome.EXIT)
    if done.outcome is Outcome.OK:
        assert done.result == "as before"
        assert [item.type for item in done.caught] == ["E"]
        done.caught[0].message.encode()  # can be written to a file


@session_loop
async def test_code_at_the_limit_of_recursion_behaves_as_before(lab: Lab) -> None:
    done = await lab.attack(PROGRAMS["recursion"], Outcome.OK)
    assert abs(done.result) <= 1  # exec() is a frame of its own


@session_loop
async def test_processor_time_is_counted_over_all_processes(lab: Lab) -> None:
    done = await lab.attack(PROGRAMS["all processes"], Outcome.OK, timeout=30.0)
    assert done.cpu_seconds is not None
    assert 0.8 <= done.cpu_seconds <= 2.5
    assert done.seconds >= 0.8
