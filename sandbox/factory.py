"""Which sandbox: by name, or the best one that works here; never an unconfined one by itself."""

from __future__ import annotations

import logging

from sandbox import bubblewrap, environments, images, unsafe
from sandbox.base import SandboxConfig, SandboxError
from sandbox.docker import Docker
from sandbox.pool import PooledSandbox
from sandbox.worker import Backend

log = logging.getLogger(__name__)
ENGINES = ("docker", "podman")
ISOLATING = (*ENGINES, "bubblewrap")  # in the order of ``auto``
BACKENDS = ("auto", *ISOLATING, "unsafe")
REFUSAL = (
    "no isolation available: no Docker or podman engine answers, and {reason}. Run"
    " `python -m sandbox install`, or install Docker"
)


def get_sandbox(config: SandboxConfig | None = None) -> PooledSandbox:
    """Choose a backend; nothing is started yet.

    Use it as ``async with get_sandbox(config) as sandbox:``, or call ``close()`` yourself.

    Parameters
    ----------
    config
        What to use; ``options`` may hold ``strict`` (a fresh worker for every run),
        ``hash_seed`` (of the workers' Python), ``warmup`` (source that a worker executes
        beforehand in place of the environment's; empty or ``False``: none), and what
        :class:`sandbox.docker.Docker` takes.

    Raises
    ------
    SandboxError
        When no backend works here, or the environment is unknown; says what to do.
    """
    config = config or SandboxConfig()
    chosen = config.options.get("warmup", True)
    warmup = str(chosen or "") if chosen is not True else environments.warmup(config.env)
    return PooledSandbox(_backend(config), config, warmup)


def available() -> list[str]:
    """Names of the isolating backends that work here, best first."""
    return [
        name
        for name in ISOLATING
        if (bubblewrap.problem() is None if name == "bubblewrap" else images.find(name))
    ]


def _backend(config: SandboxConfig) -> Backend:
    name = config.backend
    if name not in BACKENDS:
        raise SandboxError(f"no backend {name!r}; there are: {', '.join(BACKENDS)}")
    if name == "auto":
        return _best(config)
    if name in ENGINES:
        return Docker(images.require(name), config)
    if name == "unsafe":
        log.warning(unsafe.WARNING)
        return unsafe.Unsafe(config)
    bubblewrap.require()
    return bubblewrap.Bubblewrap(config)


def _best(config: SandboxConfig) -> Backend:
    engines = [engine for engine in map(images.find, ENGINES) if engine is not None]
    for engine in engines:
        if images.exists(engine, config.env):
            return Docker(engine, config)
    reason = bubblewrap.problem()
    if reason is None:
        for engine in engines:
            log.warning(
                "%s answers but has no image of %r (`python -m sandbox build env=%s backend=%s`"
                " makes it); bubblewrap isolates instead",
                engine.name, config.env, config.env, engine.name,
            )  # fmt: skip
        return bubblewrap.Bubblewrap(config)
    if engines:
        return Docker(engines[0], config)  # builds the image first
    raise SandboxError(REFUSAL.format(reason=reason))
