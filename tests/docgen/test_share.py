"""Texts that others wrote, and what a second writer's run costs."""

import os
from pathlib import Path

import pytest

from docgen.__main__ import main
from docgen.texts import read_texts, write_texts
from tests.docgen.documenting import arguments, rows


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of its own; environments are where they were."""
    root = Path(os.environ.get("MATSMITH_CACHE", Path.cwd() / ".cache/matsmith"))
    folder = tmp_path / "cache"
    folder.mkdir()
    if (root / "envs").is_dir():
        (folder / "envs").symlink_to((root / "envs").resolve())
    monkeypatch.setenv("MATSMITH_CACHE", str(folder))
    return folder


def test_what_one_writes_another_uses(package, tmp_path, endpoint, cache, capsys):
    out = tmp_path / "docs.jsonl"
    assert main(arguments(package, out, endpoint.url)) == 0
    write_texts(cache / "written/brickwork-dist-1.2.jsonl.gz", read_texts(Path(f"{out}.written")))
    capsys.readouterr()
    endpoint.asked.clear()
    again = tmp_path / "again.jsonl"
    assert main(["package=brickwork", f"folder={package}", f"out={again}"]) == 0
    printed = capsys.readouterr().out
    theirs = {name for name, row in rows(again).items() if row["writer"] == "local"}
    assert f"0 kept, {len(theirs)} shipped or imported" in printed
    assert len(theirs) > len(rows(again)) / 2
    assert not endpoint.asked
    wall = package / "brickwork/wall.py"
    wall.write_text(wall.read_text().replace("one * courses", "courses * one"))
    assert main(["package=brickwork", f"folder={package}", f"out={again}"]) == 0
    printed = capsys.readouterr().out
    assert f"0 kept, {len(theirs) - 1} shipped or imported" in printed
    assert "changed since they were shipped or imported: brickwork.wall.Wall.volume" in printed
    assert rows(again)["brickwork.wall.Wall.volume"]["writer"] == "facts"
