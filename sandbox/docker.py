"""Isolation by a container engine: one hardened, long-lived container per worker.

The fork server is root in there with two capabilities left, to give every run a user id of its
own; the code has none. The container lives as long as the host's end of its stdin: when the
host dies, however it dies, the fork server reads the end of the stream and the engine removes
the container.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
import time
from pathlib import Path
from typing import Any

import docker.errors
import requests.exceptions
from docker.types import LogConfig, Ulimit

from sandbox import environments, images, overlays
from sandbox.base import SandboxConfig, SandboxError
from sandbox.bubblewrap import FORK_SERVER_MB, child_environment
from sandbox.inputs import INPUTS_LIMIT
from sandbox.worker import LOADER, Channel

EMPTY = "ro,noexec,nosuid,nodev,size=4k,mode=555"
LABEL = "matsmith.sandbox"  # its value is the process id of the host
STALE_SECONDS = 300.0  # between making a container and starting it
_ENGINE_ERRORS = (docker.errors.DockerException, requests.exceptions.RequestException, OSError)


class ContainerChannel:
    """The attached streams of a container; stdout and stderr come multiplexed."""

    def __init__(
        self,
        engine: images.Engine,
        container: str,
        attached: Any,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._engine = engine
        self.container = container
        self._attached = attached  # closes the connection when it is collected
        self._reader, self._writer = reader, writer
        self._buffer = bytearray()
        self._tail = bytearray()

    async def read(self, size: int) -> bytes:
        """See :class:`sandbox.worker.Channel`."""
        while len(self._buffer) < size:
            await self._receive()
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    async def _receive(self) -> None:
        stream, length = struct.unpack(">BxxxI", await self._reader.readexactly(8))
        data = await self._reader.readexactly(length)
        if stream == 1:
            self._buffer += data
        else:
            self._tail += data
            del self._tail[:-8192]

    async def write(self, data: bytes) -> None:
        """See :class:`sandbox.worker.Channel`."""
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> str:
        """See :class:`sandbox.worker.Channel`."""
        with contextlib.suppress(EOFError, OSError, TimeoutError):
            async with asyncio.timeout(0.2):  # what it wrote to stderr before it ended
                while True:
                    await self._receive()
        self._writer.close()
        await asyncio.shield(asyncio.to_thread(self._remove))
        return self._tail.decode(errors="replace").strip()

    def _remove(self) -> None:
        # Gone already (404), or going (409): it removes itself when its stdin closes.
        with contextlib.suppress(docker.errors.NotFound, docker.errors.APIError):
            self._engine.client.api.remove_container(self.container, force=True)


class Docker:
    """Opens containers of one engine.

    Parameters
    ----------
    engine
        A Docker engine, or podman by its compatible socket.
    config
        Limits. ``options``: ``runtime`` (for example ``runsc`` for gVisor), ``cpus`` (number of
        processors of one worker).
    """

    jail = "user"

    def __init__(self, engine: images.Engine, config: SandboxConfig) -> None:
        self._engine = engine
        self._config = config
        self.tier = engine.name

    async def open(self) -> tuple[Channel, dict[str, Any]]:
        """See :class:`sandbox.worker.Backend`."""
        try:
            image = await asyncio.to_thread(images.build, self._engine, self._config.env)
            own = await asyncio.to_thread(environments.own_packages, self._config.env)
            container, attached = await asyncio.to_thread(self._start, image, own)
        except _ENGINE_ERRORS as error:
            raise SandboxError(f"{self.tier} could not start a container: {error}") from error
        connection: socket.socket = attached._sock
        connection.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=connection)
        channel = ContainerChannel(self._engine, container, attached, reader, writer)
        return channel, {"own": overlays.INSIDE if own else ""}

    def _start(self, image: str, own: Path | None) -> tuple[str, Any]:
        api = self._engine.client.api
        if not api.base_url.startswith(("http+docker://localhost", "http://")):
            raise SandboxError(
                f"{self.tier} at {api.base_url} cannot be used: only a local socket (unix://) or"
                " plain tcp:// can be attached to"
            )
        self._sweep()
        created = api.create_container(
            image,
            ["/env/bin/python", "-s", "-P", "-c", LOADER],
            stdin_open=True,
            environment=child_environment(self._config),
            working_dir="/",
            user="0:0",
            labels={LABEL: str(os.getpid())},
            host_config=self._limits(own),
        )
        container = str(created["Id"])
        try:
            streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            attached = api.attach_socket(container, params=streams)
            api.start(container)
        except BaseException:
            with contextlib.suppress(*_ENGINE_ERRORS):
                api.remove_container(container, force=True)
            raise
        return container, attached

    def _sweep(self) -> None:
        """Remove containers that a host made and, killed right then, never started.

        Every other one removes itself when its host is gone.
        """
        api = self._engine.client.api
        for item in api.containers(all=True, filters={"label": LABEL, "status": "created"}):
            if time.time() - float(item["Created"]) > STALE_SECONDS:
                with contextlib.suppress(docker.errors.NotFound, docker.errors.APIError):
                    api.remove_container(item["Id"])

    def _limits(self, own: Path | None) -> Any:
        config = self._config
        memory = (config.memory_mb + FORK_SERVER_MB) * 1024**2 + INPUTS_LIMIT
        private = "rw,noexec,nosuid,nodev"
        scratch = f"{private},size={config.disk_mb}m,mode=1777"
        if self.tier == "docker":  # podman knows no nr_inodes: there, the memory limit bounds them
            scratch += ",nr_inodes=4096"
        return self._engine.client.api.create_host_config(
            auto_remove=True,
            network_mode="none",
            ipc_mode="private",
            read_only=True,
            # z: a label that containers may read, where SELinux asks for one
            binds=[f"{own}:{overlays.INSIDE}:ro,z"] if own else None,
            cap_drop=["ALL"],
            cap_add=["SETUID", "SETGID"],
            security_opt=["no-new-privileges"],
            pids_limit=config.max_processes + 16,
            mem_limit=memory,
            memswap_limit=memory,
            nano_cpus=int(float(config.options.get("cpus", 2)) * 1e9),
            tmpfs={
                "/tmp": scratch,  # noqa: S108
                "/dev/shm": scratch,  # noqa: S108
                # Message queues would outlive a run, and podman adds folders to write in: something
                # empty in the place of the engine's.
                **dict.fromkeys(("/dev/mqueue", "/run", "/var/tmp"), EMPTY),  # noqa: S108
                "/inputs": f"{private},size={INPUTS_LIMIT * 2},mode=711",
            },
            ulimits=[
                Ulimit(name="nofile", soft=1024, hard=1024),
                Ulimit(name="nproc", soft=4096, hard=4096),
                Ulimit(name="core", soft=0, hard=0),
                Ulimit(name="fsize", soft=INPUTS_LIMIT, hard=INPUTS_LIMIT),
            ],
            log_config=LogConfig(type="none"),
            runtime=config.options.get("runtime"),
        )
