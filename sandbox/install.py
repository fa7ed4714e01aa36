"""``python -m sandbox install``: make sure that some isolation works on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from sandbox import bubblewrap
from sandbox.base import SandboxError
from sandbox.factory import available

#: Package manager -> arguments that install bubblewrap without a question.
MANAGERS = {
    "apt-get": ["install", "--yes", "--no-install-recommends", "bubblewrap"],
    "dnf": ["install", "--assumeyes", "bubblewrap"],
    "yum": ["install", "--assumeyes", "bubblewrap"],
    "zypper": ["--non-interactive", "install", "bubblewrap"],
    "pacman": ["--sync", "--noconfirm", "bubblewrap"],
    "apk": ["add", "bubblewrap"],
}


def install() -> str:
    """Install bubblewrap where no engine answers and it is missing; returns what is in force."""
    found = available()
    if found:
        return f"isolation by {found[0]} works, nothing to install"
    if shutil.which("bwrap"):
        raise SandboxError(str(bubblewrap.problem()))
    if sys.platform != "linux":
        raise SandboxError("install and start Docker (https://docs.docker.com/get-docker/)")
    manager = next((name for name in MANAGERS if shutil.which(name)), None)
    if manager is None:
        raise SandboxError("no known package manager; install bubblewrap, Docker or podman")
    command = [manager, *MANAGERS[manager]]
    line = " ".join(command)
    if os.geteuid() != 0:
        if shutil.which("sudo") is None or _run(["sudo", "-n", "true"]).returncode != 0:
            raise SandboxError(f"bubblewrap is missing; run this once: sudo {line}")
        command = ["sudo", "--non-interactive", *command]
    if manager == "apt-get":  # stale package lists on a fresh machine
        _run([*command[: command.index(manager) + 1], "update"])
    done = _run(command)
    if done.returncode != 0:
        tail = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise SandboxError(f"`{line}` failed: {tail}")
    reason = bubblewrap.problem()
    if reason is not None:
        raise SandboxError(reason)
    return f"installed bubblewrap ({line})"


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(  # noqa: S603 - fixed commands
        command, capture_output=True, text=True, check=False, env=variables
    )
