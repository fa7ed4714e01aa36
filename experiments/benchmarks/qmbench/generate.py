"""Problems from a seed: eight templates, each of one or more kinds of problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from agents.base import Image
from experiments.benchmarks.qmbench import crystals, drawn, models, symmetry
from experiments.benchmarks.qmbench.problem import Problem, Rubric, RubricPoint

Rng = np.random.Generator
Made = Problem | tuple[Problem, Mapping[str, Image]]


@dataclass(frozen=True)
class Item:
    """A generated problem with its pictures by name."""

    template: str
    problem: Problem
    images: Mapping[str, Image]


def generate(seed: int, items: int, templates: Sequence[str] = ()) -> list[Item]:
    """Make problems.

    Parameters
    ----------
    seed
        Two seeds share no problem.
    items
        For each template; its kinds take turns, beginning with one that the seed chooses.
    templates
        Names of `TEMPLATES`; empty: all.
    """
    made = []
    for number, (template, kinds) in enumerate(TEMPLATES.items()):
        if templates and template not in templates:
            continue
        first = int(np.random.default_rng([seed, number]).integers(len(kinds)))
        for index in range(items):
            rng = np.random.default_rng([seed, number, index])
            result: Any = kinds[(first + index) % len(kinds)](rng)
            problem, images = result if isinstance(result, tuple) else (result, {})
            own = problem.model_copy(
                update={"id": f"{problem.id}-{index}", "source": f"generated, seed {seed}"}
            )
            made.append(Item(template, own, images))
    return made


def settings(number: int) -> Callable[[Rng], Problem]:
    """The template of one entry of ``settings.yaml``."""

    def make(rng: Rng) -> Problem:
        entry = _entries()[number]
        given = entry["parameters"]
        values = {
            "material": str(rng.choice(given["material"])),
            "number": f"{rng.uniform(given['low'], given['high']):.3f}",
        }
        points = tuple(RubricPoint(points=marks, text=text) for marks, text in entry["rubric"])
        return Problem(
            id=f"settings_{entry['id']}", topics=tuple(entry["topics"]), type="text",
            difficulty=entry["difficulty"], prompt=entry["prompt"].format(**values),
            answer=Rubric(rubric=points),
        )  # fmt: skip

    return make


@cache
def _entries() -> list[dict[str, Any]]:
    text = Path(__file__).with_name("settings.yaml").read_text(encoding="utf-8")
    return list(yaml.safe_load(text))


#: Name to kinds of problems.
TEMPLATES: dict[str, tuple[Callable[[Rng], Made], ...]] = {
    "operations": (symmetry.point_operations, symmetry.tensor_components),
    "positions": (symmetry.inversion_sites, symmetry.second_harmonic),
    "k_points": (symmetry.k_points,),
    "topology": (models.chern_number, models.winding_number),
    "gap": (models.gap_of_chain, models.gap_of_honeycomb),
    "bands": (drawn.crossing_bands, drawn.kind_of_gap),
    "settings": tuple(settings(number) for number in range(4)),
    "structure": (
        crystals.conventional_cell, crystals.strained_cell, crystals.vacancy, crystals.slab,
    ),
}  # fmt: skip
