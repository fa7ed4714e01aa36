"""Environments that are an installed one with a folder of packages in front of it.

Nothing is installed: ``overlay.json`` names the base, ``packages/`` beside it holds the files,
which the sandbox shows read-only. On the host they are read, hashed and linked to, never imported.
Where ``documented/`` lies beside them, documents are read from there: the same packages with all
that the sandbox must not show (docstrings, comments).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from matsmith.core.terminal import printable
from sandbox.base import SandboxError

DESCRIPTION, PACKAGES, DOCUMENTED = "overlay.json", "packages", "documented"
INSIDE = "/own"  # where the sandbox shows the packages
_COMPILED = "__pycache__"


@dataclass(frozen=True)
class Overlay:
    """What lies in front of which environment: folders on the host, mostly one and the same.

    The digest is of the base's name and of path and content of every file.
    """

    base: str
    packages: Path
    documented: Path
    digest: str


def read(folder: Path) -> Overlay:
    """The overlay that a folder describes."""
    file, packages = folder / DESCRIPTION, folder / PACKAGES
    try:
        base = json.loads(file.read_text(encoding="utf-8"))["base"]
        if not isinstance(base, str) or "/" in base:  # only what comes with matsmith
            raise TypeError  # noqa: TRY301
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise SandboxError(
            f'{file}: not {{"base": NAME}}; make the environment again with `matsmith environment`'
        ) from None
    documented = folder / DOCUMENTED if (folder / DOCUMENTED).is_dir() else packages
    return Overlay(base, packages, documented, digest_of(base, packages, documented))


def write(
    base: str, packages: Path, folder: Path, *, warmup: str = "", documented: Path | None = None
) -> None:
    """Describe an overlay in ``folder``, with a copy of the packages, replacing an earlier one."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in ((PACKAGES, packages), (DOCUMENTED, documented)):
        files = list(_files(source)) if source is not None else []
        if source is not None and not files:
            raise SandboxError(f"{printable(source)}: no package in there")
        shutil.rmtree(folder / name, ignore_errors=True)
        for path in files:
            assert source is not None
            target = folder / name / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            target.chmod(0o644)  # whichever user reads it inside
        for place, _, _ in os.walk(folder / name):
            Path(place).chmod(0o755)
    (folder / "warmup.py").write_text(warmup)
    (folder / DESCRIPTION).write_text(json.dumps({"base": base}) + "\n")  # last: it is complete


def link(overlay: Overlay, base: Path, folder: Path) -> None:
    """Fill ``folder`` with links to the own packages and to everything else in ``base``.

    It is what readers of documentation see: one folder, as after an installation.
    """
    found: dict[str, Path] = {}
    for path in (*sorted(base.iterdir()), *sorted(overlay.documented.iterdir())):
        if path.name in found and path.name != _COMPILED:
            raise SandboxError(
                f"{printable(path)}: the environment {overlay.base!r} has a package of that name;"
                " rename yours"
            )
        found[path.name] = path
    found.pop(_COMPILED, None)
    folder.mkdir(parents=True)
    for name, path in found.items():
        (folder / name).symlink_to(path)


def _files(packages: Path) -> Iterator[Path]:
    """Every file but bytecode, sorted; a link would be read on the host."""
    if packages.is_symlink():
        raise SandboxError(f"{printable(packages)}: only files and folders, no links")
    for place, folders, files in os.walk(packages):
        folders[:] = sorted(name for name in folders if name != _COMPILED)
        for name in (*folders, *sorted(files)):
            path = Path(place, name)
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                raise SandboxError(f"{printable(path)}: only files and folders, no links")
        yield from (Path(place, name) for name in sorted(files))


def digest_of(base: str, packages: Path, documented: Path) -> str:
    """Of the base's name, and of path and content of every file."""
    digest = hashlib.sha256(base.encode())
    for folder in dict.fromkeys((packages, documented)):
        for path in _files(folder):
            data, name = path.read_bytes(), path.relative_to(folder).as_posix()
            digest.update(f"\0{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()
