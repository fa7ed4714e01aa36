"""Several runs as one list of work, for grids and studies: one that fails leaves the rest alone."""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console

from experiments.cluster import open_crew
from experiments.config import RunConfig
from experiments.job import execute_all
from retrieval.base import RetrievalError
from sandbox.base import SandboxError
from sandbox.command import UsageError
from sandbox.terminal import printable


async def execute_cells(
    cells: Mapping[str, RunConfig],
    console: Console,
    *,
    after: Callable[[Path], None] = lambda _: None,
) -> dict[str, str]:
    """Execute whatever is not finished.

    Parameters
    ----------
    cells
        Runs by name, each with a folder of its own (``out``).
    after
        Told the folder of each run that ended.

    Returns
    -------
    dict
        Why runs did not start or end, by name.
    """
    failed: dict[str, str] = {}
    names = {config.out: name for name, config in cells.items()}
    done = itertools.count(1)

    def ended(config: RunConfig, result: Path | Exception) -> None:
        name, said = names[config.out], "done"
        error = result if isinstance(result, Exception) else None
        if isinstance(result, Path):
            try:
                after(result)
            except Exception as fault:  # noqa: BLE001 -- shown; the others have a right to run
                error = fault
        if error is not None:
            said = str(error)
            if not isinstance(error, UsageError | SandboxError | RetrievalError):
                said = f"{type(error).__name__}: {error}"
                text = "".join(traceback.format_exception(error))
                console.print(printable(text), markup=False, highlight=False)
            failed[name] = said
        line = f"cell {next(done)} of {len(cells)}, {name}: {printable(said)}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    configs = list(cells.values())
    async with open_crew(configs, console) as crew:
        await execute_all(configs, console, crew, ended=ended)
    return failed
