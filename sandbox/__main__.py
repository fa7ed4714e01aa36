"""Isolation on this machine: install it, build environments, run code, test it, measure it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from matsmith.core.command import Command, Nothing, Word, run_one_of
from matsmith.core.errors import UsageError
from matsmith.core.progress import saying
from matsmith.core.terminal import printable
from sandbox import bubblewrap, docker, environments
from sandbox.base import Outcome, SandboxConfig, SandboxError
from sandbox.factory import ENGINES, get_sandbox
from sandbox.inside.representation import represent
from sandbox.install import install
from sandbox.selftest import selftest

console = Console(stderr=True)
_SHOWN = 1 << 20  # characters of a result


class Build(SandboxConfig):
    """Arguments of ``build``."""

    base: str | None = Field(None, description="container image to build on")


class Run(SandboxConfig):
    """Arguments of ``run``."""

    file: Annotated[Path, Word()] = Field(description="Python file")
    entry: str = Field("", description="function whose value is shown")


class Selftest(SandboxConfig):
    """Arguments of ``selftest``."""

    json_: bool = Field(False, alias="json", description="print the report as JSON")


def _install(_: Nothing) -> int:
    with console.status("looking for Docker, podman, bubblewrap"):
        message = install()
    console.print(message)
    return 0


def _build(config: Build) -> int:
    with saying("") as show:

        def say(line: str) -> None:
            show(f"environment {config.env}: {line}")

        confined = bubblewrap.problem() is None
        if confined:
            bubblewrap.Bubblewrap(config).prepare(say=say)
        else:
            environments.build(config.env, say=say)
        console.print(environments.folder(config.env), highlight=False)
        for engine in _engines(config.backend):
            try:
                image = docker.build(engine, config.env, base=config.base, say=say)
            except SandboxError as error:
                if config.backend != "auto" or not confined:
                    raise
                console.print(f"{error}\nbubblewrap isolates instead.", markup=False)
            else:
                console.print(f"{engine.name} image {image}", highlight=False)
    return 0


def _engines(backend: str) -> list[docker.Engine]:
    """The engine that needs an image: the one asked for, or the best one that answers."""
    if backend == "auto":
        return [engine for engine in map(docker.find, ENGINES) if engine is not None][:1]
    return [docker.require(backend)] if backend in ENGINES else []


async def _run(config: Run) -> int:
    if not config.file.is_file():
        raise UsageError(f"no file {config.file}")
    code = config.file.read_text(encoding="utf-8")
    sandbox = get_sandbox(config.model_copy(update={"workers": 1}))
    with console.status("starting the sandbox"):
        await sandbox.__aenter__()
    async with sandbox:
        done = await sandbox.run(code, config.entry, timeout=config.timeout)
    sys.stdout.write(printable(done.stdout))
    sys.stderr.write(printable(done.stderr))
    if config.entry and done.outcome is Outcome.OK:
        print(printable(represent(done.result, _SHOWN)))
    if done.error:
        console.print(printable(done.error), style="red", markup=False, highlight=False)
    console.print(f"{done.outcome} in {done.seconds:.2f} s ({done.tier})", highlight=False)
    return 0 if done.outcome is Outcome.OK else 1


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
        held = "[green]yes[/]" if check["ok"] else f"[red]NO[/]: {escape(str(check['reason']))}"
        table.add_row(check["name"], held, check["meaning"])
    Console().print(table)
    return 0 if report["ok"] else 1


_PROGRAM = "python -m sandbox"
COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "install": Command(f"{_PROGRAM} install", "Make isolation work here.", Nothing, _install),
    "build": Command(f"{_PROGRAM} build", "Make an environment and its image.", Build, _build),
    "run": Command(f"{_PROGRAM} run", "Run a script of yours, isolated.", Run, _run),
    "selftest": Command(f"{_PROGRAM} selftest", "Try every control.", Selftest, _selftest),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code (see `matsmith.core.command`)."""
    return run_one_of(_PROGRAM, str(__doc__), COMMANDS, arguments)


if __name__ == "__main__":
    sys.exit(main())
