"""``python -m sandbox install | list | build | run | selftest | bench``."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from sandbox import bubblewrap, environments, images
from sandbox.base import Outcome, SandboxConfig, SandboxError
from sandbox.bench import bench, bench_steps
from sandbox.factory import ENGINES, get_sandbox
from sandbox.install import install
from sandbox.overlays import DESCRIPTION
from sandbox.representation import represent
from sandbox.selftest import selftest, selftest_steps
from sandbox.terminal import printable

USAGE = """\
python -m sandbox install                      make sure that code can be isolated here
python -m sandbox list                         environments, built ones and overlays on them
python -m sandbox build [env=live] [backend=auto] [base=IMAGE]
                                               make an environment (and its container image)
python -m sandbox run FILE [entry=NAME] [env=live] [timeout=60] [memory_mb=2048] ...
                                               run a script of yours, isolated
python -m sandbox selftest [backend=auto] [env=live] [--json]
                                               try every control and limit
python -m sandbox bench [backend=auto] [runs=20] [--json]
                                               executions per second, cold, warm, plain fork
"""
console = Console(stderr=True)
_SHOWN = 1 << 20  # characters of a result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code (2 for a user's mistake or a failing sandbox)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in {"-h", "--help", "help"}:
        print(USAGE, end="")
        return 0 if words else 2
    try:
        return _command(words[0])(words[1:])
    except SandboxError as error:
        console.print(f"sandbox: {printable(error)}", style="red", markup=False, highlight=False)
        return 2
    except KeyboardInterrupt:
        return 130


def _command(name: str) -> Callable[[Sequence[str]], int]:
    if name not in COMMANDS:
        raise SandboxError(f"no command {name!r}; there are: {', '.join(COMMANDS)}")
    return COMMANDS[name]


def settings(words: Sequence[str], *extra: str) -> tuple[SandboxConfig, dict[str, str]]:
    """``key=value`` words as a configuration; keys named in ``extra`` are returned apart."""
    kinds: dict[str, Callable[[str], object]] = {
        "backend": str, "env": str, "workers": int, "timeout": float,
        "memory_mb": int, "max_processes": int, "disk_mb": int,
    }  # fmt: skip
    chosen: dict[str, object] = {}
    rest: dict[str, str] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if key in extra and equals:
            rest[key] = text
        elif key in kinds and equals:
            try:
                chosen[key] = kinds[key](text)
            except ValueError:
                raise SandboxError(f"{word}: {key} is a number") from None
        else:
            raise SandboxError(f"{word!r} is not one of {', '.join([*kinds, *extra])} (key=value)")
    return SandboxConfig.model_validate(chosen), rest


def _install(words: Sequence[str]) -> int:
    settings(words)
    with console.status("looking for Docker, podman, bubblewrap"):
        message = install()
    console.print(message)
    return 0


def _list(words: Sequence[str]) -> int:
    settings(words)
    for name in environments.names():
        built = (environments.folder(name) / environments.STAMP).is_file()
        state = f"in {environments.folder(name)}" if built else "not built"
        print(f"{name}: {state}")
    for file in sorted(environments.cache_folder().glob(f"overlays/*/{DESCRIPTION}")):
        print(printable(f"{file.parent}: on {environments.base_of(str(file.parent))}"))
    return 0


def _build(words: Sequence[str]) -> int:
    config, rest = settings(words, "base")
    started = time.monotonic()
    with _progress(None) as show:

        def say(line: str) -> None:
            show(f"environment {config.env}: {line}")

        say("is it there?")
        if bubblewrap.problem() is None:
            bubblewrap.Bubblewrap(config).prepare(say=say)
        else:
            environments.build(config.env, say=say)
        where = environments.folder(config.env)
        console.print(f"{where} ({time.monotonic() - started:.1f} s)", highlight=False)
        for engine in _engines(config.backend):
            started = time.monotonic()
            try:
                image = images.build(engine, config.env, base=rest.get("base"), say=say)
            except SandboxError as error:
                if config.backend != "auto" or bubblewrap.problem() is not None:
                    raise
                console.print(f"{error}\nbubblewrap isolates instead.", markup=False)
                continue
            console.print(
                f"{engine.name} image {image} ({time.monotonic() - started:.1f} s)", highlight=False
            )
    return 0


def _engines(backend: str) -> list[images.Engine]:
    """The engine that needs an image: the one asked for, or the best one that answers."""
    if backend == "auto":
        return [engine for engine in map(images.find, ENGINES) if engine is not None][:1]
    return [images.require(backend)] if backend in ENGINES else []


def _run(words: Sequence[str]) -> int:
    if not words or "=" in words[0]:
        raise SandboxError("which file? python -m sandbox run FILE")
    path = Path(words[0])
    if not path.is_file():
        raise SandboxError(f"no file {path}")
    config, rest = settings(words[1:], "entry")
    code = path.read_text(encoding="utf-8")
    return asyncio.run(_execute(code, rest.get("entry", ""), config))


async def _execute(code: str, entry: str, config: SandboxConfig) -> int:
    sandbox = get_sandbox(config.model_copy(update={"workers": 1}))
    with console.status("starting the sandbox"):
        await sandbox.__aenter__()
    async with sandbox:
        done = await sandbox.run(code, entry, timeout=config.timeout)
    sys.stdout.write(printable(done.stdout))
    sys.stderr.write(printable(done.stderr))
    if entry and done.outcome is Outcome.OK:
        print(printable(represent(done.result, _SHOWN)))
    if done.error:
        console.print(printable(done.error), style="red", markup=False, highlight=False)
    console.print(f"{done.outcome} in {done.seconds:.2f} s ({done.tier})", highlight=False)
    return 0 if done.outcome is Outcome.OK else 1


def _selftest(words: Sequence[str]) -> int:
    words, as_json = _json_flag(words)
    config, _ = settings(words)
    with _progress(selftest_steps()) as show:
        report = asyncio.run(selftest(config, progress=show))
    if as_json:
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


def _bench(words: Sequence[str]) -> int:
    words, as_json = _json_flag(words)
    config, rest = settings(words, "runs")
    if not rest.get("runs", "20").isdigit() or int(rest.get("runs", "20")) < 1:
        raise SandboxError(f"runs={rest['runs']}: runs is a number of 1 or more")
    with _progress(bench_steps(config)) as show:
        rows = asyncio.run(bench(config, runs=int(rest.get("runs", "20")), progress=show))
    if as_json:
        print(json.dumps(rows, indent=1))
        return 0
    table = Table(title="executions per second")
    for column in rows[0]:
        table.add_column(
            column.replace("_per_s", ""), justify="left" if column == "backend" else "right"
        )
    for row in rows:
        table.add_row(
            *(f"{cell:.2f}" if isinstance(cell, float) else cell for cell in row.values())
        )
    Console().print(table)
    return 0


def _json_flag(words: Sequence[str]) -> tuple[list[str], bool]:
    return [word for word in words if word != "--json"], "--json" in words


@contextmanager
def _progress(steps: int | None) -> Iterator[Callable[[str], None]]:
    """A line on stderr: what is being done, how far it is, how long it takes and still will."""
    columns: list[ProgressColumn] = [
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    ]
    if steps is not None:
        columns += [BarColumn(), TextColumn("about"), TimeRemainingColumn(), TextColumn("left")]
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=steps)
        said = itertools.count()
        yield lambda text: progress.update(task, description=escape(text), completed=next(said))


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "install": _install,
    "list": _list,
    "build": _build,
    "run": _run,
    "selftest": _selftest,
    "bench": _bench,
}

if __name__ == "__main__":
    sys.exit(main())
