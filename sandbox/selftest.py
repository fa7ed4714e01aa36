"""``python -m sandbox selftest``: every control and every limit, tried now, on this machine."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

from sandbox.base import Outcome, SandboxConfig, SandboxError
from sandbox.factory import get_sandbox
from sandbox.inside.probe import CONTROLS

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


async def selftest(config: SandboxConfig) -> dict[str, Any]:
    """Try everything once.

    The report has ``backend``, ``env``, ``machine``, ``ok`` and ``checks``: a list of ``{name, ok,
    meaning, reason}``.
    """
    config = LIMITS.model_copy(update={"backend": config.backend, "env": config.env})
    if config.backend == "unsafe":
        raise SandboxError("sandbox=unsafe has no controls to test")
    checks: list[dict[str, Any]] = []

    def note(name: str, meaning: str, reason: str | None) -> None:
        checks.append({"name": name, "ok": reason is None, "meaning": meaning, "reason": reason})

    async with get_sandbox(config) as sandbox:
        found = await sandbox.call("sandbox.inside.probe", "probe", timeout=60)
        for control, meaning in CONTROLS.items():
            name, ended = control.__name__, found.outcome is Outcome.OK
            note(name, meaning, found.result[name] if ended else found.error)
        for name, (code, seconds, expected) in TRIALS.items():
            done = await sandbox.run(code, "f" if "def f" in code else "", timeout=seconds)
            reason = None if done.outcome is expected else f"{done.outcome}: {done.error}"
            note(name, f"ends as {expected}", reason)
        await sandbox.run(LEAVE, "", timeout=10)
        after = await sandbox.run(FIND, "f", timeout=30)
        clean = after.outcome is Outcome.OK and after.result is True
        reason = None if clean else after.error or "something was left behind"
        note("traces", "files, patches and processes of a run are absent in the next", reason)
        tier, how = sandbox.tier, COUNTED if sandbox.memory_counted else WATCHED
        checks[[check["name"] for check in checks].index("memory")]["meaning"] += how
    return {
        "backend": tier,
        "env": config.env,
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
        "ok": all(check["ok"] for check in checks),
        "checks": checks,
    }
