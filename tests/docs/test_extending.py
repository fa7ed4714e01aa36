"""docs/extending.md, followed literally."""

import json
import re
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from agents.runtime import open_retriever
from experiments.command import main as run
from experiments.report.command import main as report
from experiments.report.show import main as show
from experiments.run.config import read_run
from foundation import plugins
from foundation.errors import UsageError
from indexes.embedding import build_embedding
from matsmith.__main__ import main
from sandbox import environments
from sandbox.base import SandboxConfig, SandboxError
from sandbox.factory import get_sandbox

GUIDE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text()
CODE = re.findall(r"```python\n# (\w+)\.py\n(.*?)```", GUIDE, re.DOTALL)
(ROLE,) = re.findall(r"```text\n(.*?)```", GUIDE, re.DOTALL)
TINY = ["benchmark=tests.support.tiny:TinyBenchmark", "model=none", "retrieval=none"]
SCRIPTED = [*TINY, "system=tests.support.tiny:Scripted", "limit=1"]


@pytest.fixture
def guide(tmp_path, monkeypatch):
    """A folder with what the guide writes, as the user's own."""
    for name, text in CODE:
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "terse").mkdir()
    (tmp_path / "terse" / "role.md").write_text(ROLE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_examples_are_short():
    assert {name for name, _ in CODE} == {
        "letters",
        "short",
        "alphabet",
        "counted",
        "slow",
    }
    assert max(text.count("\n") for _, text in CODE) < 30


async def test_an_embedding(guide):
    config = read_run(["embedding=letters:Letters", "embedding.alphabet=ab"])
    embedding = build_embedding(config.embedding.model_dump(by_alias=True))
    assert embedding.name == "letters-ab"
    assert await embedding.embed(["abba", "x"]) == [[3.0, 3.0], [1.0, 1.0]]


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ["reranker=short:ShortFirst", "reranker.candidates=3"],
        ["ranking=alphabet:Alphabetical"],
        ["retrieval.mode=dense", "embedding=letters:Letters"],
    ],
)
async def test_what_finds_documents(guide, package, words, monkeypatch):
    monkeypatch.setenv("MATSMITH_CACHE", str(guide / "cache"))
    monkeypatch.setattr(environments, "site_packages", lambda _: package)

    async def search(*more):
        config = read_run(["model=none", "system=rag", *more])
        retriever = await open_retriever(
            config, ["brickwork"], SandboxConfig(), writer=None
        )
        return await retriever.search("a wall of bricks", k=5)

    plain, changed = await search(), await search(*words)
    names = [hit.entry.qualname for hit in changed]
    assert names != [hit.entry.qualname for hit in plain]
    if "reranker" in words[0]:
        lengths = [len(hit.text) for hit in changed]
        assert lengths[:3] == sorted(lengths[:3])
        assert {hit.entry.id for hit in plain[:3]} == {
            hit.entry.id for hit in changed[:3]
        }
    if "ranking" in words[0]:
        assert names == sorted(names)


@pytest.mark.long
async def test_a_backend(guide):
    import counted

    async with get_sandbox(SandboxConfig(backend="counted:Counted")) as sandbox:
        done = await sandbox.run("def f(): return 2", "f", timeout=30)
    assert (done.result, done.confinement) == (2, "counted-bubblewrap")
    assert counted.Counted.opened > 0


@pytest.mark.long
def test_a_launcher(guide):
    words = ["launcher=slow:Slow", "launcher.options.pause=0", f"out={guide}/run"]
    assert run([*SCRIPTED, *words]) == 0
    summary = json.loads((guide / "run" / "summary.json").read_text())
    assert summary["complete"]


