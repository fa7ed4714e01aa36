"""docs/adding-a-provider.md, followed literally."""

import re
import shutil

from agents.assistant import config as assistant
from agents.models import Message, build_model
from docgen.writer import open_writer
from experiments.run.config import read_run
from foundation import configuration
from foundation.command import Group
from foundation.configuration import CONF
from tests.support.paths import ROOT

GUIDE = ROOT / "docs" / "adding-a-provider.md"


async def test_the_guide_works(tmp_path, monkeypatch):
    text = GUIDE.read_text()
    assert text.count("\n") < 50
    blocks = re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)
    (code,) = [block for kind, block in blocks if kind == "python"]
    (tmp_path / "mine.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    conf = shutil.copytree(CONF, tmp_path / "conf")
    (conf / "model" / "mine.yaml").write_text(
        [b for kind, b in blocks if kind == "yaml"][-1]
    )
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    run = read_run(["model=mine", "system=single", f"--config-dir={conf}"]).model
    asked = assistant.read_config(["model=mine", f"--config-dir={conf}"]).model
    assert run == asked
    reply = await build_model(run).ask([Message("user", "Hi")], sample="0")
    assert reply.text == "Hello."
    monkeypatch.setattr(
        configuration.Conf, "of", lambda _: (configuration.Conf((conf,)), [])
    )
    async with open_writer(Group("mine")) as chat:
        assert (await chat.ask("Hi")).text == "Hello."
