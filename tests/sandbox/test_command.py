"""``python -m sandbox``: what a user sees."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import __main__ as program
from sandbox.__main__ import COMMANDS, main
from sandbox.base import SandboxError
from tests.sandbox.conftest import needs_bubblewrap

REPOSITORY = Path(__file__).resolve().parents[2]


def command(*words):
    return subprocess.run(
        [sys.executable, "-m", "sandbox", *words],
        capture_output=True, text=True, timeout=240, cwd=REPOSITORY, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["dance"], "install, build, run, selftest"),
        (["build", "env=nothing"], "there are: live"),
        (["run"], "file=...: must be given"),
        (["run", "no-such-file.py"], "no file"),
        (["run", __file__, "timeout=soon"], "timeout=soon: input should be a valid number"),
        (["run", __file__, "colour=red"], "colour"),
        (["selftest", "backend=unsafe"], "no controls"),
        (["selftest", "backend=chroot"], "auto, docker, podman, bubblewrap"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(words, text, capsys):
    assert main(words) == 2
    printed = capsys.readouterr()
    assert text in " ".join(printed.err.split())
    assert "Traceback" not in printed.err
    assert printed.out == ""


def test_help(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)
    assert main([]) == 2
    assert main(["run", "--help"]) == 0
    assert "FILE" in capsys.readouterr().out


@needs_bubblewrap
def test_a_script_of_the_user(tmp_path):
    script = tmp_path / "mine.py"
    script.write_text(
        "print('hello')\ndef f(): return {'a': 1}\nif __name__ == '__main__': 1 / 0\n"
    )
    words = "run", str(script), "backend=bubblewrap", "options.warmup=false"
    failed = command(*words)
    assert failed.returncode == 1
    assert failed.stdout == "hello\n"
    assert "ZeroDivisionError" in failed.stderr
    worked = command(*words, "entry=f")
    assert worked.returncode == 0
    assert worked.stdout == "hello\n{'a': 1}\n"
    assert "ok in" in worked.stderr
    assert "(bubblewrap)" in worked.stderr


@needs_bubblewrap
@pytest.mark.long
def test_selftest_as_json_and_as_a_table(monkeypatch, capsys):
    done = command("selftest", "backend=bubblewrap", "json=true")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["ok"] is True
    assert report["backend"] == "bubblewrap"
    names = [check["name"] for check in report["checks"]]
    assert len(names) == len(set(names)) == 18
    assert all(check["ok"] for check in report["checks"])

    async def told(_):
        return report

    monkeypatch.setattr(program, "selftest", told)
    assert main(["selftest"]) == 0
    assert "holds" in capsys.readouterr().out


@needs_bubblewrap
def test_install_does_nothing_where_isolation_works(capsys):
    assert main(["install"]) == 0
    assert "nothing to install" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("programs", "user", "said"),
    [
        ({"apt-get": "exit 0", "sudo": "exit 1"}, 1000,
         r"run this once: sudo apt-get install .*bubblewrap"),
        ({"dnf": "echo 'no such mirror' >&2; exit 7"}, 0, "no such mirror"),
        ({}, 0, "no known package manager"),
    ],
)  # fmt: skip
def test_what_cannot_be_installed_says_why(programs, user, said, tmp_path, monkeypatch):
    for name, body in programs.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    with pytest.raises(SandboxError, match=said):
        install.install()
