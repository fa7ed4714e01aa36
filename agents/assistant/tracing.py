"""The final run of an answer, and what it says of the libraries that the code used."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agents.assistant import tracer
from agents.introspect import assembled
from indexes.introspection import places
from sandbox.base import Execution, Mount, Outcome, Sandbox

_PROGRAM = """\
{program}

def _traced():
    return run_traced({code!r}, {entry!r}, {inputs!r})
"""
#: Third-party packages whose functions are arithmetic, not knowledge of materials.
ARITHMETIC = frozenset({"numpy"})
_LIMITS = frozenset({Outcome.TIMEOUT, Outcome.MEMORY, Outcome.OUTPUT_FLOOD, Outcome.KILLED})
_LABEL = 300  # characters of a dotted name


@dataclass(frozen=True)
class Symbol:
    """Where a name of a library lives: distribution, version, file below the packages, line."""

    distribution: str
    version: str
    path: str
    line: int


@dataclass(frozen=True)
class Trace:
    """What a run used; made inside the sandbox, so as untrusted as its result.

    Attributes
    ----------
    places
        Place in the code (:func:`agents.assistant.tracer.place`) to the dotted names of what was
        called or read there. A place that is missing was not reached.
    read
        Inputs that were opened.
    """

    places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    symbols: Mapping[str, Symbol] = field(default_factory=dict)
    read: Collection[str] = ()


async def run_final(
    sandbox: Sandbox, code: str, entry: str, *, timeout: float, mounts: Sequence[Mount]
) -> tuple[Execution, Trace | None]:
    """Run an answer for good, its files collected.

    Noting what it uses must not change what it does: where such a run does not end well, the code
    runs once more as it is, and there is no trace.

    Raises
    ------
    SandboxError
        When the sandbox failed.
    """
    inputs = [mount.target for mount in mounts]
    text = assembled(places, tracer)
    program = _PROGRAM.format(program=text, code=code, entry=entry, inputs=inputs)
    done = await sandbox.run(program, "_traced", timeout=timeout, mounts=mounts, collect=True)
    trace = _read(done)
    if trace is not None:
        return replace(done, result=done.result["value"], payload=None), trace
    if done.outcome in _LIMITS:
        return done, None
    return await sandbox.run(code, entry, timeout=timeout, mounts=mounts, collect=True), None


def _read(done: Execution) -> Trace | None:
    """The trace of a run; ``None`` where the code replaced it, or it did not end well."""
    if done.outcome is not Outcome.OK:
        return None
    match done.result:
        case {"value": _, "places": dict(found), "symbols": dict(symbols), "read": list(read)}:
            pass
        case _:
            return None
    known = {
        str(name)[:_LABEL]: symbol for name, each in symbols.items() if (symbol := _symbol(each))
    }
    return Trace(
        {str(p): [str(n)[:_LABEL] for n in names] for p, names in found.items()
         if isinstance(names, list)},
        known,
        {str(name) for name in read},
    )  # fmt: skip


def _symbol(each: Any) -> Symbol | None:
    match each:
        case {"distribution": str(name), "version": str(version), "path": str(path),
              "line": int(line)}:  # fmt: skip
            return Symbol(name, version, path, line)
        case _:
            return None


def is_library(label: str, trace: Trace) -> bool:
    """Whether a dotted name is of an installed package that knows more than arithmetic."""
    symbol = trace.symbols.get(label)
    return symbol is not None and bool(symbol.version) and symbol.distribution not in ARITHMETIC
