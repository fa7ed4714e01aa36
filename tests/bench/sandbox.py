"""``python -m tests.bench.sandbox``: executions per second, cold and warm, against a plain fork.

The work is one small defect calculation. *Cold* starts a new worker for every execution (a
new container on an engine), as harnesses without a warm pool do. *Fork* is the floor: the same
fork server without any isolation (``unsafe``). Warm and fork are measured in turns,
so that other load on the machine falls on both.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from contextlib import AsyncExitStack
from typing import Any

from pydantic import Field, PositiveInt

from foundation.command import Command
from sandbox.base import Outcome, SandboxConfig, SandboxError
from sandbox.factory import available, get_sandbox
from sandbox.pool import PooledSandbox

WORK = """
from pymatgen.analysis.defects.core import Vacancy
from pymatgen.core import Lattice, Structure

def work():
    lattice = Lattice([[0, 2.1, 2.1], [2.1, 0, 2.1], [2.1, 2.1, 0]])
    rocksalt = Structure(lattice, ["Mg", "O"], [[0, 0, 0], [0.5, 0.5, 0.5]])
    vacancy = Vacancy(rocksalt, rocksalt[0], multiplicity=1)
    supercell = vacancy.get_supercell_structure(sc_mat=[[2, 0, 0], [0, 2, 0], [0, 0, 2]])
    return {"name": vacancy.name, "formula": supercell.composition.reduced_formula}
"""
ROUNDS = 15  # short and many: other load on the machine falls on every variant
COLD_RUNS = 3


async def bench(config: SandboxConfig, *, runs: int = 20) -> list[dict[str, Any]]:
    """Measure the backend of ``config``, or every one that works here when it is ``auto``.

    Rows are ``{backend, cold_per_s, warm_per_s_1, warm_per_s_2, fork_per_s_1, fork_per_s_2}``, in
    executions per second (median of the rounds), with 1 and with 2 workers.
    """
    names = available() if config.backend == "auto" else [config.backend]
    if not names:
        raise SandboxError(
            "no isolating backend works here; run `matsmith sandbox install`"
        )
    return [
        await _backend(config.model_copy(update={"backend": name}), runs)
        for name in names
    ]


async def _backend(config: SandboxConfig, runs: int) -> dict[str, Any]:
    row: dict[str, Any] = {"backend": config.backend}
    strict = config.model_copy(
        update={"workers": 1, "options": {**config.options, "strict": True}}
    )
    async with get_sandbox(strict) as sandbox:
        await _measure(sandbox, 1)  # uses up the worker that proved its controls
        rates = [await _measure(sandbox, 1) for _ in range(COLD_RUNS)]
    row["cold_per_s"] = statistics.median(rates)
    async with AsyncExitStack() as stack:
        variants: dict[str, PooledSandbox] = {}
        for workers in (1, 2):
            for kind, backend in (("warm", config.backend), ("fork", "unsafe")):
                chosen = config.model_copy(
                    update={"backend": backend, "workers": workers}
                )
                sandbox = await stack.enter_async_context(get_sandbox(chosen))
                variants[f"{kind}_per_s_{workers}"] = sandbox
        for sandbox in variants.values():
            await _measure(sandbox, 6)
        rounds: dict[str, list[float]] = {key: [] for key in variants}
        for _ in range(ROUNDS):
            for key, sandbox in variants.items():
                rounds[key].append(await _measure(sandbox, runs))
    return row | {key: statistics.median(rates) for key, rates in rounds.items()}


async def _measure(sandbox: PooledSandbox, runs: int) -> float:
    """Executions per second of ``runs`` requests made at once."""
    started = time.perf_counter()
    done = await asyncio.gather(
        *(sandbox.run(WORK, "work", timeout=60) for _ in range(runs))
    )
    seconds = time.perf_counter() - started
    wrong = [
        item
        for item in done
        if item.outcome is not Outcome.OK or item.result["name"] != "v_Mg"
    ]
    if wrong:
        raise SandboxError(
            f"a benchmark run ended as {wrong[0].outcome}: {wrong[0].error}"
        )
    return runs / seconds


class Options(SandboxConfig):
    """Arguments of ``python -m tests.bench.sandbox``."""

    runs: PositiveInt = Field(20, description="executions of each kind")


async def _action(config: Options) -> int:
    for row in await bench(config, runs=config.runs):
        print(json.dumps(row))
    return 0


main = Command("python -m tests.bench.sandbox", str(__doc__), Options, _action)


if __name__ == "__main__":
    sys.exit(main())
