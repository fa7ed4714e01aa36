"""Which parts can come from outside, and what installed distributions offer of each.

A part is named by a user on the command line as ``module:Class``, or by the name of an entry point.
Nothing here imports a plug-in except `Plugin.fault`, which `matsmith plugins` calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points

from foundation.errors import UsageError

#: Groups of the configuration, and the group of entry points that adds choices to each.
GROUPS = {
    "benchmark": "matsmith.benchmarks",
    "embedding": "matsmith.embeddings",
    "judge": "matsmith.judges",
    "launcher": "matsmith.launchers",
    "model": "matsmith.models",
    "prompts": "matsmith.prompts",
    "ranking": "matsmith.rankings",
    "reranker": "matsmith.rerankers",
    "retrieval": "matsmith.sources",
    "sandbox": "matsmith.sandboxes",
    "system": "matsmith.systems",
}


@dataclass(frozen=True)
class Plugin:
    """An entry point: a choice that a distribution adds to a group.

    ``target`` is ``module:Class``, ``distribution`` its name and version.
    """

    group: str
    name: str
    target: str
    distribution: str

    def fault(self) -> str | None:
        """Why it cannot be imported, as one line; ``None`` where it can."""
        from foundation.targets import load  # noqa: PLC0415 -- pydantic, for this alone

        try:
            load(self.target, key=f"{self.group}={self.name}")
        except UsageError as error:
            return str(error)
        return None


def installed(group: str) -> Iterator[Plugin]:
    """What installed distributions add to a group, in the order of the names."""
    if group not in GROUPS:
        return
    for point in sorted(
        entry_points(group=GROUPS[group]), key=lambda point: point.name
    ):
        origin = point.dist
        distribution = f"{origin.name} {origin.version}" if origin else ""
        yield Plugin(group, point.name, point.value, distribution)
