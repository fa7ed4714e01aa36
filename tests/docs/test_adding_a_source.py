"""docs/adding-a-source.md, followed literally."""

import re
import shutil

from agents.budget import Meter
from agents.runtime import open_client, open_retriever, open_writer
from experiments.run.config import read_run
from foundation.configuration import CONF
from sandbox import environments
from sandbox.base import SandboxConfig
from tests.support.paths import ROOT

GUIDE = ROOT / "docs" / "adding-a-source.md"


async def test_the_guide_works(package, tmp_path, monkeypatch):
    text = GUIDE.read_text()
    assert text.count("\n") <= 40
    source, config = (
        re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL)[1]
        for kind in ("python", "yaml")
    )
    conf = shutil.copytree(CONF, tmp_path / "conf")
    (conf / "retrieval" / "notes.yaml").write_text(config)
    (tmp_path / "notes.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(environments, "site_packages", lambda _: package)
    words = ["model=none", "system=rag", "paragraphs=2", f"--config-dir={conf}"]
    made = read_run(["retrieval=notes", *words])
    assert made.retrieval.params == {"paragraphs": 2}
    writer = open_writer(made, open_client(made.model), Meter())
    retriever = await open_retriever(
        made, ["brickwork"], SandboxConfig(), writer=writer
    )
    assert retriever is not None
    (best, *_) = await retriever.search("a wall of bricks", k=2)
    assert best.entry.qualname.startswith("brickwork")
    assert await retriever.lookup("brickwork.wall") is not None
