"""docs/adding-a-provider.md, followed literally."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from agents import assistant, composition
from agents.models import build_model
from docgen.chat import open_model
from experiments.config import compose, validate
from sandbox import command
from sandbox.command import CONF, Group

GUIDE = Path(__file__).parents[2] / "docs" / "adding-a-provider.md"


async def test_the_guide_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = GUIDE.read_text()
    assert text.count("\n") < 40
    found = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert found is not None
    conf = shutil.copytree(CONF, tmp_path / "conf")
    (conf / "model" / "mine.yaml").write_text(found[1])
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    run = validate(compose(["model=mine", "system=single"], conf)).model
    plain = composition.compose_plain(
        ["model=mine"], conf, kind=assistant.AssistantConfig, root="assistant"
    )
    asked = assistant.AssistantConfig.model_validate(plain).model
    assert run == asked
    reply = await build_model(run).ask([HumanMessage("Hi")], sample="0")
    assert reply.text == "Hello."
    monkeypatch.setattr(command, "CONF", conf)
    async with open_model(Group("mine")) as chat:
        assert (await chat.ainvoke("Hi")).content == "Hello."
