"""The cache: what is listed, what is removed, and what never is."""

import os
import time

import pytest
from filelock import FileLock

from matsmith import cache
from sandbox import environments

DAY = 86_400


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path))
    needed = environments.folder("live")

    def make(name, days, size=1_000_000):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(os.urandom(size))
        for path in (folder / "file", folder):
            os.utime(path, (time.time() - days * DAY,) * 2)
        return folder

    return {
        "needed": make(needed.relative_to(tmp_path), 90),
        "old": make("envs/old-1", 60),
        "middle": make("corpora/llm_doc-1", 20),
        "new": make("invented/1-2", 1),
        "written": make("corpora/written", 90),
        "replies": make("written", 90),
    }


def test_the_list_has_everything_by_age_and_says_what_is_needed(made, capsys):
    assert cache.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "used by this version" in lines[0]
    assert [line.split()[4] for line in lines[1:4]] == [
        "envs/old-1", "corpora/llm_doc-1", "invented/1-2",
    ]  # fmt: skip
    assert any("2.0 MB  replies and documentation" in line for line in lines)


def test_what_is_old_goes_and_what_was_paid_for_stays(made, capsys):
    assert cache.main(["prune", "days=30", "dry=true"]) == 0
    assert "would remove" in capsys.readouterr().out
    assert all(folder.exists() for folder in made.values())
    assert cache.main(["prune", "days=30"]) == 0
    assert [name for name, folder in made.items() if not folder.exists()] == ["old"]
    assert cache.main(["prune", "days=0"]) == 0
    left = [name for name, folder in made.items() if folder.exists()]
    assert left == ["needed", "written", "replies"]


def test_what_somebody_builds_is_left(made, capsys):
    with FileLock(made["old"].with_suffix(".lock")):
        assert cache.main(["prune", "days=30"]) == 0
    assert "in use, left" in capsys.readouterr().out
    assert made["old"].exists()


@pytest.mark.parametrize(
    ("word", "said"), [("prune", "days=...: must be given"), ("prnue", "no command")]
)
def test_mistakes_are_one_line(made, capsys, word, said):
    assert cache.main([word]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
