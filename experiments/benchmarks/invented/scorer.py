"""Partial credit along a chain, and whether an answer read documentation while it ran.

An answer that is not all right runs once more in the sandbox with the package's functions
watched. What they returned is compared with what the calls of the reference return.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.base import Trajectory
from experiments.benchmarks.invented.graph import calls_of, compute, depth_of, differs
from experiments.benchmarks.invented.lexicon import UNITS
from experiments.benchmarks.invented.world import InventedQuestion, World
from experiments.samples import Sample
from experiments.scorers.base import FIRST_WRONG, Metric, Score, Tools
from experiments.scorers.properties import PropertyScorer

#: Beside a question's gold.
LINKS = "links.json"
#: Value and artefact of an answer that reads documentation while it runs: whether, and by what.
READS = "reads documentation"
_MEANS = frozenset({
    "ast", "inspect", "linecache", "pkgutil", "pydoc", "tokenize", "__doc__", "__file__",
    "__loader__", "__spec__", "co_filename", "getdoc", "getsource", "get_data", "help",
    "read_text", "walk_packages",
})  # fmt: skip
_TOLERANCE = 1e-3
_FACTORS = {a.size / b.size for units in UNITS.values() for a in units for b in units}
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


def documentation_reads(code: str) -> list[str]:
    """Modules and names by which code reads the sources or docstrings of what it imports.

    A list of means, not a proof: what is not in it counts as none. Code that is no Python has none.
    """
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = set()
    for node in nodes:
        match node:
            case ast.alias(name=str(name)) | ast.ImportFrom(module=str(name)):
                found.add(name.partition(".")[0])
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Constant(value=str(name)):
                found.add(name)  # a text: getattr(x, "__doc__")
    return sorted(found & _MEANS)


def links_of(world: World, question: InventedQuestion) -> list[dict[str, Any]]:
    """The calls that each property needs, those that others need first: what each gives.

    The last one of a property has what is asked for under ``gold``.
    """
    links: list[dict[str, Any]] = []
    for one in question.asked:
        for call in calls_of(one.plan.call):
            if call.entry.kind != "constant" and call.entry.result != "structure":
                value = compute(call, question.crystal, world.symbols)
                link = {"property": one.name, "symbol": call.entry.path, "value": value}
                link["depth"] = depth_of(call)
                links += [link] if link not in links else []
        links[-1] = {**links[-1], "gold": one.gold}
    return sorted(links, key=lambda link: int(link["depth"]))


def first_wrong(
    links: Sequence[Mapping[str, Any]], returned: Mapping[str, Sequence[Any]]
) -> Mapping[str, Any] | None:
    """The first call that did not give what it should; ``None`` when all did."""
    for link in links:
        values = returned.get(link["symbol"], [])
        if all(differs(link["value"], value, _TOLERANCE) for value in values):
            return link
    return None


def what_failed(
    links: Sequence[Mapping[str, Any]], returned: Mapping[str, Sequence[Any]], value: Any
) -> str:
    """Where the way to a property of this value left that of the reference (its ``links``)."""
    if link := first_wrong(links, returned):
        symbol = link["symbol"]
        if symbol in returned:
            return f"argument of {symbol}"
        others = {name for name in returned if name.rpartition(".")[2][:1] != "_"}
        known = {str(one["symbol"]) for one in links}
        return f"{'wrong symbol' if others - known else 'missing call'} ({symbol})"
    gold = links[-1]["gold"]
    if not isinstance(value, int | float) or not isinstance(gold, int | float):
        return "logic"
    other = any(not differs(abs(gold) * factor, abs(value), _TOLERANCE) for factor in _FACTORS)
    return "unit or sign" if other else "logic"


@dataclass(frozen=True)
class ChainScorer(PropertyScorer):
    """Properties, which link of each one's chain is first wrong, and reading while running."""

    metrics: Sequence[Metric] = (
        *PropertyScorer.metrics,
        Metric(READS, READS, "answers whose code reads docstrings or sources as it runs"),
    )

    async def score(self, sample: Sample, trajectory: Trajectory, tools: Tools) -> Score:
        """As :meth:`PropertyScorer.score`; the links are `Sample.target`."""
        score = await super().score(sample, trajectory, tools)
        reads = documentation_reads(trajectory.code or "")
        found = {READS: ", ".join(reads)} if reads else {}
        values = {**score.values, READS: float(bool(reads))}
        score = replace(score, values=values, artefacts=found)
        right = score.passed is None or all(score.passed.values())
        if right or trajectory.code is None or not trajectory.entry:
            return score
        links: list[Mapping[str, Any]] = list(sample.target)
        package = str(links[0]["symbol"]).partition(".")[0]
        watch = _WATCH.format(package=package, entry=trajectory.entry)
        run = await tools.run(sample, f"{trajectory.code}{watch}", "_watched_calls")
        called = run.result if isinstance(run.result, Mapping) else {}
        returned = {name: values for name, values in called.items() if isinstance(values, list)}
        wrong = first_wrong(links, returned)
        deepest = max(int(link["depth"]) for link in links)
        found |= {FIRST_WRONG: f"{wrong['depth']} of {deepest}" if wrong else "none"}
        result = score.execution.result if score.execution else None
        given = result if isinstance(result, Mapping) else {}
        reasons = {}
        for name, reason in score.reasons.items():
            own = [link for link in links if link["property"] == name]
            reasons[name] = f"{what_failed(own, returned, given.get(name))}: {reason}"
        return replace(score, artefacts=found, reasons=reasons)
