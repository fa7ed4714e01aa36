"""Environments that are an installed one with a folder of packages in front of it.

Nothing is installed: ``overlay.json`` names the base, ``packages/`` beside it holds the files,
which the sandbox shows read-only. On the host they are read, hashed and linked to, never imported.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox.base import SandboxError
from sandbox.terminal import printable

DESCRIPTION, PACKAGES = "overlay.json", "packages"
INSIDE = "/own"  # where the sandbox shows the packages
_COMPILED = "__pycache__"


@dataclass(frozen=True)
class Overlay:
    """What lies in front of which environment.

    Attributes
    ----------
    base
        Name of the installed environment.
    packages
        Folder of the own packages on the host.
    digest
        SHA-256 of the base's name and of path and content of every file.
    """

    base: str
    packages: Path
    digest: str


def is_overlay(folder: Path) -> bool:
    """Whether the folder describes an overlay."""
    return (folder / DESCRIPTION).is_file()


def read(folder: Path) -> Overlay:
    """The overlay that a folder describes.

    Raises
    ------
    SandboxError
        When the description cannot be read, or the packages hold a link.
    """
    file, packages = folder / DESCRIPTION, folder / PACKAGES
    try:
        base = json.loads(file.read_text(encoding="utf-8"))["base"]
        if not isinstance(base, str) or "/" in base:  # only what comes with matsmith
            raise TypeError  # noqa: TRY301
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise SandboxError(
            f'{file}: not {{"base": NAME}}; make the environment again with `python -m sandbox.own`'
        ) from None
    return Overlay(base, packages, _digest(base, packages))


def write(base: str, packages: Path, folder: Path, *, warmup: str = "") -> None:
    """Describe an overlay in ``folder``, with a copy of the packages, replacing an earlier one.

    Raises
    ------
    SandboxError
        When there is no package, or a link in place of a file: it would be read on the host.
    """
    files = list(_files(packages))
    if not files:
        raise SandboxError(f"{printable(packages)}: no package in there")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / PACKAGES, ignore_errors=True)
    for path in files:
        target = folder / PACKAGES / path.relative_to(packages)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        target.chmod(0o644)  # whichever user reads it inside
    for place, _, _ in os.walk(folder / PACKAGES):
        Path(place).chmod(0o755)
    (folder / "warmup.py").write_text(warmup)
    (folder / DESCRIPTION).write_text(json.dumps({"base": base}) + "\n")  # last: it is complete


def register(base: str, packages: Path, folder: Path, *, warmup: str = "") -> Path:
    """The folder below ``folder`` that describes this overlay, named by its content."""
    key = hashlib.sha256(_digest(base, packages).encode() + warmup.encode()).hexdigest()[:12]
    target = folder.with_name(f"{folder.name}-{key}")
    if not is_overlay(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=".", dir=target.parent))
        unfinished.chmod(0o755)
        write(base, packages, unfinished, warmup=warmup)
        publish(unfinished, target)
    return target


def link(overlay: Overlay, base: Path, folder: Path) -> None:
    """Fill ``folder`` with links to the own packages and to everything else in ``base``.

    It is what readers of documentation see: one folder, as after an installation.

    Raises
    ------
    SandboxError
        When an own package has the name of one of the base's.
    """
    folder.mkdir(parents=True)
    names = {path.name for path in base.iterdir()} - {_COMPILED}
    for path in sorted(overlay.packages.iterdir()):
        if path.name == _COMPILED:
            continue
        if path.name in names:
            raise SandboxError(
                f"{printable(path)}: the environment {overlay.base!r} has a package of that name;"
                " rename yours"
            )
        (folder / path.name).symlink_to(path)
    for name in names:
        (folder / name).symlink_to(base / name)


def publish(unfinished: Path, target: Path) -> None:
    """Put a finished folder in its place; another process may have been faster."""
    try:
        unfinished.rename(target)
    except OSError:
        shutil.rmtree(unfinished)
        if not target.is_dir():
            raise


def _files(packages: Path) -> Iterator[Path]:
    """Every file but bytecode, sorted; raises :class:`SandboxError` for a link or a device."""
    if packages.is_symlink():
        raise SandboxError(f"{printable(packages)}: only files and folders, no links")
    for place, folders, files in os.walk(packages):
        folders[:] = sorted(name for name in folders if name != _COMPILED)
        for name in (*folders, *sorted(files)):
            path = Path(place, name)
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                raise SandboxError(f"{printable(path)}: only files and folders, no links")
        yield from (Path(place, name) for name in sorted(files))


def _digest(base: str, packages: Path) -> str:
    digest = hashlib.sha256(base.encode())
    for path in _files(packages):
        data = path.read_bytes()
        digest.update(f"\0{path.relative_to(packages).as_posix()}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()
