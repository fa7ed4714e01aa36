"""Problems from a seed: nine templates of one or more kinds of problems (``generate.yaml``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from agents.base import Image
from experiments.benchmarks.qmbench import crystals, drawn, models, symmetry
from experiments.benchmarks.qmbench.problem import Integer, Problem
from experiments.samples import data_of

#: Problems of the paper by kind of answer.
PAPER: Mapping[str, int] = {"choice": 50, "text": 31, "number": 18, "poscar": 4}
DRAWS = 60  # by which a guess is estimated
#: Template to its kinds of problems, by name.
TEMPLATES: dict[str, dict[str, dict[str, Any]]] = data_of(__file__)
KINDS = {name: entry for kinds in TEMPLATES.values() for name, entry in kinds.items()}
#: Where a kind does not draw its `variables` alone.
_DRAW: Mapping[str, Callable[[crystals.Rng], crystals.Drawn]] = {
    "operations": symmetry.point_operations, "tensor": symmetry.tensor_components,
    "inversion": symmetry.inversion_sites, "second_harmonic": symmetry.second_harmonic,
    "k_points": symmetry.k_points,
    "chern_number": models.chern_number, "winding_number": models.winding_number,
    "gap_of_chain": models.gap_of_chain, "gap_of_honeycomb": models.gap_of_honeycomb,
    "crossing_bands": drawn.crossing_bands, "kind_of_gap": drawn.kind_of_gap,
    "conventional_cell": crystals.conventional_cell, "strained_cell": crystals.strained_cell,
    "vacancy": crystals.vacancy, "slab": crystals.slab,
}  # fmt: skip


@dataclass(frozen=True)
class Item:
    """A generated problem with its pictures by name."""

    template: str
    problem: Problem
    images: Mapping[str, Image]


def generate(
    seed: int, items: int, templates: Sequence[str] = (), mix: Mapping[str, float] = PAPER
) -> list[Item]:
    """Make problems; two seeds share none.

    There are ``items`` for each template on average; its kinds take turns, beginning with one that
    the seed chooses. ``mix`` is how many of each kind of answer, as shares of any sum, templates
    taking turns; empty: ``items`` of each template.
    """
    chosen = [name for name in TEMPLATES if not templates or name in templates]
    numbers = {name: number for number, name in enumerate(TEMPLATES)}
    turns: list[tuple[str, int]] = [(name, index) for name in chosen for index in range(items)]
    if mix:
        turns = []
        kinds_of = {name: str(next(iter(TEMPLATES[name].values()))["type"]) for name in chosen}
        known = {answer: mix.get(answer, 0) for answer in PAPER if answer in kinds_of.values()}
        for answer, count in shares(items * len(chosen), known).items():
            alike = [name for name in chosen if kinds_of[name] == answer]
            turns += [(alike[n % len(alike)], n // len(alike)) for n in range(count)]
    made = []
    for template, index in sorted(turns, key=lambda turn: (numbers[turn[0]], turn[1])):
        kinds, number = list(TEMPLATES[template]), numbers[template]
        first = int(np.random.default_rng([seed, number]).integers(len(kinds)))
        kind = kinds[(first + index) % len(kinds)]
        problem, images = make(kind, np.random.default_rng([seed, number, index]))
        own = {
            "id": f"{kind}-{index}", "source": f"generated, seed {seed}",
            "frequent": _frequent(kind) if isinstance(problem.answer, Integer) else 0.0,
        }  # fmt: skip
        made.append(Item(template, problem.model_copy(update=own), images))
    return made


def make(kind: str, rng: crystals.Rng) -> tuple[Problem, Mapping[str, Image]]:
    """A problem of a kind, and its pictures by name."""
    entry = dict(KINDS[kind])
    variables = entry.pop("variables", {})
    values, gold = _DRAW[kind](rng) if kind in _DRAW else (_variables(rng, variables), {})
    entry |= {"id": kind, "prompt": entry["prompt"].format(**values), **gold}
    images = {name: drawn.picture(values["bands"]) for name in entry.get("images", ())}
    return Problem.model_validate(entry), images


def _variables(rng: crystals.Rng, ranges: Mapping[str, list[Any]]) -> dict[str, Any]:
    return {
        name: str(rng.choice(some)) if isinstance(some[0], str) else f"{rng.uniform(*some):.2f}"
        for name, some in ranges.items()
    }


@cache
def _frequent(kind: str) -> float:
    """Share of the most frequent answer among problems like it: what guessing it always gives."""
    golds = Counter(
        _DRAW[kind](np.random.default_rng([0, n]))[1]["answer"]["value"] for n in range(DRAWS)
    )
    return golds.most_common(1)[0][1] / DRAWS


def shares(total: int, mix: Mapping[str, float]) -> dict[str, int]:
    """How many problems of each kind of answer, by largest remainders."""
    exact = {answer: total * share / sum(mix.values()) for answer, share in mix.items()}
    found = {answer: int(share) for answer, share in exact.items()}
    for answer in sorted(exact, key=lambda a: found[a] - exact[a])[: total - sum(found.values())]:
        found[answer] += 1
    return found
