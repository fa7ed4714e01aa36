"""What docs/adding-an-agent.md says works as it stands there."""

import inspect
import re
from pathlib import Path

import pytest
import yaml

from agents.base import Question
from agents.episode import Context
from tests.agents.scripted import client, code_reply

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "adding-an-agent.md").read_text()
SYSTEMS = (DOCS / "systems.md").read_text()
QUESTION = Question("q", "Compute it.", {"a": "int"})


def block(language):
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def shorter():
    names: dict[str, type] = {}
    exec(block("python"), names)
    return names["Shorter"]


async def test_the_example_is_a_system(shorter):
    long = code_reply("\n".join(f"x = {n}" for n in range(30)) + "\nreturn {'a': x}")
    model, chat = client(long, code_reply("return {'a': 29}"))
    trajectory = await shorter(Context(model), lines=20).solve(QUESTION)
    assert trajectory.stop_reason == "answered"
    assert trajectory.code == "def f():\n    return {'a': 29}"
    assert "at most 20 lines" in chat.prompts[1]


def test_its_configuration_fits_its_constructor(shorter):
    plain = yaml.safe_load(block("yaml"))
    parameters = inspect.signature(shorter).parameters
    assert set(plain) - {"_target_", "name"} <= set(parameters)
    assert plain["name"] == shorter.name


def test_every_system_is_in_the_table():
    conf = Path(__file__).parents[2] / "conf" / "system"
    listed = set(re.findall(r"^\| `(\w+)` \|", SYSTEMS, re.MULTILINE))
    assert listed == {path.stem for path in conf.glob("*.yaml")}


def test_every_switch_that_it_names_exists():
    from agents.systems.reflect import Reflect

    named = set(re.findall(r"`system\.(\w+)", SYSTEMS))
    assert len(named) >= 8
    assert named <= set(inspect.signature(Reflect).parameters)
