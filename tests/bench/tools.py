"""How long the tools take: ``python -m tests.bench.tools`` calls them through the MCP server.

A client starts the server over stdio, as an editor does, and calls every tool that starts no
sandbox. The first call of each is left out: it reads documents and indexes.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Mapping
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import TextContent
from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from sandbox.command import Command

#: A call that any corpus of pymatgen answers, by tool.
CALLS: Mapping[str, Mapping[str, Any]] = {
    "search": {"queries": ["powder diffraction pattern"]},
    "lookup": {"names": ["pymatgen.core.Structure"]},
    "resolve": {"terms": ["ewald summation"]},
    "tree": {"name": "pymatgen.core.ewald.EwaldSummation"},
    "source": {"name": "pymatgen.core.ewald.EwaldSummation"},
    "contents": {"package": "pymatgen.core"},
}


async def measure(times: int) -> Mapping[str, list[float]]:
    """Milliseconds of each tool's warm calls."""
    command = ["-m", "agents.assistant", "mcp", "model=rules"]
    server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    taken: dict[str, list[float]] = {name: [] for name in CALLS}
    async with Client(server) as client:
        for name, arguments in CALLS.items():
            for number in range(times + 1):
                started = time.perf_counter()
                result = await client.call_tool(name, dict(arguments))
                if result.is_error:
                    texts = [c.text for c in result.content if isinstance(c, TextContent)]
                    raise RuntimeError(f"{name}: {' '.join(texts)}")
                if number:
                    taken[name].append(1000 * (time.perf_counter() - started))
    return taken


class Options(BaseModel):
    """Arguments of ``python -m tests.bench.tools``."""

    model_config = ConfigDict(extra="forbid")

    times: PositiveInt = Field(20, description="warm calls of each tool")


async def _action(options: Options) -> int:
    for name, taken in (await measure(options.times)).items():
        sys.stdout.write(
            f"{name:10} median {statistics.median(taken):6.1f} ms, slowest {max(taken):6.1f} ms\n"
        )
    return 0


main = Command("python -m tests.bench.tools", str(__doc__), Options, _action)


if __name__ == "__main__":
    sys.exit(main())
