"""Wheels and source distributions that the tests make themselves."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path


def make_wheel(
    folder: Path, name: str, files: Mapping[str, str], *headers: str
) -> Path:
    """A wheel with these files and lines of metadata, as any tool would make it."""
    info = f"{name}-1.0.dist-info"
    files = {
        **files,
        f"{info}/METADATA": "\n".join(
            ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", *headers, ""]
        ),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
    }
    lines = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(
            hashlib.sha256(text.encode()).digest()
        ).decode()
        lines.append(f"{path},sha256={digest.rstrip('=')},{len(text.encode())}")
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(
            f"{info}/RECORD", "\n".join([*lines, f"{info}/RECORD,,"]) + "\n"
        )
    return wheel


def make_sdist(folder: Path, name: str, setup: str) -> Path:
    """A source distribution with this ``setup.py``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for file, text in {
            "setup.py": setup,
            "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        }.items():
            entry = tarfile.TarInfo(f"{name}-1.0/{file}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def make_environment(folder: Path, *packages: Path, by: str = "{path}") -> Path:
    """The environment folder whose lock file pins these files."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{by.format(path=path, name=path.name.split('-')[0])}"
        f" --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        for path in packages
    ]
    (folder / "requirements.lock").write_text("".join(lines))
    (folder / "warmup.py").write_text("")
    return folder
