"""What every isolating backend must hold, tried from the inside.

``PROBE`` (``probe.py``) is ordinary code that runs in the sandbox like any answer: for each
control it tries what must not work. It only creates sockets, it never connects.
"""

from __future__ import annotations

from pathlib import Path

from sandbox.base import Execution, Outcome

#: Control -> what it means, in the order of the self-test's table.
CONTROLS = {
    "unprivileged": "not root, no capabilities, no way to gain any",
    "system_calls": "a filter refuses namespaces, mounts, ptrace, bpf, io_uring, keys",
    "network": "no socket but AF_UNIX",
    "file_system": "nothing outside the run's own folders is writable",
    "secrets": "no password file, engine socket or home folder is readable",
    "environment": "no variable of the host",
    "processes": "no other process can be read or signalled",
    "descriptors": "no file of the worker is open",
    "limits": "memory, processes, file size and open files are limited",
}

PROBE = (Path(__file__).parent / "probe.py").read_text(encoding="utf-8")


def failures(execution: Execution) -> list[str]:
    """What the probe found broken, one line each; empty when every control holds."""
    if execution.outcome is not Outcome.OK:
        return [f"the probe ended as {execution.outcome}: {execution.error}"]
    found = execution.result
    if not isinstance(found, dict) or set(found) != set(CONTROLS):
        return ["the probe's answer is not its own"]
    return [f"{name}: {reason}" for name, reason in found.items() if reason is not None]
