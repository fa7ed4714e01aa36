"""Partial credit along a chain: which of the calls that a question needs is first wrong.

An answer that is not all right runs once more in the sandbox with the package's functions
watched. What they returned is compared with what the calls of the reference return.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.base import Trajectory
from experiments.benchmarks.invented.graph import compute
from experiments.benchmarks.invented.mistakes import differs
from experiments.benchmarks.invented.plans import Call, Given, depth_of
from experiments.benchmarks.invented.questions import InventedQuestion
from experiments.benchmarks.invented.world import World
from experiments.samples import Sample
from experiments.scorers.base import FIRST_WRONG, Score, Tools
from experiments.scorers.properties import PropertyScorer

#: Beside a question's gold.
LINKS = "links.json"
_TOLERANCE = 1e-3
_WATCH = """

def _watched_calls():
    import sys

    found = {{}}

    def note(frame, event, value):
        module = frame.f_globals.get("__name__") or ""
        if event == "return" and module.partition(".")[0] == {package!r}:
            values = found.setdefault(module + "." + frame.f_code.co_qualname, [])
            if isinstance(value, (int, float, str, list, dict)) and len(values) < 100:
                values.append(value)

    sys.setprofile(note)
    try:
        {entry}()
    except Exception:
        pass  # what was called before it counts
    finally:
        sys.setprofile(None)
    return found
"""


def links_of(world: World, question: InventedQuestion) -> list[dict[str, Any]]:
    """The calls that a question needs, those that others need first: what each gives, how deep."""
    found: dict[str, dict[str, Any]] = {}
    for one in question.asked:
        for call in _calls(one.plan):
            value = compute(call, question.crystal, world.symbols)
            if call.entry.kind != "constant" and call.entry.result != "structure":
                link = {
                    "symbol": call.entry.path,
                    "value": value,
                    "depth": depth_of(Given("", call)),
                }
                found.setdefault(f"{call.entry.path} {value!r}", link)
    return sorted(found.values(), key=lambda link: int(link["depth"]))


def _calls(given: Given) -> Iterator[Call]:
    for one in given.call.inputs:
        yield from _calls(one)
    yield given.call


def first_wrong(links: Sequence[Mapping[str, Any]], returned: Mapping[str, Any]) -> str:
    """How deep the first call is that did not give what it should, as ``2 of 4``; else ``none``."""
    deepest = max(int(link["depth"]) for link in links)
    for link in links:
        values = returned.get(link["symbol"], [])
        if all(differs(link["value"], value, _TOLERANCE) for value in values):
            return f"{link['depth']} of {deepest}"
    return "none"


@dataclass(frozen=True)
class ChainScorer(PropertyScorer):
    """Properties, and which link of the chain is first wrong."""

    async def score(self, sample: Sample, trajectory: Trajectory, tools: Tools) -> Score:
        """As :meth:`PropertyScorer.score`; the links are `Sample.target`.

        Raises
        ------
        SandboxError
            When a sandbox failed: the answer stays without a verdict.
        """
        score = await super().score(sample, trajectory, tools)
        right = score.passed is None or all(score.passed.values())
        if right or trajectory.code is None or not trajectory.entry:
            return score
        package = str(sample.target[0]["symbol"]).partition(".")[0]
        watch = _WATCH.format(package=package, entry=trajectory.entry)
        run = await tools.run(sample, f"{trajectory.code}{watch}", "_watched_calls")
        returned = run.result if isinstance(run.result, Mapping) else {}
        lists = {name: values for name, values in returned.items() if isinstance(values, list)}
        return replace(score, artefacts={FIRST_WRONG: first_wrong(sample.target, lists)})
