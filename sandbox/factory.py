"""Which sandbox: by name, or the best one that works here; never an unconfined one by itself."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from foundation.errors import ActionableError
from foundation.failures import describe_failure
from foundation.plugins import installed
from foundation.program import command_line
from foundation.targets import load
from sandbox import bubblewrap, bytecode, environments
from sandbox.base import SandboxConfig, SandboxError
from sandbox.pool import PooledSandbox, PooledVerifier
from sandbox.worker import Backend

if TYPE_CHECKING:
    from sandbox.docker import Engine

log = logging.getLogger(__name__)
ENGINES = ("docker", "podman")
ISOLATING = (*ENGINES, "bubblewrap")  # in the order of ``auto``
BACKENDS = ("auto", *ISOLATING, "unsafe")
REFUSAL = (
    "no isolation available: no Docker or podman engine answers, and {reason}. Run"
    " `{cure}`, or install Docker"
)


def get_sandbox(config: SandboxConfig | None = None) -> PooledSandbox:
    """Choose a backend; nothing is started yet.

    Use it as ``async with get_sandbox(config) as sandbox:``, or call ``close()`` yourself.
    ``options`` may hold ``strict`` (a fresh worker for every run), ``hash_seed`` (of the workers'
    Python), ``warmup`` (source that a worker executes beforehand in place of the environment's;
    empty or ``False``: none), and what :class:`sandbox.docker.Docker` takes.
    """
    config = config or SandboxConfig()
    return PooledSandbox(_backend(config), config, _warmup(config))


def get_verifier(config: SandboxConfig | None = None) -> PooledVerifier:
    """Like `get_sandbox`, with workers for verification only."""
    config = config or SandboxConfig()
    return PooledVerifier(_backend(config), config, _warmup(config))


def _warmup(config: SandboxConfig) -> str:
    chosen = config.options.get("warmup", True)
    if chosen is True:
        return environments.warmup(config.env)
    return str(chosen or "")


def available() -> list[str]:
    """Names of the isolating backends that work here, best first."""
    works = [engine.name for engine in engines()]
    return works if bubblewrap.problem() else [*works, "bubblewrap"]


def engines() -> list[Engine]:
    """Those that answer, best first; their library is slow to import, and often in vain."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    folders = ("/var/run", "/run/podman", f"{runtime}/podman")
    places = [Path(folder, f"{kind}.sock") for folder in folders for kind in ENGINES]
    places += [
        Path(os.environ.get("DOCKER_CONFIG", Path.home() / ".docker"), "contexts")
    ]
    if not (os.environ.get("DOCKER_HOST") or any(place.exists() for place in places)):
        return []
    from sandbox import docker  # noqa: PLC0415

    return [engine for engine in map(docker.find, ENGINES) if engine is not None]


def _backend(config: SandboxConfig) -> Backend:
    name = config.backend  # ours, an entry point or module:Class
    named = {plugin.name: plugin.target for plugin in installed("sandbox")}
    target = name if name in BACKENDS else named.get(name, name)
    if ":" in target:
        return _from_outside(target, config)
    if name not in BACKENDS:
        raise SandboxError(
            f"no backend {name!r}; there are: {', '.join(BACKENDS)}, or module:Class"
        )
    if name == "unsafe":
        log.warning(bubblewrap.WARNING)
        return bubblewrap.Unsafe(config)
    answering = engines() if name == "auto" else []
    if answering or name in ENGINES:
        from sandbox import docker  # noqa: PLC0415

        if name in ENGINES:
            return docker.Docker(docker.require(name), config)
        ready = [engine for engine in answering if docker.exists(engine, config.env)]
        if ready or bubblewrap.problem():
            return docker.Docker(
                [*ready, *answering][0], config
            )  # builds the image first
    if reason := bubblewrap.problem():
        raise SandboxError(_refusal(reason) if name == "auto" else reason)
    for engine in answering:
        log.warning(
            "%s answers but has no image of %r (`%s` makes it); bubblewrap isolates instead",
            engine.name,
            config.env,
            command_line(f"sandbox build env={config.env} backend={engine.name}"),
        )
    return bytecode.bubblewrap(config)


def _refusal(reason: str) -> str:
    return REFUSAL.format(reason=reason, cure=command_line("sandbox install"))


def _from_outside(target: str, config: SandboxConfig) -> Backend:
    """A backend of somebody else: trusted like every module that a user names."""
    make = load(target, key="sandbox.backend")
    try:
        made = make(config)
    except ActionableError:
        raise
    except Exception as error:
        failure = describe_failure(error, make)
        raise SandboxError(
            f"sandbox.backend={target}: cannot be made ({failure})"
        ) from error
    if not isinstance(made, Backend):
        raise SandboxError(
            f"sandbox.backend={target}: is not a sandbox.worker.Backend"
            " (confinement, jail, open)"
        )
    return made
