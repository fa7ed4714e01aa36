"""No isolation: a fork server as the user. Only by name, never chosen by itself.

It exists for machines where nothing else can run and the code is trusted, and as the floor that
``python -m tests.bench.sandbox`` measures the others by.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from sandbox import environments
from sandbox.base import SandboxConfig, SandboxError
from sandbox.bubblewrap import child_environment
from sandbox.worker import LOADER, Channel, ProcessChannel

WARNING = (
    "sandbox=unsafe isolates nothing: the code runs as you, can read your files, use your network"
    " and outlive its timeout. Use it only for code that you trust."
)


class Unsafe:
    """Opens plain processes."""

    tier = "unsafe"
    jail = "none"

    def __init__(self, config: SandboxConfig) -> None:
        self._config = config

    async def open(self) -> tuple[Channel, dict[str, Any]]:
        """See :class:`sandbox.worker.Backend`."""
        if sys.platform != "linux":
            raise SandboxError("the fork server needs Linux; install Docker instead")
        environment = await asyncio.to_thread(environments.build, self._config.env)
        scratch = Path(tempfile.mkdtemp(prefix="matsmith-unsafe-"))
        variables = child_environment(self._config) | {
            "PATH": f"{environment.folder}/bin:/usr/bin:/bin",
            "HOME": str(scratch),
            "MPLCONFIGDIR": str(scratch),
        }
        command = [str(environment.folder / "bin/python"), "-s", "-P", "-c", LOADER]
        after = partial(shutil.rmtree, scratch, ignore_errors=True)
        channel = await ProcessChannel.open(command, variables, scratch, after)
        return channel, {
            "folder": str(scratch / "run"),
            "inputs": str(scratch / "inputs"),
            "own": str(environment.own or ""),
        }
