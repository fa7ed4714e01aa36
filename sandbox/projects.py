"""A Python project in a folder: what its own files say, before anything of it runs.

Any project that pip can build is one (PEP 517, PEP 518): with a ``pyproject.toml``, whether or not
that has a ``[project]`` table, or with a ``setup.py`` or ``setup.cfg`` alone. Names and versions
that only a build finds out come from the metadata of the wheel.
"""

from __future__ import annotations

import configparser
import re
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from email.parser import BytesParser
from pathlib import Path
from typing import Any

from foundation.terminal import printable
from sandbox.base import SandboxError

DESCRIPTIONS = ("pyproject.toml", "setup.py", "setup.cfg")
LEGACY_BACKEND = (
    "setuptools.build_meta:__legacy__"  # of a project that names none: PEP 517
)
LEGACY_REQUIRES = ("setuptools>=70.1",)
UNKNOWN_VERSION = "0.0.0"
_LARGEST = 1 << 20  # bytes of a description
_TAG = re.compile(r"refs/tags/(?:[A-Za-z_-]*?)v?(\d+(?:\.\d+){1,3}(?:\.post\d+)?)$")


@dataclass(frozen=True)
class Project:
    """What is known of a project before it is built.

    Attributes
    ----------
    name
        Of its distribution, where a file says it.
    requires, backend, backend_paths
        Its ``build-system``, by PEP 517 and 518.
    tag_version
        The newest release among the tags of its ``.git`` folder. Tools that ask git for a version
        are told this one, for no git runs where a project is built.
    """

    folder: Path
    name: str | None
    requires: tuple[str, ...]
    backend: str
    backend_paths: tuple[str, ...]
    tag_version: str | None


def is_project(folder: Path) -> bool:
    """Whether a folder holds something that pip can build."""
    return any((folder / name).is_file() for name in DESCRIPTIONS)


def read_project(folder: Path) -> Project:
    """Read a project's own files.

    Raises
    ------
    SandboxError
        When there is none, or a file cannot be read or is a link out of the folder.
    """
    if not folder.is_dir():
        raise SandboxError(f"project={folder}: no such folder")
    if not is_project(folder):
        listed = ", ".join(DESCRIPTIONS[:-1])
        raise SandboxError(f"project={folder}: no {listed} or {DESCRIPTIONS[-1]} there")
    content = _toml(folder / "pyproject.toml")
    system = _table(content, "build-system")
    named = [
        _table(content, "project").get("name"),
        _table(_table(content, "tool"), "poetry").get("name"),
        _setup_cfg_name(folder / "setup.cfg"),
    ]
    return Project(
        folder=folder,
        name=next((name for name in named if isinstance(name, str)), None),
        requires=tuple(map(str, system.get("requires", LEGACY_REQUIRES))),
        backend=str(system.get("build-backend", LEGACY_BACKEND)),
        backend_paths=tuple(map(str, system.get("backend-path", ()))),
        tag_version=_newest_tag(folder / ".git"),
    )


def wheel_metadata(wheel: Path) -> tuple[str, str]:
    """Name and version of a distribution, as its wheel has them."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            (path,) = [
                name
                for name in archive.namelist()
                if name.count("/") == 1 and name.endswith(".dist-info/METADATA")
            ]
            with archive.open(path) as file:
                metadata = BytesParser().parsebytes(file.read(_LARGEST), True)
        return str(metadata["Name"]), str(metadata["Version"])
    except Exception as error:  # noqa: BLE001 - whatever a hostile archive makes its readers raise
        reason = printable(error)
        raise SandboxError(
            f"{wheel.name}: has no readable metadata ({reason})"
        ) from None


def _read(path: Path) -> str:
    """The text of a description; empty where there is none."""
    if not path.is_file():
        return ""
    target = path.resolve()
    if not target.is_relative_to(path.parent.resolve()):
        raise SandboxError(f"{path}: a link that leads out of the project, to {target}")
    with path.open("rb") as file:
        return file.read(_LARGEST).decode("utf-8")


def _toml(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(_read(path))
    except (OSError, ValueError, RecursionError) as error:
        raise SandboxError(f"{path}: cannot be read ({error})") from None


def _table(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = content.get(name)
    return table if isinstance(table, Mapping) else {}


def _setup_cfg_name(path: Path) -> str | None:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(_read(path))
    except (OSError, ValueError, configparser.Error):
        return None  # setuptools will say what is wrong with it
    return parser.get("metadata", "name", fallback=None)


def _newest_tag(git: Path) -> str | None:
    """The highest version among the tags; files of ``.git`` are read, no git is run."""
    if git.is_symlink() or not git.is_dir():
        return None
    tags = [
        path.relative_to(git).as_posix()
        for path in (git / "refs" / "tags").rglob("*")
        if path.is_file()
    ]
    packed = git / "packed-refs"
    if packed.is_file() and not packed.is_symlink():
        with packed.open("rb") as file:
            lines = file.read(_LARGEST).decode("utf-8", "replace").splitlines()
        tags += [line.rpartition(" ")[2] for line in lines]
    versions = [match[1] for tag in tags if (match := _TAG.search(tag))]
    return max(versions, key=_sort_key, default=None)


def _sort_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
