"""Environments for a package of the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox import environments
from sandbox.base import SandboxError
from sandbox.own import main


def test_mistakes_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"project={tmp_path}", f"out={tmp_path / 'env'}"]) == 2
    assert "no pyproject.toml" in capsys.readouterr().err
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    assert main([f"project={tmp_path}", f"out={tmp_path / 'env'}"]) == 2
    assert "no project.name" in capsys.readouterr().err
    assert main(["project=x"]) == 2
    assert main(["project=x", "out=y", "colour=red"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_path_is_an_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "requirements.lock").write_text("")
    (own / "warmup.py").write_text("ready = True\n")
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    assert environments.warmup(str(own)) == "ready = True\n"
    assert environments.wanted_python(str(own)) is None
    first = environments.folder(str(own))
    assert first.name.startswith("own-")
    (own / "requirements.lock").write_text("# another\n")
    assert environments.folder(str(own)) != first
    with pytest.raises(SandboxError, match=r"python -m sandbox\.own"):
        environments.lock_file(str(tmp_path / "absent"))
    with pytest.raises(SandboxError, match="or a path"):
        environments.lock_file("absent")