def test_templates_are_part_of_a_run(guide):
    words = ["system=single", "retrieval=none"]
    plain, terse = read_run(words), read_run([*words, "prompts=terse"])
    assert re.fullmatch(r"terse-[0-9a-f]{8}", terse.prompts.name)
    assert plain.hash("") != terse.hash("")
    assert terse.plain()["prompts"]["texts"] == {"role": ROLE.strip()}
    (guide / "terse" / "role.md").write_text("Another {libraries}.")
    assert read_run([*words, "prompts=terse"]).hash("") != terse.hash("")


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("rule.md", "x", "rule.md: no such template; there are role"),
        (
            "role.md",
            "{packages}",
            r"\{packages\} is not filled in; there are libraries",
        ),
        ("role.md", "{", "role.md: "),
        ("role.md", "x" * 200_000, "larger than 100000 bytes"),
    ],
)
def test_templates_that_cannot_be_used(guide, file, text, said):
    (guide / "terse" / file).write_text(text)
    with pytest.raises(UsageError, match=said):
        read_run(["prompts=terse"])


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (
            "embedding=broken:Class",
            "ZeroDivisionError: division by zero in .*broken.py:2",
        ),
        ("reranker=short:Nothing", "short:Nothing: cannot be imported"),
        ("reranker.weight=1", "reranker.weight: no such key"),
        ("reranker=short:ShortFirst reranker.boost=2", "reranker.boost: no such key"),
        ("ranking=nowhere", "ranking=nowhere: no such choice; choose from structure"),
        ("launcher.name=remote", "choose from local, dask"),
    ],
)
def test_mistakes(guide, word, said):
    (guide / "broken.py").write_text("def f():\n    return 1 / 0\n\n\nf()\n")
    with pytest.raises(UsageError, match=said):
        read_run(word.split())


def test_a_backend_that_cannot_be_made(guide):
    (guide / "broken.py").write_text(
        "class Lost:\n    def __init__(self, config):\n        raise KeyError('token')\n"
        "class Unfinished:\n    def __init__(self, config):\n        pass\n"
    )
    with pytest.raises(SandboxError, match=r"KeyError: 'token' in .*broken.py:3"):
        get_sandbox(SandboxConfig(backend="broken:Lost"))
    with pytest.raises(SandboxError, match=r"is not a sandbox\.worker\.Backend"):
        get_sandbox(SandboxConfig(backend="broken:Unfinished"))


def test_what_is_installed_is_listed(guide, monkeypatch, capsys):
    points = EntryPoints(
        [
            EntryPoint("short", "short:ShortFirst", "matsmith.rerankers"),
            EntryPoint("gone", "short:Gone", "matsmith.rerankers"),
        ]
    )
    monkeypatch.setattr(plugins, "entry_points", points.select)
    assert main(["plugins"]) == 1
    gone, fault, short = capsys.readouterr().out.splitlines()
    assert gone.startswith("reranker=gone")
    assert "short:Gone: cannot be imported" in fault
    assert short.split()[:2] == ["reranker=short", "short:ShortFirst"]
    assert read_run(["reranker=short"]).reranker.target == "short:ShortFirst"


@pytest.mark.long
def test_the_run_of_somebody_else_is_data(guide, capsys):
    """Nothing that a run folder names is imported, whatever is done with the folder."""
    folder = guide / "run"
    assert run([*SCRIPTED, f"out={folder}"]) == 0
    (guide / "evil.py").write_text(f"open({str(guide / 'imported')!r}, 'w')\n")
    for name in ("run.json", "summary.json"):
        content = json.loads((folder / name).read_text())
        config = content["config"]
        for group in ("system", "benchmark", "ranking", "reranker", "embedding"):
            config[group] = {"name": "evil", "_target_": "evil:Class"}
        config["sandbox"]["backend"] = "evil:Class"
        config["launcher"] = {"name": "evil", "_target_": "evil:Class"}
        config["model"] |= {"provider": "class", "path": "evil:Class"}
        config["prompts"] = {"name": "evil", "_target_": "evil:Class"}
        (folder / name).write_text(json.dumps(content))
    report([str(folder), f"html={guide}/page.html"])
    show([str(folder), "cubic"])
    main(["export", str(folder), "to=inspect"])
    main(["regrade", *TINY[:1], f"answers={folder}", f"out={guide}/again"])
    capsys.readouterr()
    assert (guide / "page.html").exists()
    assert not (guide / "imported").exists()
