"""Isolation on this machine: install it, build environments, try every control and limit."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, Field
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from foundation.command import Command, run_one_of
from foundation.configuration import data_of
from foundation.progress import saying
from sandbox import apparmor, bubblewrap, bytecode, docker, environments, stoppable
from sandbox.base import Outcome, SandboxConfig, SandboxError
from sandbox.factory import ENGINES, available, engines, get_sandbox
from sandbox.inside.probe import CONTROLS

console = Console(stderr=True)

LIMITS = SandboxConfig(workers=1, memory_mb=512, max_processes=32, wall_seconds=5.0)
MACHINE = data_of(__file__, "machine")
COUNTED = "; the kernel counts it (a cgroup)"
WATCHED = "; summed from /proc every 50 ms: no cgroup is available (docs/sandbox.md)"


class Build(SandboxConfig):
    """Arguments of ``build``."""

    base: str | None = Field(None, description="container image to build on")


class Selftest(SandboxConfig):
    """Arguments of ``selftest``."""

    json_: bool = Field(False, alias="json", description="print the report as JSON")


class Install(BaseModel, extra="forbid"):
    """Arguments of ``install``."""

    apparmor: bool = Field(
        False, description="let AppArmor allow user namespaces to bubblewrap alone"
    )


def _install(options: Install) -> int:
    """Install bubblewrap where no engine answers and it is missing."""
    with console.status("looking for Docker, podman, bubblewrap"):
        works = available()
        if works:
            done = f"isolation by {works[0]} works, nothing to install"
        elif options.apparmor and apparmor.restricts():
            done = allow_by_apparmor()
        else:
            done = install_bubblewrap()
        console.print(done, markup=False)
    return 0


def allow_by_apparmor() -> str:
    """Install and load a profile for bubblewrap; what was changed, and how to undo it."""
    rights = _rights()
    if rights is None:
        raise SandboxError(
            f"root has to write {apparmor.path()}: run the command once by sudo, or write"
            f" this there and load it:\n{apparmor.text('/usr/bin/bwrap')}"
        )

    def execute(command: Sequence[str], given: str) -> str | None:
        done = _execute([*rights, *command], given)
        return None if done.returncode == 0 else done.stderr.strip()

    done = apparmor.install(execute)
    if reason := bubblewrap.problem():
        raise SandboxError(f"{done}\nIt did not help: {reason}")
    return done


def install_bubblewrap() -> str:
    """Install bubblewrap by the system's package manager; returns the command that did it."""
    if shutil.which("bwrap"):
        raise SandboxError(str(bubblewrap.problem()))
    if sys.platform != "linux":
        raise SandboxError(
            "install and start Docker (https://docs.docker.com/get-docker/)"
        )
    manager = next((name for name in MACHINE["managers"] if shutil.which(name)), None)
    if manager is None:
        raise SandboxError(
            "no known package manager; install bubblewrap, Docker or podman"
        )
    line = f"{manager} {MACHINE['managers'][manager]}"
    rights = _rights()
    if rights is None:
        raise SandboxError(f"bubblewrap is missing; run this once: sudo {line}")
    if manager == "apt-get":  # stale package lists on a fresh machine
        _execute([*rights, manager, "update"])
    done = _execute([*rights, *line.split()])
    if done.returncode != 0:
        tail = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise SandboxError(f"`{line}` failed: {tail}")
    if reason := bubblewrap.problem():
        raise SandboxError(reason)
    return f"installed bubblewrap ({line})"


def _rights() -> list[str] | None:
    """What gives a command the rights of root without a question; ``None``: nothing does."""
    if os.geteuid() == 0:
        return []
    sudo = ["sudo", "--non-interactive"]
    allowed = shutil.which("sudo") and _execute([*sudo, "true"]).returncode == 0
    return sudo if allowed else None


def _execute(command: list[str], given: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return stoppable.execute(command, given=given, env=environment)


async def selftest(config: SandboxConfig) -> dict[str, Any]:
    """Try everything once.

    The report has ``backend``, ``env``, ``machine``, ``ok`` and ``checks``: a list of ``{name, ok,
    meaning, reason}``.
    """
    config = LIMITS.model_copy(
        update=config.model_dump(include={"backend", "env", "options"})
    )
    if config.backend == "unsafe":
        raise SandboxError("sandbox=unsafe has no controls to test")
    checks: list[dict[str, Any]] = []

    def note(name: str, meaning: str, reason: str | None) -> None:
        checks.append(
            {"name": name, "ok": reason is None, "meaning": meaning, "reason": reason}
        )

    async with get_sandbox(config) as sandbox:
        probed = await sandbox.call("sandbox.inside.probe", "probe", timeout=60)
        for control in CONTROLS:
            name, ended = control.__name__, probed.outcome is Outcome.OK
            meaning = str(control.__doc__).rstrip(".")
            note(name, meaning, probed.result[name] if ended else probed.error)
        for name, trial in MACHINE["trials"].items():
            if "before" in trial:
                await sandbox.run(trial["before"], "", timeout=10)
            code, seconds = trial["code"], trial.get("seconds", 30)
            done = await sandbox.run(
                code, "f" if "def f" in code else "", timeout=seconds
            )
            reason = (
                None
                if done.outcome == trial["ends"]
                else f"{done.outcome}: {done.error}"
            )
            meaning = trial.get("meaning", f"ends as {trial['ends']}")
            if name == "memory":
                meaning += COUNTED if sandbox.memory_counted else WATCHED
            note(name, meaning, reason)
    return {
        "backend": sandbox.confinement,
        "env": config.env,
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
        "ok": all(check["ok"] for check in checks),
        "checks": checks,
    }


def _build(config: Build) -> int:
    with saying(f"environment {config.env}") as say:
        confined = bubblewrap.problem() is None
        if confined:
            bytecode.prepare(config, say=say)
        else:
            environments.build(config.env, say=say)
        console.print(environments.folder(config.env), highlight=False)
        chosen = engines()[:1] if config.backend == "auto" else []
        if config.backend in ENGINES:
            chosen = [docker.require(config.backend)]
        for engine in chosen:
            try:
                image = docker.build(engine, config.env, base=config.base, say=say)
            except SandboxError as error:
                if config.backend != "auto" or not confined:
                    raise
                console.print(f"{error}\nbubblewrap isolates instead.", markup=False)
            else:
                console.print(f"{engine.name} image {image}", highlight=False)
    return 0


async def _selftest(config: Selftest) -> int:
    with console.status("trying every control and limit"):
        report = await selftest(config)
    if config.json_:
        print(json.dumps(report, indent=1))
        return 0 if report["ok"] else 1
    table = Table(title=f"{report['backend']}, {report['env']}, {report['machine']}")
    for column in ("control", "holds", "what it means"):
        table.add_column(column)
    for check in report["checks"]:
        held = (
            "[green]yes[/]"
            if check["ok"]
            else f"[red]NO[/]: {escape(str(check['reason']))}"
        )
        table.add_row(check["name"], held, check["meaning"])
    Console().print(table)
    return 0 if report["ok"] else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code (see `foundation.command`)."""
    program = "matsmith sandbox"
    commands: dict[str, Callable[[Sequence[str]], int]] = {
        "install": Command(
            f"{program} install", "Make isolation work here.", Install, _install
        ),
        "build": Command(
            f"{program} build", "Make an environment and its image.", Build, _build
        ),
        "selftest": Command(
            f"{program} selftest", "Try every control.", Selftest, _selftest
        ),
    }
    return run_one_of(program, str(__doc__), commands, arguments)


if __name__ == "__main__":
    sys.exit(main())
