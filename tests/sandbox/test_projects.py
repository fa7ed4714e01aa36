"""Every project that pip can build: what its files say, and the wheel that it gives."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sandbox import own
from sandbox.base import SandboxError
from sandbox.projects import LEGACY_BACKEND, is_project, read_project, wheel_metadata
from tests.support.sandboxes import needs_bubblewrap

PACKAGE = {"grove/__init__.py": '"""Trees."""\n'}
SETUP_PY = "from setuptools import setup\nsetup(name='grove', version='1.2', packages=['grove'])\n"
SETUP_CFG = "[metadata]\nname = grove\nversion = 1.2\n[options]\npackages = grove\n"
POETRY = """\
[tool.poetry]
name = "grove"
version = "1.2"
description = ""
authors = []
[build-system]
requires = ["poetry-core"]
build-backend = "poetry.core.masonry.api"
"""
SCM = """\
[project]
name = "grove"
dynamic = ["version"]
[build-system]
requires = ["setuptools>=70.1", "setuptools-scm"]
build-backend = "setuptools.build_meta"
[tool.setuptools]
packages = ["grove"]
[tool.setuptools_scm]
"""
HATCH = """\
[project]
name = "grove"
dynamic = ["version"]
[build-system]
requires = ["hatchling", "hatch-vcs"]
build-backend = "hatchling.build"
[tool.hatch.version]
source = "vcs"
"""
DYNAMIC_NAME = '[build-system]\nrequires = ["setuptools>=70.1"]\n'
KINDS = {
    "setup.py": {"setup.py": SETUP_PY},
    "setup.cfg": {
        "setup.cfg": SETUP_CFG,
        "setup.py": "from setuptools import setup\nsetup()\n",
    },
    "poetry": {"pyproject.toml": POETRY},
    "setuptools-scm": {"pyproject.toml": SCM},
    "hatch-vcs": {"pyproject.toml": HATCH},
    "no project table": {"pyproject.toml": DYNAMIC_NAME, "setup.py": SETUP_PY},
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def tag(folder: Path, *versions: str) -> None:
    """Make it a repository with tags."""
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (
        ["init", "--quiet"],
        ["add", "."],
        [*who, "commit", "--quiet", "-m", "x"],
        *(["tag", version] for version in versions),
        ["pack-refs", "--all"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("setup.py", None),
        ("setup.cfg", "grove"),
        ("poetry", "grove"),
        ("setuptools-scm", "grove"),
        ("no project table", None),
    ],
)
def test_what_is_known_before_a_build(tmp_path: Path, kind: str, name: str | None):
    project = read_project(write(tmp_path, KINDS[kind]))
    assert project.name == name
    has_backend = kind in {"poetry", "setuptools-scm"}
    assert (project.backend != LEGACY_BACKEND) is has_backend
    assert project.requires


def test_tags_are_read_from_files_loose_and_packed(tmp_path: Path):
    write(tmp_path, KINDS["setup.py"])
    assert read_project(tmp_path).tag_version is None
    tag(tmp_path, "v0.9.0", "release-1.10.2", "1.9.5", "nightly", "v2.0.0rc1")
    assert read_project(tmp_path).tag_version == "1.10.2"
    subprocess.run(["git", "tag", "v3.1"], cwd=tmp_path, check=True)
    assert read_project(tmp_path).tag_version == "3.1"


def test_a_hostile_configuration_of_git_runs_nothing(tmp_path: Path):
    write(tmp_path, KINDS["setup.py"])
    tag(tmp_path, "v1.0.0")
    marker = tmp_path / "was-here"
    with (tmp_path / ".git" / "config").open("a") as file:
        file.write(f"[core]\n\tfsmonitor = touch {marker}\n\tpager = touch {marker}\n")
    assert read_project(tmp_path).tag_version == "1.0.0"
    assert not marker.exists()


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "no pyproject.toml, setup.py or setup.cfg"),
        ({"pyproject.toml": "[project"}, "cannot be read"),
        ({"pyproject.toml": "a = " + "[" * 100_000}, "cannot be read"),
    ],
)
def test_what_is_no_project_is_one_line(tmp_path: Path, files, reason: str):
    with pytest.raises(SandboxError, match=reason) as refused:
        read_project(write(tmp_path, files))
    assert "\n" not in str(refused.value)


@pytest.mark.long
@needs_bubblewrap
@pytest.mark.parametrize("kind", KINDS)
def test_a_wheel_of_every_kind(tmp_path: Path, kind: str):
    project = write(tmp_path / "project", {**PACKAGE, **KINDS[kind]})
    assert is_project(project)
    tag(project, "v1.2")
    wheel = own.build_wheel(project, tmp_path / "build")
    assert wheel_metadata(wheel) == ("grove", "1.2")


@pytest.mark.long
@needs_bubblewrap
def test_a_version_out_of_git_without_git(tmp_path: Path):
    project = write(tmp_path / "project", {**PACKAGE, **KINDS["setuptools-scm"]})
    wheel = own.build_wheel(project, tmp_path / "build")
    assert wheel_metadata(wheel) == ("grove", "0.0.0")
