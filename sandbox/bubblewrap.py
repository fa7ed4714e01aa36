"""Isolation without a container engine: bubblewrap around a fork server (Linux).

The worker sees the system's libraries, the interpreter and the environment, all read-only, and
nothing else. It keeps CAP_SYS_ADMIN in its own user namespace, with which it gives every child
namespaces of its own; the child loses it before the code starts.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sandbox import bytecode, cgroups, environments, launcher, overlays
from sandbox.base import SandboxConfig, SandboxError
from sandbox.inputs import INPUTS_LIMIT
from sandbox.worker import LOADER, Channel, ProcessChannel

SYSTEM_FOLDERS = ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec",
                  "/usr/share/zoneinfo", "/bin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache",
                  "/etc/alternatives")  # fmt: skip
_PATH = {"PATH": "/usr/bin:/bin"}
_DEVICE_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
HASH_SEED = 0  # the order of a set is the same in every run, on every machine
FORK_SERVER_MB = 512  # the libraries in memory, next to what a run may use
#: Where user ids of throw-away workers begin when the host is root: far from any real account.
FIRST_USER = 1_900_000_000
LAUNCH = (
    f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r});"
    " from sandbox.launcher import main; main()"
)


def child_environment(config: SandboxConfig) -> dict[str, str]:
    """The whole environment of the code, the same on every backend."""
    return {
        "PATH": "/env/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "USER": "user",
        "LOGNAME": "user",
        "HOME": "/tmp",  # noqa: S108 - a tmpfs inside
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": str(config.options.get("hash_seed", HASH_SEED)),
        "MPLBACKEND": "agg",
        "MPLCONFIGDIR": "/tmp",  # noqa: S108
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
    }


class Bubblewrap:
    """Opens workers under bubblewrap, as the user, or as nobody in particular when root."""

    tier = "bubblewrap"
    jail = "namespace"

    def __init__(self, config: SandboxConfig) -> None:
        self._config = config

    async def open(self) -> tuple[Channel, dict[str, Any]]:
        """See :class:`sandbox.worker.Backend`."""
        require()
        environment = await asyncio.to_thread(self.prepare)
        limit = (self._config.memory_mb + FORK_SERVER_MB) * 1024**2 + INPUTS_LIMIT
        group = cgroups.make(limit, self._config.options.get("cgroup"))
        joined = [group / "cgroup.procs", *cgroups.files(group)] if group else []
        command = self._jailed(environment, ["-s", "-P", "-c", LOADER], "\n".join(map(str, joined)))
        after = partial(cgroups.remove, group) if group else lambda: None
        channel = await ProcessChannel.open(command, {}, Path("/"), after)
        return channel, {
            "cgroup": list(launcher.CGROUP_FDS) if group else [],
            "own": overlays.INSIDE if environment.own else "",
        }

    def prepare(self, *, say: Callable[[str], None] = lambda _: None) -> environments.Environment:
        """Build the environment and compile its packages, unless that is done."""
        environment = environments.build(self._config.env, say=say)
        bytecode.precompile(environment, lambda words: self._jailed(environment, words))
        return environment

    def _jailed(
        self, environment: environments.Environment, arguments: Sequence[str], joined: str = ""
    ) -> list[str]:
        """The command that runs the environment's interpreter isolated, in a cgroup's files."""
        sources = [environment.folder, *filter(None, [environment.own])]
        if environment.base != environments.SYSTEM:
            sources += [environment.prefix / "lib", environment.prefix / "bin"]
        root = os.geteuid() == 0
        shown = [f"@{index}" if root else str(path) for index, path in enumerate(sources)]
        command = [*self._command(require(), environment, shown), *arguments]
        if root or joined:
            hidden = list(map(str, sources)) if root else []
            command = [
                sys.executable, "-I", "-S", "-c", LAUNCH, str(os.getpid()),
                str(FIRST_USER + os.getpid()), joined, str(len(hidden)), *hidden, *command,
            ]  # fmt: skip
        return command

    def _command(
        self, program: str, environment: environments.Environment, shown: list[str]
    ) -> list[str]:
        command = [
            program, "--die-with-parent", "--new-session", "--unshare-all",
            "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN",
            "--hostname", "sandbox",
        ]  # fmt: skip
        for name in SYSTEM_FOLDERS:
            path = Path(name)
            if path.is_symlink() and path.is_dir():
                command += ["--symlink", str(path.readlink()), name]
            elif path.exists():
                command += ["--ro-bind", name, name]
        places = [overlays.INSIDE] if environment.own else []
        places += [f"{environment.base}/{name}" for name in ("lib", "bin")]
        for source, place in zip(shown[1:], places, strict=False):
            command += ["--ro-bind", source, place]
        # The base's own packages are not part of the environment: something empty covers them.
        for folder in (f"lib/{environment.python}/site-packages", "lib/python3/dist-packages"):
            if (environment.prefix / folder).is_dir():
                place = f"{environment.base}/{folder}"
                command += ["--tmpfs", place, "--remount-ro", place]
        command += ["--ro-bind", f"{shown[0]}/lib", "/env/lib", "--symlink", "lib", "/env/lib64"]
        command += ["--ro-bind", f"{shown[0]}/{environments.INSIDE}", "/env/pyvenv.cfg"]
        command += ["--symlink", f"{environment.base}/bin/{environment.python}", "/env/bin/python"]
        for name in (environment.python, "python3"):
            command += ["--symlink", "python", f"/env/bin/{name}"]
        for device in ("null", "full", "random", "urandom"):  # zero would give memory to nobody
            command += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
        for target, link in _DEVICE_LINKS.items():
            command += ["--symlink", link, f"/dev/{target}"]
        command += ["--proc", "/proc", "--tmpfs", "/tmp", "--dir", "/dev/shm", "--dir", "/inputs"]  # noqa: S108
        command += ["--remount-ro", "/"]
        variables = child_environment(self._config)
        if any(environment.prefix.glob("lib/libpython3*.so*")):
            variables["LD_LIBRARY_PATH"] = f"{environment.base}/lib"
        for key, value in variables.items():
            command += ["--setenv", key, value]
        return [*command, "--chdir", "/", "/env/bin/python"]


def problem() -> str | None:
    """Why bubblewrap cannot be used here, as one sentence; ``None`` when it can."""
    if sys.platform != "linux":
        return "bubblewrap needs Linux"
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap is not installed (`python -m sandbox install` does it)"
    command = [program, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    try:
        tried = subprocess.run(  # noqa: S603 - a fixed command
            command, capture_output=True, text=True, timeout=30, check=False, env=_PATH
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap fails to start: {error}"
    if tried.returncode == 0:
        return None
    return (
        f"bubblewrap may not create namespaces here ({tried.stderr.strip()}); allow unprivileged"
        " user namespaces (docs/sandbox.md says how), or use Docker"
    )


def require() -> str:
    """Path of ``bwrap``; raises :class:`SandboxError` when it cannot be used."""
    reason = problem()
    if reason is not None:
        raise SandboxError(reason)
    return str(shutil.which("bwrap"))
