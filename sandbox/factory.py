"""Which sandbox: by name, or the best one that works here; never an unconfined one by itself."""

from __future__ import annotations

import logging

from sandbox import bubblewrap, environments, unsafe
from sandbox.base import SandboxConfig, SandboxError
from sandbox.pool import PooledSandbox
from sandbox.worker import Backend

log = logging.getLogger(__name__)
BACKENDS = ("auto", "bubblewrap", "unsafe")


def get_sandbox(config: SandboxConfig | None = None) -> PooledSandbox:
    """Choose a backend; nothing is started yet.

    Use it as ``async with get_sandbox(config) as sandbox:``, or call ``close()`` yourself.

    Raises
    ------
    SandboxError
        When no backend works here, or the environment is unknown; says what to do.
    """
    config = config or SandboxConfig()
    return PooledSandbox(_backend(config), config, environments.warmup(config.env))


def _backend(config: SandboxConfig) -> Backend:
    if config.backend not in BACKENDS:
        raise SandboxError(f"no backend {config.backend!r}; there are: {', '.join(BACKENDS)}")
    if config.backend == "unsafe":
        log.warning(unsafe.WARNING)
        return unsafe.Unsafe(config)
    bubblewrap.require()
    return bubblewrap.Bubblewrap(config)


def available() -> list[str]:
    """Names of the isolating backends that work here, best first."""
    return ["bubblewrap"] if bubblewrap.problem() is None else []
