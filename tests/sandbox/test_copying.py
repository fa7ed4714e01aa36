"""Folders of users: no link out of them is followed, and the copy of one has an end."""

import os
import socket

import pytest

from sandbox import copying, environments, libraries, own
from sandbox.base import SandboxError
from sandbox.copying import copy_folder
from sandbox.projects import read_project


@pytest.fixture
def project(tmp_path):
    """A project's folder, and a secret beside it."""
    (tmp_path / "secret.py").write_text("KEY = 'a secret of the user'\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/data.txt").write_text("a secret of the user")
    root = tmp_path / "project"
    (root / "src/pkg").mkdir(parents=True)
    (root / "src/pkg/__init__.py").write_text("x = 1\n")
    (root / "pyproject.toml").write_text('[project]\nname = "pkg"\nversion = "1"\n')
    return root


def copied(project):
    target = project.parent / "copy"
    copy_folder(project, target, environments.unwanted)
    return sorted(
        path.relative_to(target).as_posix()
        for path in target.rglob("*")
        if path.is_file()
    )


PLAIN = ["pyproject.toml", "src/pkg/__init__.py"]


def test_files_come_as_they_are(project):
    (project / ".git").mkdir()
    (project / ".git/config").write_text("token")
    (project / "run.sh").write_text("#!/bin/sh\n")
    (project / "run.sh").chmod(0o755)
    assert copied(project) == [*PLAIN[:1], "run.sh", *PLAIN[1:]]
    assert os.access(project.parent / "copy/run.sh", os.X_OK)


@pytest.mark.parametrize(
    ("place", "leads"),
    [
        ("src/pkg/secret.py", "secret.py"),
        ("src/pkg/more", "elsewhere"),
        ("etc", "/etc"),
        ("passwd", "/etc/passwd"),
        ("zero", "/dev/zero"),
        ("up", "."),
        ("chain", "project/../secret.py"),
        ("absent", "not/there"),
    ],
)
def test_a_link_that_leads_out_is_named_with_its_target(project, place, leads):
    target = project.parent / leads
    (project / place).symlink_to(target)
    with pytest.raises(SandboxError) as refused:
        copied(project)
    message = str(refused.value)
    assert str(project / place) in message
    assert str(target.resolve()) in message
    assert "\n" not in message
    out = project.parent / "env"
    with pytest.raises(SandboxError, match="leads out of the project"):
        own.make(project, out)
    assert not out.exists()


def test_links_within_a_folder_become_copies(project):
    (project / "README").symlink_to("pyproject.toml")
    (project / "lib").symlink_to("src")
    (project / "nowhere").symlink_to("absent")
    assert copied(project) == [
        "README",
        "lib/pkg/__init__.py",
        "pyproject.toml",
        "src/pkg/__init__.py",
    ]


def test_links_in_a_circle_have_an_end(project):
    (project / "here").symlink_to(".")
    (project / "src/up").symlink_to("..")
    (project / "one").symlink_to("two")
    (project / "two").symlink_to("one")
    assert copied(project) == PLAIN
    for name in "abcdefgh":
        (project / name).mkdir()
    for name in "abcdefgh":
        for other in "abcdefgh":
            (project / name / other).symlink_to(f"../{other}")
    with pytest.raises(SandboxError, match="more than 50000"):
        copy_folder(project, project.parent / "again", environments.unwanted)


def test_what_is_no_file_is_refused(project):
    os.mkfifo(project / "pipe.py")
    with pytest.raises(SandboxError, match=r"pipe\.py: a pipe, not a file"):
        copied(project)
    assert len(libraries.digest_of(project)) == 16  # and nothing waits for it
    (project / "pipe.py").unlink()
    end = socket.socket(socket.AF_UNIX)
    end.bind(str(project / "socket"))
    with pytest.raises(SandboxError, match="a socket, not a file"):
        copy_folder(project, project.parent / "again", environments.unwanted)
    end.close()


def test_sizes_and_counts_and_levels_are_bounded(project, monkeypatch):
    with (project / "large.bin").open("wb") as file:
        file.truncate(20 << 30)
    monkeypatch.setattr(copying, "MOST_BYTES", 10 << 20)
    with pytest.raises(SandboxError, match="larger than 10 MB"):
        copied(project)
    assert (project.parent / "copy/large.bin").stat().st_size <= 11 << 20
    (project / "large.bin").unlink()
    monkeypatch.setattr(copying, "MOST_ENTRIES", 3)
    with pytest.raises(SandboxError, match="more than 3"):
        copy_folder(project, project.parent / "second", environments.unwanted)
    monkeypatch.undo()
    deep = project
    for _ in range(120):
        deep /= "d"
    deep.mkdir(parents=True)
    with pytest.raises(SandboxError, match="nested deeper"):
        copy_folder(project, project.parent / "third", environments.unwanted)


def test_a_description_that_is_a_link_is_not_read(project):
    (project / "pyproject.toml").unlink()
    (project.parent / "other.toml").write_text('[project]\nname = "a-secret"\n')
    (project / "pyproject.toml").symlink_to(project.parent / "other.toml")
    with pytest.raises(SandboxError, match="leads out") as refused:
        read_project(project)
    assert "a-secret" not in str(refused.value)


def test_a_digest_reads_no_file_outside(project):
    before = libraries.digest_of(project)
    (project / "src/pkg/secret.py").symlink_to(project.parent / "secret.py")
    changed = libraries.digest_of(project)
    (project.parent / "secret.py").write_text("KEY = 2\n")
    assert libraries.digest_of(project) == changed == before
