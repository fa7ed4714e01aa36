"""Isolation by a container engine: one hardened, long-lived container per worker.

The fork server is root in there with two capabilities left, to give every run a user id of its
own; the code has none. The container lives as long as the host's end of its stdin: when the
host dies, however it dies, the fork server reads the end of the stream and the engine removes
the container.

Podman is reached by its compatible socket. An engine has one image per environment, named after the
content of its lock file.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import socket
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import docker
import docker.errors
import requests.exceptions
from docker.models.containers import Container
from docker.types import LogConfig, Ulimit

from sandbox import environments, stoppable
from sandbox.base import SandboxConfig, SandboxError
from sandbox.bubblewrap import CONFINEMENT, FORK_SERVER_MB, child_environment
from sandbox.exchange import INPUTS_LIMIT
from sandbox.shipping import SERVE
from sandbox.worker import Channel

DOCKERFILE = Path(__file__).parent / "Dockerfile"
BASE = "python:{}-slim"
PING_SECONDS = 5
CALL_SECONDS = 60
BUILD_SECONDS = 3600
CERTIFICATES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
_SAID = ("stream", "error", "status")
INDEXES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL")
_HINTS = {
    "docker": "start it, or set DOCKER_HOST to its socket",
    "podman": "start its socket: systemctl --user start podman.socket",
}
_ERRORS = (docker.errors.DockerException, requests.exceptions.RequestException, OSError)
EMPTY = "ro,noexec,nosuid,nodev,size=4k,mode=555"
LABEL = "matsmith.sandbox"  # its value is the process id of the host
STALE_SECONDS = 300  # between making a container and starting it


@dataclass(frozen=True)
class Engine:
    """A container engine that answers: ``docker`` or ``podman``."""

    name: str
    client: docker.DockerClient


def find(name: str) -> Engine | None:
    """The engine of that name, ``None`` when it does not answer."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    own = [f"unix://{folder}/podman/podman.sock" for folder in (runtime, "/run")]
    # None: DOCKER_HOST (which may point at podman), the context in use, or the usual socket.
    for address in (*own, None) if name == "podman" else (None,):
        try:
            connect = (
                partial(docker.DockerClient, address) if address else docker.from_env
            )
            client = connect(timeout=PING_SECONDS)
            parts = client.version().get("Components") or []
        except _ERRORS:
            continue
        if any("Podman" in part.get("Name", "") for part in parts) == (
            name == "podman"
        ):
            client.api.timeout = CALL_SECONDS
            return Engine(name, client)
        client.close()
    return None


def require(name: str) -> Engine:
    """The engine of that name; raises :class:`SandboxError` when it does not answer."""
    engine = find(name)
    if engine is None:
        raise SandboxError(f"no {name} engine answers; {_HINTS[name]}")
    return engine


def tag(env: str) -> str:
    """Name of the image; changes with the lock file, the Dockerfile and the Python version."""
    lock = environments.lock_file(env)
    content = lock.read_bytes() + DOCKERFILE.read_bytes() + _base(env).encode()
    return f"matsmith-{lock.parent.name.lower()}:{hashlib.sha256(content).hexdigest()[:12]}"


def exists(engine: Engine, env: str) -> bool:
    """Whether the image of this environment is there."""
    try:
        engine.client.images.get(tag(env))
    except docker.errors.ImageNotFound:
        return False
    except _ERRORS as error:
        raise SandboxError(
            f"{engine.name} does not tell its images: {error}"
        ) from error
    return True


