"""An outside agent: what it is told, what it may leave, how it ends."""

import asyncio
import sys
import textwrap
from pathlib import Path

import pytest

from agents.answer_formats import CODE, Block, File, Letters
from agents.base import Document, Question
from agents.episode import Context
from agents.models import ModelConfig, build_model
from agents.systems.command import (
    MAX_BYTES,
    MAX_LOG,
    CommandSystem,
    instruction,
    read_result,
)
from foundation.errors import UsageError

WANTED = File("result.cif")


@pytest.fixture
def agent(tmp_path):
    def make(source, **params):
        script = tmp_path / "it is an agent.py"
        script.write_text(textwrap.dedent(source))
        model = build_model(ModelConfig(provider="none", name="none"))
        return CommandSystem(
            Context(model), program=f"{sys.executable} '{script}'", **params
        )

    return make


def question(tmp_path, answer=WANTED):
    (tmp_path / "input").write_text("Na Cl")
    mounts = {"sub/structure.cif": str(tmp_path / "input")}
    return Question(
        "q",
        "Swap them.",
        mounts=mounts,
        answer=answer,
        attachments=(Document("../paper.txt", "A paper."),),
    )


async def test_it_gets_files_and_an_instruction_and_leaves_a_file_or_a_reply(
    agent, tmp_path
):
    made = agent(
        """
        import pathlib, sys
        assert sys.argv[1] == "--instruction" and len(sys.argv) == 3
        assert pathlib.Path("paper.txt").read_text() == "A paper."
        text = pathlib.Path("sub/structure.cif").read_text()
        pathlib.Path("deep/er").mkdir(parents=True)
        pathlib.Path("deep/er/result.cif").write_text(f"{sys.argv[2]} {text[::-1]}")
        print("done")
        sys.exit(3)
        """
    )
    found = await made.solve(question(tmp_path))
    assert (found.value, found.stop_reason) == ("Swap them. lC aN", "answered")
    (step,) = found.steps
    assert step.detail["arguments"] == {"ended": "exit code 3"}
    assert step.detail["result"] == "done\n"
    assert (found.usage.cost_usd, found.usage.unmetered) == (None, True)  # nobody knows
    assert not list(tmp_path.glob("command-*"))
    made = agent(
        """
        import pathlib, sys
        assert "answer.txt" in sys.argv[2]
        pathlib.Path("answer.txt").write_text("<answer>B</answer>")
        """
    )
    assert (await made.solve(question(tmp_path, Letters()))).value == "B"
    assert (
        await made.solve(question(tmp_path, Block("cif")))
    ).stop_reason == "format_error"
    assert "A paper." in instruction(question(tmp_path, Letters()))
    assert "<code>" in instruction(question(tmp_path, CODE))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("", "format_error"),
        ("import os; os.symlink('/etc/passwd', 'result.cif')", "format_error"),
        ("import os; os.mkfifo('result.cif')", "format_error"),
        ("import os; os.mkdir('result.cif')", "format_error"),
        ("open('result.cif', 'w').write('  ')", "format_error"),
        ("open('result.cif', 'wb').write(bytes(range(256)))", "answered"),
        ("raise SystemExit(3)", "crashed"),
        ("import os; os.kill(os.getpid(), 11)", "crashed"),
        ("import time; time.sleep(600)", "timeout"),
    ],
)
async def test_whatever_it_leaves_is_an_answer_or_none(agent, tmp_path, source, reason):
    limit = 3 if reason == "timeout" else 600
    assert (
        await agent(source, timeout=limit).solve(question(tmp_path))
    ).stop_reason == reason


def test_of_several_results_the_uppermost_counts_and_a_huge_one_is_cut(tmp_path):
    for name, content in {"a/result.cif": b"deep", "b/b/result.cif": b"deeper"}.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(content)
    assert read_result(tmp_path, "result.cif") == b"deep"
    (tmp_path / "result.cif").symlink_to(tmp_path / "a" / "result.cif")
    (tmp_path / "link").symlink_to("/")
    assert read_result(tmp_path, "result.cif") == b"deep"
    (tmp_path / "a" / "result.cif").write_bytes(b"x" * (3 * MAX_BYTES))
    assert len(read_result(tmp_path, "result.cif")) == MAX_BYTES + 1
    assert read_result(tmp_path, "other") is None


def alive(pid):
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        )
    except FileNotFoundError:
        return False


async def test_time_and_output_are_limited(agent, tmp_path):
    made = agent(
        """
        import pathlib, subprocess, sys, time
        pathlib.Path("result.cif").write_text("early")
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        pathlib.Path(sys.argv[0]).with_suffix(".pid").write_text(str(child.pid))
        print("x" * 5_000_000, flush=True)
        time.sleep(600)
        """,
        timeout=5,
    )
    found = await made.solve(question(tmp_path))
    assert found.value == "early"
    assert "stopped after 5 s" in found.steps[0].detail["arguments"]["ended"]
    assert len(found.steps[0].detail["result"]) <= MAX_LOG
    pid = int((tmp_path / "it is an agent.pid").read_text())
    for _ in range(200):  # it was killed; the kernel takes its time
        if not alive(pid):
            break
        await asyncio.sleep(0.05)
    assert not alive(pid)


async def test_a_program_that_is_not_there_is_no_wrong_answer(tmp_path):
    model = build_model(ModelConfig(provider="none", name="none"))
    found = await CommandSystem(Context(model), program="/nowhere/agent").solve(
        question(tmp_path)
    )
    assert found.stop_reason == "sandbox_error"
    assert "cannot be started" in found.error
    for program, said in (("", "name the command line"), ("'", "No closing quotation")):
        with pytest.raises(UsageError, match=said):
            CommandSystem(Context(model), program=program)
