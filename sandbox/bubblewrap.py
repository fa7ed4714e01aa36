"""Workers as processes of this machine (Linux): under bubblewrap, or with nothing around them.

Under bubblewrap the worker sees the system's libraries, the interpreter and the environment, all
read-only, and nothing else. It keeps CAP_SYS_ADMIN in its own user namespace, with which it gives
every child namespaces of its own; the child loses it before the code starts.

``unsafe`` isolates nothing, and is used by name only: where nothing else can run and the code is
trusted, and as the floor that ``python -m tests.bench.sandbox`` measures the others by.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from foundation.configuration import data_of
from foundation.program import command_line
from sandbox import apparmor, environments, launcher, stoppable
from sandbox.base import SandboxConfig, SandboxError
from sandbox.exchange import INPUTS_LIMIT
from sandbox.server.kernel import Cgroup
from sandbox.shipping import SERVE
from sandbox.worker import Channel

CONFINEMENT: Mapping[str, Any] = data_of(__file__, "confinement")
FORK_SERVER_MB = 512  # the libraries in memory, next to what a run may use
#: Where user ids of throw-away workers begin when the host is root: far from any real account.
FIRST_USER = 1_900_000_000
CGROUPS = Path("/sys/fs/cgroup")
_CGROUP = "matsmith"
_numbers = itertools.count()
log = logging.getLogger(__name__)
WARNING = (
    "sandbox=unsafe isolates nothing: the code runs as you, can read your files, use your network"
    " and outlive its timeout. Use it only for code that you trust."
)
LAUNCH = (
    f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r});"
    " from sandbox.launcher import main; main()"
)


def child_environment(config: SandboxConfig) -> dict[str, str]:
    """The whole environment of the code, the same on every backend."""
    seed = config.options.get("hash_seed")
    variables: dict[str, str] = CONFINEMENT["environment"]
    return variables if seed is None else variables | {"PYTHONHASHSEED": str(seed)}


class ProcessChannel(Channel):
    """A channel to a process of this machine."""

    def __init__(
        self, process: asyncio.subprocess.Process, after: Callable[[], object]
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        super().__init__(process.stdout, process.stdin)
        self.process, self._after = process, after
        self._follower = asyncio.create_task(self._follow(process.stderr))

    @classmethod
    async def open(
        cls,
        command: Sequence[str],
        environment: dict[str, str],
        folder: Path,
        after: Callable[[], object],
    ) -> Self:
        """Start ``command`` in a process group of its own; ``after`` it has ended, clean up."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        return cls(process, after)

    async def _follow(self, stream: asyncio.StreamReader) -> None:
        while part := await stream.read(4096):
            self._add_to_tail(part)

    async def close(self) -> str:
        """See :class:`sandbox.worker.Channel`."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        try:
            await self.process.wait()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._follower, 2.0)
        finally:  # also where this is cancelled
            self.process._transport.close()  # type: ignore[attr-defined]  # its pipes, now
            self._after()
        return self._last_words


class Bubblewrap:
    """Opens workers under bubblewrap, as the user, or as nobody in particular when root."""

    confinement = "bubblewrap"
    jail = "namespace"

    def __init__(
        self, config: SandboxConfig, prepare: Callable[[], environments.Environment]
    ) -> None:
        """``prepare`` gives the built environment; it may take minutes, in a thread."""
        self._config, self._prepare = config, prepare

    async def open(self) -> tuple[Channel, dict[str, Any]]:
        """See :class:`sandbox.worker.Backend`."""
        environment = await stoppable.in_thread(self._prepare)
        limit = (self._config.memory_mb + FORK_SERVER_MB) * 1024**2 + INPUTS_LIMIT
        group = make_cgroup(limit, self._config.options.get("cgroup"))
        sources = [environment.folder, *filter(None, [environment.own])]
        if environment.base != environments.SYSTEM:
            sources += [environment.prefix / "lib", environment.prefix / "bin"]
        root, me = os.geteuid() == 0, os.getpid()
        hidden = list(map(str, sources))
        visible = (
            [f"{launcher.PLACE}/{index}" for index in range(len(hidden))]
            if root
            else hidden
        )
        command = [*self._command(environment, visible), *SERVE]
        if root or group:
            order = json.dumps([me, FIRST_USER + me, str(group or ""), hidden, command])
            command = [sys.executable, "-I", "-S", "-c", LAUNCH, order]
        after = partial(remove_cgroup, group) if group else lambda: None
        channel = await ProcessChannel.open(command, {}, Path("/"), after)
        return channel, {
            "cgroup": list(launcher.CGROUP_FDS) if group else [],
            "own": environments.IN_FRONT if environment.own else "",
        }

    def _command(
        self, environment: environments.Environment, visible: list[str]
    ) -> list[str]:
        command = [shutil.which("bwrap") or "bwrap", *CONFINEMENT["bubblewrap"]]
        for name in CONFINEMENT["shown"]:
            path = Path(name)
            if path.is_symlink() and path.is_dir():
                command += ["--symlink", str(path.readlink()), name]
            elif path.exists():
                command += ["--ro-bind", name, name]
        places = [environments.IN_FRONT] if environment.own else []
        places += [f"{environment.base}/{name}" for name in ("lib", "bin")]
        for source, place in zip(visible[1:], places, strict=False):
            command += ["--ro-bind", source, place]
        # The base's own packages are not part of the environment: something empty covers them.
        for folder in (
            f"lib/{environment.python}/site-packages",
            "lib/python3/dist-packages",
        ):
            if (environment.prefix / folder).is_dir():
                place = f"{environment.base}/{folder}"
                command += ["--tmpfs", place, "--remount-ro", place]
        command += [
            "--ro-bind",
            f"{visible[0]}/lib",
            "/env/lib",
            "--symlink",
            "lib",
            "/env/lib64",
        ]
        command += [
            "--ro-bind",
            f"{visible[0]}/{environments.INSIDE}",
            "/env/pyvenv.cfg",
        ]
        command += [
            "--symlink",
            f"{environment.base}/bin/{environment.python}",
            "/env/bin/python",
        ]
        for name in (environment.python, "python3"):
            command += ["--symlink", "python", f"/env/bin/{name}"]
        for device in CONFINEMENT["devices"]:
            command += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
        for target, link in CONFINEMENT["links"].items():
            command += ["--symlink", link, f"/dev/{target}"]
        command += [
            "--proc",
            "/proc",
            "--tmpfs",
            "/tmp",
            "--dir",
            "/dev/shm",
            "--dir",
            "/inputs",
        ]
        command += ["--remount-ro", "/"]
        variables = dict(child_environment(self._config))
        if any(environment.prefix.glob("lib/libpython3*.so*")):
            variables["LD_LIBRARY_PATH"] = f"{environment.base}/lib"
        for key, value in variables.items():
            command += ["--setenv", key, value]
        return [*command, "--chdir", "/", "/env/bin/python"]


class Unsafe:
    """Opens plain processes."""

    confinement = "unsafe"
    jail = "none"

    def __init__(self, config: SandboxConfig) -> None:
        self._config = config

    async def open(self) -> tuple[Channel, dict[str, Any]]:
        """See :class:`sandbox.worker.Backend`."""
        if sys.platform != "linux":
            raise SandboxError("the fork server needs Linux; install Docker instead")
        environment = await stoppable.in_thread(environments.build, self._config.env)
        scratch = Path(tempfile.mkdtemp(prefix="matsmith-unsafe-"))
        variables = child_environment(self._config) | {
            "PATH": f"{environment.folder}/bin:/usr/bin:/bin",
            "HOME": str(scratch),
            "MPLCONFIGDIR": str(scratch),
        }
        command = [str(environment.folder / "bin/python"), *SERVE]
        after = partial(shutil.rmtree, scratch, ignore_errors=True)
        channel = await ProcessChannel.open(command, variables, scratch, after)
        return channel, {
            "folder": str(scratch / "run"),
            "inputs": str(scratch / "inputs"),
            "own": str(environment.own or ""),
        }


def problem() -> str | None:
    """Why bubblewrap cannot be used here, as one sentence; ``None`` when it can."""
    if sys.platform != "linux":
        return "bubblewrap needs Linux"
    program = shutil.which("bwrap")
    if program is None:
        cure = command_line("sandbox install")
        return f"bubblewrap is not installed (`{cure}` does it)"
    command = [
        program,
        "--unshare-all",
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "true",
    ]
    try:
        tried = stoppable.execute(command, timeout=30, env={"PATH": "/usr/bin:/bin"})
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap fails to start: {error}"
    if tried.returncode == 0:
        return None
    if apparmor.restricts():
        return apparmor.offer()
    return (
        f"bubblewrap may not create namespaces here ({tried.stderr.strip()}); allow unprivileged"
        " user namespaces (docs/sandbox.md says how), or use Docker"
    )


def remove_cgroup(group: Path) -> None:
    """Remove it; a cgroup that still has a dying process stays for the next sweep."""
    with contextlib.suppress(OSError):
        group.rmdir()


def make_cgroup(limit: int, parent: str | None = None) -> Path | None:
    """Make a cgroup that may hold ``limit`` bytes, those of the kernel included; no swap.

    Below the folder ``parent``; or for root, when nothing has put this process into a cgroup of its
    own; for a user, below the first ancestor that belongs to the user and hands the memory
    controller down. All of them are of version 2. A process that a supervisor has put somewhere is
    not taken away from there. `None` where there is none: the fork server sums up what /proc shows.
    """
    place = Path(parent) if parent else _place()
    if place is None:
        return None
    for left in sorted(place.glob(f"{_CGROUP}-*-*")):  # by a host that was killed
        if not Path("/proc", left.name.split("-")[1]).exists():
            remove_cgroup(left)
    group = place / f"{_CGROUP}-{os.getpid()}-{next(_numbers)}"
    with contextlib.suppress(OSError):
        group.mkdir()
        with contextlib.suppress(OSError):
            if all((group / name).exists() for name in Cgroup.FILES[0]):
                (group / "memory.max").write_text(str(limit))
                if (
                    swap := group / "memory.swap.max"
                ).exists():  # not where swap is not counted
                    swap.write_text("0")
                return group
        remove_cgroup(group)
    if parent is None:
        return None
    raise SandboxError(
        f"no cgroup with a memory limit can be created in {parent}: it must exist, be writable"
        " and hand the memory controller of version 2 down (in its cgroup.subtree_control)"
    )


def _place() -> Path | None:
    """Where this user's cgroups go."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    path = next((line[4:] for line in lines if line.startswith("0::/")), None)
    user = os.geteuid()
    if path is None or (user == 0 and path):
        return None
    # In a container only what is below a part of the path is mounted: the rest is absent.
    for folder in (CGROUPS / path, *(CGROUPS / path).parents):
        with contextlib.suppress(OSError):
            handed = (folder / "cgroup.subtree_control").read_text().split()
            mine = user in {0, folder.stat().st_uid}
            if (
                "memory" in handed
                and mine
                and os.access(folder / "cgroup.procs", os.W_OK)
            ):
                return folder
    return None
