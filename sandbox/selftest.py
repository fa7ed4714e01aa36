"""``python -m sandbox selftest``: every control and every limit, tried now, on this machine."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.base import Execution, Outcome, SandboxConfig, SandboxError
from sandbox.controls import CONTROLS, PROBE
from sandbox.factory import get_sandbox

LIMITS = SandboxConfig(workers=1, memory_mb=512, max_processes=32, wall_seconds=5.0)

#: What code does -> (source, seconds, outcome it must have).
TRIALS: Mapping[str, tuple[str, float, Outcome]] = {
    "timeout": ("while True: pass", 0.5, Outcome.TIMEOUT),
    "waiting": ("import time; time.sleep(600)", 0.5, Outcome.TIMEOUT),
    "memory": ("kept = []\nwhile True: kept.append(bytearray(1 << 24))", 30, Outcome.MEMORY),
    "output": ("while True: print('x' * 65536)", 30, Outcome.OUTPUT_FLOOD),
    "result": ("def f(): return 'x' * (20 << 20)", 30, Outcome.BAD_RESULT),
    "nesting": ("def f():\n x = []\n for _ in range(10**5): x = [x]\n return x", 30,
                Outcome.BAD_RESULT),
    "crash": ("import ctypes; ctypes.string_at(1)", 30, Outcome.KILLED),
    "exit": ("import os; os._exit(0)", 30, Outcome.NO_RESULT),
}  # fmt: skip
COUNTED = "; the kernel counts it (a cgroup)"
WATCHED = "; summed from /proc every 50 ms: no cgroup is available (docs/sandbox.md)"
LEAVE = """import math, os
math.pi = 3
open('/tmp/left', 'w').close()
if os.fork() == 0:
    while True: pass
"""
FIND = "import math, os\ndef f(): return math.pi > 3.1 and 'left' not in os.listdir('/tmp')"


def selftest_steps() -> int:
    """How often :func:`selftest` reports progress."""
    return len(TRIALS) + 3


async def selftest(
    config: SandboxConfig, *, progress: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Try everything once.

    Returns
    -------
    report
        ``backend``, ``env``, ``machine``, ``ok`` and ``checks``: a list of ``{name, ok,
        meaning, reason}``.

    Raises
    ------
    SandboxError
        When the sandbox cannot be started at all.
    """
    config = LIMITS.model_copy(update={"backend": config.backend, "env": config.env})
    if config.backend == "unsafe":
        raise SandboxError("sandbox=unsafe has no controls to test")
    checks: list[dict[str, Any]] = []

    def note(name: str, meaning: str, reason: str | None) -> None:
        checks.append({"name": name, "ok": reason is None, "meaning": meaning, "reason": reason})

    progress("start")
    async with get_sandbox(config) as sandbox:
        progress("controls")
        found = await sandbox.run(PROBE, "probe", timeout=60)
        for name, meaning in CONTROLS.items():
            note(name, meaning, found.result[name] if found.outcome is Outcome.OK else found.error)
        for name, (code, seconds, expected) in TRIALS.items():
            progress(name)
            done = await sandbox.run(code, "f" if "def f" in code else "", timeout=seconds)
            reason = None if done.outcome is expected else f"{done.outcome}: {done.error}"
            note(name, f"ends as {expected}", reason)
        progress("traces")
        await sandbox.run(LEAVE, "", timeout=10)
        after = await sandbox.run(FIND, "f", timeout=30)
        note("traces", "files, patches and processes of a run are absent in the next", _true(after))
        tier, how = sandbox.tier, COUNTED if sandbox.memory_counted else WATCHED
        checks[[check["name"] for check in checks].index("memory")]["meaning"] += how
    return {
        "backend": tier,
        "env": config.env,
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
        "ok": all(check["ok"] for check in checks),
        "checks": checks,
    }


def _true(done: Execution) -> str | None:
    if done.outcome is Outcome.OK and done.result is True:
        return None
    return done.error or "something was left behind"
