"""``python -m sandbox``: what a user sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import bubblewrap, install
from sandbox.__main__ import COMMANDS, main
from sandbox.base import SandboxError

REPOSITORY = Path(__file__).resolve().parents[2]
needs_bubblewrap = pytest.mark.skipif(
    bubblewrap.problem() is not None, reason=str(bubblewrap.problem())
)


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sandbox", *words],
        capture_output=True, text=True, timeout=240, cwd=REPOSITORY, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["dance"], "install, list, build, run, selftest"),
        (["build", "env=nothing"], "there are: live"),
        (["run"], "file=...: is required"),
        (["run", "no-such-file.py"], "no file"),
        (["run", __file__, "timeout=soon"], "timeout=soon: Input should be a valid number"),
        (["run", __file__, "colour=red"], "colour"),
        (["selftest", "backend=unsafe"], "no controls"),
        (["selftest", "backend=chroot"], "auto, docker, podman, bubblewrap"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(
    words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    printed = capsys.readouterr()
    assert text in " ".join(printed.err.split())
    assert "Traceback" not in printed.err
    assert printed.out == ""


def test_help() -> None:
    shown = command("--help").stdout
    assert all(name in shown for name in COMMANDS)
    assert command().returncode == 2
    assert "FILE" in command("run", "--help").stdout


@needs_bubblewrap
def test_a_script_of_the_user(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(
        "print('hello')\ndef f(): return {'a': 1}\nif __name__ == '__main__': 1 / 0\n"
    )
    failed = command("run", str(script), "backend=bubblewrap")
    assert failed.returncode == 1
    assert failed.stdout == "hello\n"
    assert "ZeroDivisionError" in failed.stderr
    worked = command("run", str(script), "entry=f", "backend=bubblewrap")
    assert worked.returncode == 0
    assert worked.stdout == "hello\n{'a': 1}\n"
    assert "ok in" in worked.stderr
    assert "(bubblewrap)" in worked.stderr


@needs_bubblewrap
@pytest.mark.long
def test_selftest_as_json() -> None:
    done = command("selftest", "backend=bubblewrap", "json=true")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["ok"] is True
    assert report["backend"] == "bubblewrap"
    names = [check["name"] for check in report["checks"]]
    assert len(names) == len(set(names)) == 18
    assert all(check["ok"] for check in report["checks"])
    assert "holds" in command("selftest", "backend=bubblewrap").stdout


@needs_bubblewrap
def test_install_does_nothing_where_isolation_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install"]) == 0
    assert "nothing to install" in " ".join(capsys.readouterr().err.split())


def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **programs: str) -> None:
    """A machine with these programs only, where nothing isolates."""
    for name, body in programs.items():
        program = tmp_path / name.replace("_", "-")
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    if Path("/run/podman/podman.sock").exists():
        pytest.skip("a system podman answers")


def test_install_without_the_right_to_prints_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare_machine(tmp_path, monkeypatch, apt_get="exit 0", sudo="exit 1")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SandboxError, match=r"run this once: sudo apt-get install .*bubblewrap"):
        install.install()


def test_install_where_the_package_manager_fails_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare_machine(tmp_path, monkeypatch, dnf="echo 'no such mirror' >&2; exit 7")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(SandboxError, match="no such mirror"):
        install.install()


def test_install_with_no_package_manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare_machine(tmp_path, monkeypatch)
    with pytest.raises(SandboxError, match="no known package manager"):
        install.install()
