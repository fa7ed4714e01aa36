"""``python -m sandbox``: what a user sees."""

import json
import os

import pytest

from sandbox import __main__ as program
from sandbox.__main__ import main
from sandbox.base import SandboxError
from tests.sandbox.conftest import needs_bubblewrap


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["dance"], "install, build, selftest"),
        (["build", "env=nothing"], "there are: live"),
        (["selftest", "timeout=soon"], "timeout=soon: input should be a valid number"),
        (["selftest", "colour=red"], "colour"),
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


@needs_bubblewrap
@pytest.mark.long
def test_selftest_as_json_and_as_a_table(monkeypatch, capsys):
    assert main(["selftest", "backend=bubblewrap", "json=true"]) == 0
    report = json.loads(capsys.readouterr().out)
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
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    with pytest.raises(SandboxError, match=said):
        program.install_bubblewrap()
