"""Releases of a distribution that an index has, and why the newest was not chosen.

The index is asked by pip, which only lists files: nothing is downloaded, built or run.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from foundation.terminal import printable
from sandbox import environments
from sandbox.base import SandboxError

_SECONDS = 60
_LISTED = re.compile(r"[\w.-]+ \(([\w.!+-]{1,60})\)")
_VERSION = re.compile(r"(?m)^([A-Za-z0-9][\w.-]*)==([\w.!+-]{1,60})")
#: What uv says of a release without wheels, and of one for another Python.
_ALONE = re.compile(r"has no (?:usable )?wheels")
_PYTHON = re.compile(r"the requested Python version[^,]*?does not satisfy (Python\S+)")


def newest(distribution: str) -> str | None:
    """The newest release, whatever it needs; ``None`` where the index cannot be asked for it."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "index"]
    command += ["versions", "--ignore-requires-python", distribution]
    try:
        done = subprocess.run(  # noqa: S603 -- pip of this Python, and a checked name
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _LISTED.match(done.stdout)
    return match[1] if match else None


def pinned(folder: Path, distribution: str) -> str | None:
    """The version of a distribution in the lock file of an environment's folder."""
    lock = (folder / "requirements.lock").read_text(encoding="utf-8")
    versions = {
        environments.normal_name(name): version
        for name, version in _VERSION.findall(lock)
    }
    return versions.get(environments.normal_name(distribution))


def older_than_newest(folder: Path, distribution: str) -> str | None:
    """In one line, that an older release was chosen, and why; ``None`` where it is the newest."""
    chosen = pinned(folder, distribution)
    latest = newest(distribution)
    if chosen is None or latest is None or chosen == latest:
        return None
    reason = printable(_why_not(distribution, latest))
    return (
        f"{distribution} {chosen}: {latest} {reason};"
        f" version={latest} insists on that release"
    )


def _why_not(distribution: str, version: str) -> str:
    """Why a release cannot be installed here, as a verb and its object."""
    wanted = f"{distribution}=={version}"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "requirements.in").write_text(f"{wanted}\n")
        ask = ["pip", "compile", "--quiet", "--only-binary", ":all:", "requirements.in"]
        try:
            environments.uv([*ask, "--output-file", "requirements.lock"], Path(folder))
        except environments.NoWheelError as error:
            return f"needs {error.package}, which has no wheel for this Python"
        except SandboxError as error:
            message = " ".join(str(error).split())
        else:
            return "does not fit the other packages"
    if _ALONE.search(message):
        return "has no wheel"
    if python := _PYTHON.search(message):
        return f"needs {python[1]}"
    return "cannot be installed here"
