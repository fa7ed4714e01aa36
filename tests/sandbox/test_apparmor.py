"""A profile for bubblewrap alone: offered, never put in place unasked, with the way back."""

import pytest

from sandbox import __main__ as program
from sandbox import apparmor, bubblewrap
from sandbox.base import SandboxError


@pytest.fixture
def restricted(tmp_path, monkeypatch):
    """A machine of Ubuntu's kind: bubblewrap fails until a profile is loaded."""
    programs, profiles = tmp_path / "bin", tmp_path / "apparmor.d"
    programs.mkdir()
    profiles.mkdir()
    (tmp_path / "restricted").write_text("1\n")
    loaded = tmp_path / "loaded"
    for name, text in {
        "bwrap": f'[ -s {loaded} ] || {{ echo "Permission denied" >&2; exit 1; }}',
        "apparmor_parser": f'[ "$1" = --replace ] && cp "$2" {loaded}',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setattr(apparmor, "RESTRICTED", tmp_path / "restricted")
    monkeypatch.setattr(apparmor, "PROFILES", profiles)
    monkeypatch.setattr(program, "available", list)
    monkeypatch.setattr(program, "_rights", list)
    return profiles


def test_it_is_offered_and_nothing_is_changed(restricted, capsys):
    assert program.main(["install"]) == 2
    said = capsys.readouterr().err.replace("\n", " ")
    assert "install apparmor=true" in said
    assert str(restricted) in said
    assert "sysctl" not in said
    assert list(restricted.iterdir()) == []


def test_it_is_written_and_loaded_when_asked_for(restricted, capsys):
    assert program.main(["install", "apparmor=true"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    profile = restricted / "matsmith-bwrap"
    assert "undo: sudo apparmor_parser --remove" in said
    text = profile.read_text()
    bwrap = restricted.parent / "bin/bwrap"
    assert f"profile matsmith-bwrap {bwrap} flags=(unconfined)" in text
    assert "userns," in text
    assert apparmor.undo() in text
    assert bubblewrap.problem() is None


def test_without_the_rights_it_says_what_to_write(restricted, monkeypatch):
    monkeypatch.setattr(program, "_rights", lambda: None)
    with pytest.raises(SandboxError, match=r"root has to write .*matsmith-bwrap"):
        program.allow_by_apparmor()
    assert list(restricted.iterdir()) == []


def test_a_profile_that_cannot_be_loaded_is_named(restricted, monkeypatch):
    parser = restricted.parent / "bin/apparmor_parser"
    parser.write_text("#!/bin/sh\necho 'syntax error' >&2\nexit 1\n")
    with pytest.raises(SandboxError, match=r"--replace .* failed: syntax error"):
        program.allow_by_apparmor()


def test_other_machines_are_told_as_before(restricted):
    apparmor.RESTRICTED.write_text("0\n")
    assert "apparmor=true" not in str(bubblewrap.problem())
