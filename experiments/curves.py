"""Runs a grid of configurations and draws how the score falls: ``python -m experiments.curves``.

Each cell of the grid is an ordinary run folder, so a sweep resumes where it stopped, and every
cell can be looked at with `experiments.report` and `experiments.show`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.composition import expand, groups, parse
from experiments.config import RunConfig, compose, validate
from retrieval.base import RetrievalError
from sandbox.command import HELP, INTERRUPTED, guarded

USAGE = """\
usage: python -m experiments.curves [out=DIR] GROUP=CHOICE,... KEY=VALUE,... ...

Runs every combination of the values, one run folder each below DIR (runs/curves-BENCHMARK), and
writes curves.html and curves.csv there: the first metric over each number of the grid, and over
tokens, with 95 % intervals. Groups and keys are those of python -m experiments.run; any other KEY
is a key of the benchmark, and values of `seed` are pooled. A cell that fails does not stop the
others. The same command resumes; started twice at once, each takes cells that the other leaves.

  python -m experiments.curves benchmark=invented depth=1,2,4,8 size=60,300,1500 \\
      system=rag,agentic,reflect
"""


@dataclass(frozen=True)
class Cell:
    """One combination.

    Attributes
    ----------
    values
        What was chosen, by key; of the benchmark's keys without ``benchmark.``.
    config
        The run. Cells that come to the same run share it, folder included.
    """

    values: dict[str, str]
    config: RunConfig

    @property
    def folder(self) -> Path:
        """The run folder."""
        assert self.config.out is not None
        return self.config.out

    @property
    def name(self) -> str:
        """For people."""
        return ", ".join(f"{key} {value}" for key, value in self.values.items())


def cells(words: Sequence[str]) -> tuple[Path, list[Cell]]:
    """The folder of the sweep and the cells that a command line asks for.

    Raises
    ------
    UsageError
        For a key or value that does not exist, in any of the cells.
    """
    given = [word for word in words if not word.startswith("out=")]
    overrides = parse([_full(word) for word in given])
    varied = {_short(str(item.key_or_group)) for item in overrides if item.is_sweep_override()}
    runs = [
        (
            {_short(key): value for key, _, value in (line.partition("=") for line in lines)},
            validate(compose(lines)),
        )
        for lines in expand(overrides, multirun=True)
    ]
    out = next((Path(word[4:]) for word in reversed(words) if word.startswith("out=")), None)
    if out is None:
        benchmarks = sorted({config.benchmark.name for _, config in runs})
        out = Path("runs") / "-".join(["curves", *benchmarks])
    known: dict[str, RunConfig] = {}
    found = []
    for values, config in runs:
        digest = config.hash("")[:8]
        kept = {key: value for key, value in values.items() if key in varied}
        named = [f"{key.rpartition('.')[2]}-{value}" for key, value in kept.items()]
        safe = "_".join([*named, digest]).replace("/", "-").replace("\\", "-")
        own = config.model_copy(update={"out": out / safe})
        found.append(Cell(kept, known.setdefault(digest, own)))
    return out, found


def _full(word: str) -> str:
    """A word of the command line with ``benchmark.`` where that goes without saying."""
    key, equals, value = word.partition("=")
    known = {*groups(), *RunConfig.model_fields}
    plain = equals and key.isidentifier() and key not in known
    return f"benchmark.{key}={value}" if plain else word


def _short(key: str) -> str:
    return key.lstrip("+").removeprefix("benchmark.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns 0 (all verdicts), 1 (some are missing), 2 (a mistake), 130."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or HELP & set(words):
        sys.stdout.write(USAGE)
        return 0 if words else 2
    return guarded(lambda: _run(*cells(words)), (RetrievalError,))


def _report(folder: Path) -> None:
    from experiments.report import write_report  # noqa: PLC0415 -- slow to import

    write_report([folder], folder / "report.html")


def _run(out: Path, grid: Sequence[Cell]) -> int:
    # They take seconds to import: not for --help or a wrong argument.
    from rich.console import Console  # noqa: PLC0415

    from experiments.cells import execute_cells  # noqa: PLC0415
    from experiments.report.curves import write_curves  # noqa: PLC0415
    from experiments.setup import check_prices  # noqa: PLC0415

    console = Console()
    if not console.is_terminal:
        console = Console(width=100)  # a log file has room for the tables
    for cell in grid:
        check_prices(cell.config)
    runs = {cell.folder: cell for cell in grid}
    named = {cell.name: cell.config for cell in runs.values()}
    failed: dict[str, str] = {}
    interrupted = False
    try:
        failed = asyncio.run(execute_cells(named, console, after=_report))
    except KeyboardInterrupt:
        interrupted = True
        sys.stderr.write("Interrupted. Everything finished is kept; the same command resumes.\n")
    why = {folder: failed[cell.name] for folder, cell in runs.items() if cell.name in failed}
    complete = write_curves(out, [(c.values, c.folder) for c in grid], why)
    for name in ("curves.html", "curves.csv"):
        console.print(f"written: {out / name}", highlight=False, soft_wrap=True)
    return INTERRUPTED if interrupted else 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
