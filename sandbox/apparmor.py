"""A profile of AppArmor that lets bubblewrap alone make user namespaces.

Ubuntu from 23.10 on forbids them to programs without a profile. A sysctl would open them to every
program, which is more than a sandbox needs; a profile opens them to one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from foundation.program import command_line
from sandbox.base import SandboxError

RESTRICTED = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
PROFILES = Path("/etc/apparmor.d")
NAME = "matsmith-bwrap"
PARSER = "apparmor_parser"
#: ``unconfined`` forbids nothing else: what bubblewrap starts confines itself.
PROFILE = """\
# Written by matsmith: lets bubblewrap, and no other program, make user namespaces.
# To undo it: {undo}
abi <abi/4.0>,
include <tunables/global>

profile {name} {program} flags=(unconfined) {{
  userns,
}}
"""
#: Runs a command with the rights of root; returns why it failed, or ``None``.
Execute = Callable[[Sequence[str], str], str | None]


def restricts() -> bool:
    """Whether AppArmor forbids user namespaces to programs without a profile."""
    try:
        return RESTRICTED.read_text().strip() == "1"
    except OSError:
        return False


def path() -> Path:
    """Where the profile lies."""
    return PROFILES / NAME


def undo() -> str:
    """The command that takes the profile away again."""
    return f"sudo {PARSER} --remove {path()} && sudo rm {path()}"


def offer() -> str:
    """What could be changed, as one sentence; nothing is changed by asking for it."""
    cure = command_line("sandbox install apparmor=true")
    return (
        f"AppArmor forbids user namespaces to bubblewrap; `{cure}`"
        f" allows them to this one program (it writes {path()} and loads it; undo: {undo()})"
    )


def text(program: str) -> str:
    """The profile for a program."""
    return PROFILE.format(name=NAME, program=program, undo=undo())


def install(execute: Execute) -> str:
    """Write the profile and load it; what was changed, and how to undo it."""
    program = shutil.which("bwrap")
    if program is None or shutil.which(PARSER) is None:
        raise SandboxError(
            f"a profile needs bubblewrap and {PARSER}; use Docker instead"
        )
    steps = [
        (["tee", str(path())], text(str(Path(program).resolve()))),
        ([PARSER, "--replace", str(path())], ""),
    ]
    for command, given in steps:
        if reason := execute(command, given):
            raise SandboxError(f"`{' '.join(command)}` failed: {reason}")
    return f"wrote {path()} and loaded it, for {program} only; undo: {undo()}"
