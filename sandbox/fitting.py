"""Whether a wheel can lie in front of an installed environment, or needs an installation.

Everything is read from metadata; nothing of the wheel is imported.
"""

from __future__ import annotations

import importlib.metadata
import zipfile
from collections.abc import Iterator, Sequence
from email.parser import HeaderParser
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from sandbox import environments
from sandbox.base import SandboxError
from sandbox.terminal import printable

MOST = 512 << 20  # bytes of an unpacked wheel
_LINUX = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}  # inside


def unpack(wheel: Path, folder: Path) -> None:
    """Write the files of a wheel, as files (also what it calls a link).

    Raises
    ------
    SandboxError
        When it is no archive, or larger than ``MOST`` bytes.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            if sum(item.file_size for item in archive.infolist()) > MOST:
                raise SandboxError(f"{wheel.name}: larger than {MOST >> 20} MB unpacked")
            archive.extractall(folder)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise SandboxError(f"{wheel.name}: cannot be unpacked ({printable(error)})") from None


def obstacles(name: str, files: Path, base: environments.Environment) -> list[str]:
    """Why the files of a wheel cannot lie in front of ``base``; empty when they can.

    Parameters
    ----------
    name
        File name of the wheel.
    files
        What it holds, unpacked.
    base
        A built environment that is installed.
    """
    found = []
    if not name.endswith("-none-any.whl"):
        found.append("it has compiled parts, or is for one version of Python only")
    there = {path.name for path in base.packages.iterdir()}
    for path in sorted(files.iterdir()):
        if path.name in there:
            found.append(f"{base.name} has a {path.name!r} too")
        elif path.suffix in {".data", ".pth"}:
            found.append(f"{path.name!r} has to be installed")
    metadata = list(files.glob("*.dist-info/METADATA"))
    if len(metadata) != 1:
        return [*found, "it has no metadata"]
    headers = HeaderParser().parsestr(metadata[0].read_text(encoding="utf-8", errors="replace"))
    version = base.python.removeprefix("python")
    wanted = headers["Requires-Python"]
    if wanted and not _contains(wanted, f"{version}.99"):  # any release of that version will do
        found.append(f"it needs Python {wanted}, {base.name} has {version}")
    found += _unmet(headers.get_all("Requires-Dist") or [], base, {""}, set())
    return [printable(reason) for reason in found]


def _unmet(
    requires: Sequence[str], base: environments.Environment, extras: set[str], seen: set[str]
) -> Iterator[str]:
    versions = environments.installed_versions(base.name)
    python = base.python.removeprefix("python")
    marked = {**_LINUX, "python_version": python, "python_full_version": f"{python}.99"}
    for text in requires:
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            yield f"the requirement {text[:80]!r} cannot be read"
            continue
        if wanted.marker and not any(
            wanted.marker.evaluate({**marked, "extra": e}) for e in extras
        ):
            continue
        version = versions.get(canonicalize_name(wanted.name))
        if wanted.url is not None:
            yield f"it needs {wanted.name} from an address"
        elif version is None:
            yield f"it needs {wanted.name}{wanted.specifier}, which {base.name} does not have"
        elif not wanted.specifier.contains(version, prereleases=True):
            yield f"it needs {wanted.name}{wanted.specifier}, {base.name} has {version}"
        elif wanted.extras and text not in seen:
            seen.add(text)
            found = importlib.metadata.distributions(path=[str(base.packages)], name=wanted.name)
            for item in found:
                yield from _unmet(item.requires or [], base, set(wanted.extras), seen)


def _contains(specifier: str, version: str) -> bool:
    try:
        return SpecifierSet(specifier).contains(version)
    except InvalidSpecifier:
        return False
