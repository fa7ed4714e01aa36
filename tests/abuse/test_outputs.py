"""What code may hand over in its folder ``out``, and what it tries to."""

from __future__ import annotations

import json

import pytest

from sandbox.base import Mount, Outcome
from sandbox.exchange import MAX_NAME, MAX_REPORT, read_report
from sandbox.inside.tagged import MB
from sandbox.server.bounds import OUT_BYTES, OUT_FILES
from tests.abuse.conftest import Lab

session_loop = pytest.mark.asyncio(loop_scope="session")


@session_loop
async def test_files_are_handed_over_as_they_are(lab: Lab) -> None:
    code = """
        import os
        def attack():
            os.makedirs("out/plots")
            open("out/plots/a b.png", "wb").write(bytes(range(256)))
            open("out/empty.txt", "w").close()
            open("beside.txt", "w").write("not in out")
            return {"x": 1.5}
        """
    done = await lab.attack(code, Outcome.OK, collect=True)
    assert done.result == {"x": 1.5}
    assert {file.name: file.data for file in done.files} == {
        "empty.txt": b"",
        "plots/a b.png": bytes(range(256)),
    }
    assert done.left == ()


@session_loop
async def test_only_whoever_asks_gets_files(lab: Lab) -> None:
    code = "import os\ndef attack():\n    return os.path.exists('out')"
    done = await lab.attack(code, Outcome.OK)
    assert (done.result, done.files) == (False, ())
    assert (await lab.attack(code, Outcome.OK, collect=True)).result is True


@session_loop
async def test_what_is_caught_is_still_told(lab: Lab) -> None:
    code = """
        def attack():
            open("out/a", "w").write("b")
            try:
                1 / 0
            except ZeroDivisionError:
                return 2
        """
    done = await lab.attack(code, Outcome.OK, collect=True)
    assert [item.type for item in done.caught] == ["ZeroDivisionError"]
    assert done.files[0].data == b"b"


@session_loop
async def test_links_and_pipes_are_left(lab: Lab) -> None:
    code = """
        import os
        def attack():
            os.symlink("/etc/passwd", "out/passwd")
            os.symlink("/", "out/root")
            os.mkfifo("out/pipe")
            os.mkdir("out/folder")
            open("out/.hidden", "w").write("x")
            open("out/-rf", "w").write("x")
            open("out/esc\\x1b[2J.txt", "w").write("x")
            open("out/half\\udcff", "w").write("x")
        """
    done = await lab.attack(code, Outcome.OK, collect=True)
    assert done.files == ()
    assert len(done.left) == 6
    assert any(line.startswith("passwd: not a plain file") for line in done.left)
    assert all(line.isprintable() for line in done.left)


@session_loop
async def test_a_folder_that_is_a_link_is_not_followed(lab: Lab) -> None:
    code = """
        import os
        def attack():
            os.rmdir("out")
            os.symlink("/env/lib", "out")
        """
    done = await lab.attack(code, Outcome.OK, collect=True)
    assert (done.files, done.left) == ((), ())


@session_loop
async def test_the_limits_are_kept(lab: Lab) -> None:
    code = f"""
        def attack():
            for number in range({OUT_FILES + 5}):
                open(f"out/{{number:03}}", "w").write("x")
            open("out/000", "wb").truncate({OUT_BYTES} + 1)
            return 1
        """
    done = await lab.attack(code, Outcome.OK, collect=True)
    assert len(done.files) == OUT_FILES
    assert "000: at most 8 MB are handed over" in done.left
    assert sum("files are handed over" in line for line in done.left) == 4


@session_loop
async def test_all_that_is_allowed_arrives_beside_a_large_result(lab: Lab) -> None:
    code = f"""
        def attack():
            open("out/full", "wb").write(bytes({OUT_BYTES}))
            return "x" * {15 * MB}
        """
    done = await lab.attack(code, Outcome.OK, timeout=20, collect=True)
    assert len(done.result) == 15 * MB
    assert len(done.files[0].data) == OUT_BYTES


@session_loop
async def test_a_failed_run_hands_nothing_over(lab: Lab) -> None:
    code = "def attack():\n    open('out/a', 'w').write('b')\n    1 / 0"
    assert (await lab.attack(code, Outcome.EXCEPTION, collect=True)).files == ()


@session_loop
@pytest.mark.parametrize(
    "report",
    [
        b'ok {"caught": [], "files": [["a", 9]], "left": []}\nnull',  # more than there is
        b'ok {"caught": [], "files": [["a", -1]], "left": []}\nnull',
        b'ok {"caught": [], "files": [["a", true]], "left": []}\nnull',
        b'ok {"caught": [], "files": 3, "left": []}\nnull',
        b'ok {"files": []}\nnull',
        b"ok [[[[\nnull",
        b"ok " + b" " * MAX_REPORT + b'{"caught": [], "files": [], "left": []}\nnull',
    ],
)
async def test_a_forged_report_is_no_result(lab: Lab, report: bytes) -> None:
    code = f"import os\ndef attack():\n    os.write(3, {report!r})\n    os._exit(0)"
    done = await lab.attack(code, Outcome.BAD_RESULT, collect=True)
    assert done.files == ()


@session_loop
async def test_an_input_cannot_stand_where_output_is_written(lab: Lab, tmp_path) -> None:
    (tmp_path / "x").write_text("x")
    with pytest.raises(ValueError, match="out"):
        await lab.sandbox.run("", "", timeout=1, mounts=[Mount(tmp_path, "out")], collect=True)


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../up", "a/../b", "a//b", "", ".", "a/.b", "c:\\x", "nul", "COM1.txt", "a ",
     "a.", "x" * (MAX_NAME + 1), "a/b/c/d/e", "\u202etxt.exe", "a\nb", "a\0b"],
)  # fmt: skip
def test_a_forged_name_is_refused(name: str) -> None:
    payload, _, files, left = read_report(message_of([(name, b"data")]))
    assert payload == b"ok\nnull"
    assert files == ()
    assert len(left) == 1
    assert left[0].isprintable()


def test_files_that_one_folder_cannot_hold_are_refused() -> None:
    given = [("a", b"1"), ("A", b"2"), ("a/b", b"3"), ("c/d", b"4"), ("C", b"5")]
    _, _, files, left = read_report(message_of(given))
    assert [file.name for file in files] == ["a", "c/d"]
    assert len(left) == 3


def message_of(files: list[tuple[str, bytes]]) -> bytes:
    report = {"caught": [], "files": [[name, len(data)] for name, data in files], "left": []}
    contents = b"".join(data for _, data in files)
    return b"ok " + json.dumps(report).encode() + b"\n" + contents + b"null"