def build(
    engine: Engine,
    env: str,
    *,
    base: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> str:
    """Build the image unless it is there; returns its name."""
    name, base = tag(env), base or _base(env)
    if exists(engine, env):
        return name
    arguments = {"BASE": base, "OPTIONS": " ".join(environments.build_options(env))}
    arguments |= {key: os.environ[key] for key in INDEXES if key in os.environ}
    log: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        write_context(env, Path(folder))
        try:
            for event in engine.client.api.build(
                path=folder,
                tag=name,
                buildargs=arguments,
                rm=True,
                forcerm=True,
                network_mode="host",
                decode=True,
                timeout=BUILD_SECONDS,
            ):
                line = next(
                    (str(event[key]).strip() for key in _SAID if key in event), ""
                )
                log.append(line)
                if line.upper().startswith("STEP"):
                    say(line)
        except _ERRORS as error:
            log.append(str(error))
    if not exists(engine, env):
        tail = "\n".join(list(filter(None, log))[-8:])
        raise SandboxError(
            f"{engine.name} could not build the image from {base}:\n{tail}\nWithout a registry,"
            " make a base image with sandbox/scripts/base-image and pass base=NAME."
        )
    return name


def _base(env: str) -> str:
    return BASE.format(environments.wanted_python(env) or "3.11")


def write_context(env: str, folder: Path) -> None:
    """Write what a build sees: the Dockerfile, the lock file, its wheels, certificates."""
    given = [
        os.environ[key]
        for key in CERTIFICATES
        if Path(os.environ.get(key, "")).is_file()
    ]
    (folder / "certificates.pem").write_bytes(
        Path(given[0]).read_bytes() if given else b""
    )
    shutil.copy(DOCKERFILE, folder)
    environments.copy_lock(env, folder)


class ContainerChannel(Channel):
    """The attached streams of a container; stdout and stderr come multiplexed."""

    def __init__(
        self,
        container: Container,
        attached: Any,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        super().__init__(*streams)
        self.container = container
        self._attached = attached  # closes the connection when it is collected
        self._buffer = bytearray()

    async def read(self, size: int) -> bytes:
        """See :class:`sandbox.worker.Channel`."""
        while len(self._buffer) < size:
            await self._receive()
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    async def _receive(self) -> None:
        stream, length = struct.unpack(">BxxxI", await super().read(8))
        data = await super().read(length)
        if stream == 1:
            self._buffer += data
        else:
            self._add_to_tail(data)

    async def close(self) -> str:
        """See :class:`sandbox.worker.Channel`."""
        with contextlib.suppress(EOFError, OSError, TimeoutError):
            async with asyncio.timeout(0.2):  # what it wrote to stderr before it ended
                while True:
                    await self._receive()
        self._writer.close()
        await stoppable.to_the_end(self._remove)
        return self._last_words

    def _remove(self) -> None:
        with contextlib.suppress(*_ERRORS):  # gone already, or going: it removes itself
            self.container.remove(force=True)


class Docker:
    """Opens containers of an engine.

    ``options``: ``runtime`` (for example ``runsc`` for gVisor; not of podman), ``cpus`` (number of
    processors of one worker).
    """

    jail = "user"

    def __init__(self, engine: Engine, config: SandboxConfig) -> None:
        self._engine = engine
        self._config = config
        self.confinement = engine.name
        if self.confinement == "podman" and config.options.get(
            "runtime"
        ):  # its socket would ignore it
            raise SandboxError(
                "podman takes its runtime from containers.conf, not from options"
            )

    async def open(self) -> tuple[Channel, dict[str, Any]]:
        """See :class:`sandbox.worker.Backend`."""
        try:
            image = await stoppable.in_thread(build, self._engine, self._config.env)
            own = await asyncio.to_thread(environments.own_packages, self._config.env)
            container, attached = await asyncio.to_thread(self._start, image, own)
        except _ERRORS as error:
            raise SandboxError(
                f"{self.confinement} could not start a container: {error}"
            ) from error
        connection: socket.socket = attached._sock
        connection.setblocking(False)
        streams = await asyncio.open_connection(sock=connection)
        channel = ContainerChannel(container, attached, streams)
        return channel, {"own": environments.IN_FRONT if own else ""}

    def _start(self, image: str, own: Path | None) -> tuple[Container, Any]:
        client = self._engine.client
        if not client.api.base_url.startswith(("http+docker://localhost", "http://")):
            raise SandboxError(
                f"{self.confinement} at {client.api.base_url} cannot be used: only a local socket"
                " (unix://) or plain tcp:// can be attached to"
            )
        # Those whose making was cut short; every other one removes itself.
        with contextlib.suppress(docker.errors.APIError):  # somebody else does it now
            client.containers.prune({"label": LABEL, "until": f"{STALE_SECONDS}s"})
        command = ["/env/bin/python", *SERVE]
        container = client.containers.create(image, command, **self._limits(own))
        try:
            streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            attached = container.attach_socket(params=streams)
            container.start()
        except BaseException:
            with contextlib.suppress(*_ERRORS):
                container.remove(force=True)
            raise
        return container, attached

    def _limits(self, own: Path | None) -> dict[str, Any]:
        config = self._config
        memory = (config.memory_mb + FORK_SERVER_MB) * 1024**2 + INPUTS_LIMIT
        private = "rw,noexec,nosuid,nodev"
        scratch = f"{private},size={config.disk_mb}m,mode=1777"
        if (
            self.confinement == "docker"
        ):  # podman knows no nr_inodes: there, the memory limit bounds them
            scratch += ",nr_inodes=4096"
        tmpfs = {
            "/tmp": scratch,  # noqa: S108
            "/dev/shm": scratch,  # noqa: S108
            # Message queues would outlive a run, and podman adds folders to write in: something
            # empty in the place of the engine's.
            **dict.fromkeys(("/dev/mqueue", "/run", "/var/tmp"), EMPTY),  # noqa: S108
            "/inputs": f"{private},size={INPUTS_LIMIT * 2},mode=711",
        }
        ulimits = {"nofile": 1024, "nproc": 4096, "core": 1, "fsize": INPUTS_LIMIT}
        fixed: dict[str, Any] = CONFINEMENT["container"]
        return fixed | {
            "labels": {LABEL: str(os.getpid())},
            "environment": child_environment(config),
            # z: a label that containers may read, where SELinux asks for one
            "volumes": {str(own): {"bind": environments.IN_FRONT, "mode": "ro,z"}}
            if own
            else {},
            "pids_limit": config.max_processes + 16,
            "mem_limit": memory,
            "memswap_limit": memory,
            "nano_cpus": int(float(config.options.get("cpus", 2)) * 1e9),
            "tmpfs": tmpfs,
            "ulimits": [
                Ulimit(name=name, soft=n, hard=n) for name, n in ulimits.items()
            ],
            "log_config": LogConfig(type="none"),
            "runtime": config.options.get("runtime"),
        }
