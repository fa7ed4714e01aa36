"""Packs a pure Python package as a wheel; the same files give the same bytes."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

_TIME = (1980, 1, 1, 0, 0, 0)


def write(folder: Path, name: str, source: Path) -> Path:
    """Write the wheel of the package ``name``, whose files lie in ``source``; returns its path.

    The version comes from the content, so that nothing made from another content is taken for it.
    """
    content = b"".join(path.read_bytes() for path in sorted(source.rglob("*")) if path.is_file())
    version = f"1.{int(hashlib.sha256(content).hexdigest()[:6], 16)}"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/{path.relative_to(source).as_posix()}": path.read_bytes()
        for path in sorted(source.rglob("*"))
        if path.is_file()
    }
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    )
    files[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: matsmith\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    files[f"{info}/top_level.txt"] = f"{name}\n".encode()
    record = "".join(f"{path},sha256={_hash(data)},{len(data)}\n" for path, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    target = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, _TIME)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return target


def _hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
