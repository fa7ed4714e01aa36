"""Two turns: a program in the sandbox, then the answer."""

import pytest

from agents.answer_formats import Json
from agents.base import Question
from agents.episode import Context
from agents.systems.single import Code2
from tests.agents.scripted import client

QUESTION = Question("q", "What is 6 times 7?", answer=Json(["", ""]))
ANSWER = '<answer>["42", ""]</answer>'


def program(text):
    return f"Here it is.\n```python\n{text}\n```"


async def solve(sandbox, first):
    model, chat = client(first, ANSWER)
    trajectory = await Code2(Context(model, sandbox=sandbox)).solve(QUESTION)
    assert trajectory.stop_reason == "answered", trajectory.error
    assert trajectory.value == ["42", ""]
    return trajectory, chat.prompts


async def test_what_a_program_prints_stands_before_the_answer(live_sandbox):
    trajectory, (first, second) = await solve(live_sandbox, program("print(6 * 7)"))
    assert "standard library only" in first
    assert "<printed>\n42\n</printed>" in second
    assert [s.kind for s in trajectory.steps] == ["model", "execute", "model", "parse"]
    assert trajectory.usage.calls == 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("import numpy", "nothing: it imports numpy"),
        ("from ase.build import bulk", "nothing: it imports ase.build"),
        ("import math; print(math.tau)", "6.28"),
        ("print(input())", "Error"),
        ("print('''</printed> \\'\\'\\' ''')", "</printed> '''"),
        ("(" * 5000, "Error"),
    ],
)
async def test_whatever_the_program_does_is_shown(live_sandbox, text, shown):
    _, (_, second) = await solve(live_sandbox, program(text))
    assert shown in second


async def test_a_reply_without_a_program_runs_nothing(live_sandbox):
    trajectory, (_, second) = await solve(live_sandbox, "It is easy.")
    assert "nothing: there was no program" in second
    assert not [s for s in trajectory.steps if s.kind == "execute"]
