"""The final run of an answer, and what it says of the libraries that the code used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from agents.assistant.answers import Source
from sandbox.base import Execution, Mount, Outcome, Sandbox

#: Third-party packages whose functions are arithmetic, not knowledge of materials.
ARITHMETIC = frozenset({"numpy"})
_LIMITS = frozenset({Outcome.TIMEOUT, Outcome.MEMORY, Outcome.OUTPUT_FLOOD, Outcome.KILLED})


class Trace(BaseModel):
    """What a run used; made inside the sandbox, so as untrusted as its result.

    Symbols stand in the order of their first use; ``read`` are inputs that were opened; ``noted``
    is whether the run could be followed at all.
    """

    model_config = ConfigDict(strict=True, frozen=True)

    symbols: list[Source] = []
    read: list[str] = []
    noted: bool = True

    @property
    def sources(self) -> tuple[Source, ...]:
        """What belongs to an installed package that knows more than arithmetic, in its order."""
        return tuple(s for s in self.symbols if s.version and s.distribution not in ARITHMETIC)

    @property
    def library(self) -> tuple[str, ...]:
        """The names of `sources`."""
        return tuple(source.name for source in self.sources)


async def run_final(
    sandbox: Sandbox, code: str, entry: str, *, timeout: float, mounts: Sequence[Mount]
) -> tuple[Execution, Trace]:
    """Run an answer for good, its files collected.

    Noting what it uses must not change what it does: where such a run does not end well, the code
    runs once more as it is, and nothing is noted.
    """
    inputs = [mount.target for mount in mounts]
    done = await sandbox.call(
        "agents.assistant.tracer", "run_traced", [code, entry, inputs],
        timeout=timeout, mounts=mounts, collect=True,
    )  # fmt: skip
    found: Any = done.result if done.outcome is Outcome.OK else None
    if isinstance(found, dict) and "value" in found:
        try:
            trace = Trace.model_validate({n: part for n, part in found.items() if n != "value"})
            return replace(done, result=found["value"], payload=None), trace
        except ValidationError:
            pass  # the code replaced it
    if done.outcome not in _LIMITS:
        done = await sandbox.run(code, entry, timeout=timeout, mounts=mounts, collect=True)
    return done, Trace(noted=False)
