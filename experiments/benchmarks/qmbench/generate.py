"""Problems from a seed: nine templates of one or more kinds of problems (``generate.yaml``)."""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from agents.base import Image
from experiments.benchmarks.qmbench import crystals
from experiments.benchmarks.qmbench.crystals import Drawn, Rng, choice
from experiments.benchmarks.qmbench.problem import Integer, Problem
from foundation.configuration import data_of


def chern(p: int, q: int, t: float, m: float) -> int:
    """Chern number of the lower band of a Qi-Wu-Zhang model; the gap closes at m = 0 and ±2t."""
    return -int(np.sign(m)) * p * q if abs(m) < 2 * t else 0


def winding(coefficients: dict[int, float]) -> tuple[int, float]:
    """How often h(k) goes around the origin, and how near it comes."""
    k = np.linspace(0, 2 * np.pi, 4001)
    h = sum(value * np.exp(1j * n * k) for n, value in coefficients.items())
    phase = np.unwrap(np.angle(h))
    return round((phase[-1] - phase[0]) / (2 * np.pi)), float(np.abs(h).min())


def chain_gap(energies: Any, hoppings: Any, below: int) -> float:
    """Gap above the ``below`` lowest bands of a chain with nearest-neighbour hopping."""
    count = len(energies)
    k = np.linspace(0, np.pi, 401)  # extrema are at the ends
    up = np.zeros((len(k), count, count), complex)
    for i, t in enumerate(hoppings):
        up[:, i, (i + 1) % count] = t * np.exp(1j * k) if i == count - 1 else t
    bands = np.linalg.eigvalsh(np.diag(energies) + up + up.conj().transpose(0, 2, 1))
    return float(bands[:, below].min() - bands[:, below - 1].max())


def honeycomb_gap(delta: float, hoppings: Sequence[float]) -> float:
    """Gap of a honeycomb lattice with site energies ``±delta``.

    The bands touch but for ``delta`` where three vectors as long as the hoppings close a triangle.
    """
    return 2 * float(np.hypot(delta, max(0.0, 2 * max(hoppings) - sum(hoppings))))


def chern_number(rng: Rng) -> Drawn:
    """Of a Qi-Wu-Zhang model, with a winding of its own in each direction."""
    p, q = (int(n) for n in rng.integers(1, 3, size=2))
    v, t = (round(float(x), 2) for x in rng.uniform(0.5, 1.5, size=2))
    phase = rng.choice([-1.0, 1.0]) * rng.choice(
        [rng.uniform(0.3, 1.7), rng.uniform(2.3, 3)], p=[0.75, 0.25]
    )
    m = round(float(phase * t), 2)
    return {"p": p, "q": q, "v": v, "t": t, "m": m}, {
        "answer": {"value": chern(p, q, t, m)}
    }


def winding_number(rng: Rng) -> Drawn:
    """Of a chain of dimers with hopping to further cells."""
    while True:
        given = dict(zip((-1, 0, 1, 2), _energies(rng, -1.5, 1.5, 4), strict=True))
        number, nearest = winding(given)
        if nearest > 0.15:
            hoppings = ", ".join(f"t({n}) = {value} eV" for n, value in given.items())
            return {"hoppings": hoppings}, {"answer": {"value": number}}


def gap_of_chain(rng: Rng) -> Drawn:
    """Of a chain with two to four sites in its cell."""
    while True:
        count = int(rng.integers(2, 5))
        below = int(rng.integers(1, count))
        energies, hoppings = _energies(rng, -1, 1, count), _energies(rng, 0.4, 2, count)
        gap = chain_gap(energies, hoppings, below)
        if gap > 0.2:
            fields = {"energies": _listed(energies), "hoppings": _listed(hoppings)}
            return {
                "count": count,
                "below": below,
                "above": below + 1,
                **fields,
            }, _interval(gap)


def gap_of_honeycomb(rng: Rng) -> Drawn:
    """With another hopping along each bond."""
    while True:
        delta = round(float(rng.uniform(0.1, 1)), 2)
        hoppings = _energies(rng, 0.4, 3, 3)
        gap = honeycomb_gap(delta, hoppings)
        if gap > 0.2:
            return {"delta": delta, "hoppings": _listed(hoppings)}, _interval(gap)


def _energies(rng: Rng, low: float, high: float, count: int) -> list[float]:
    return [round(float(x), 2) for x in rng.uniform(low, high, size=count)]


def _listed(values: list[float]) -> str:
    return ", ".join(map(str, values))


def _interval(gap: float) -> dict[str, Any]:
    return {"answer": {"low": 0.99 * gap, "high": 1.01 * gap, "unit": "eV"}}


PATH = ("Γ", "X", "M", "Γ")
#: Of the drawing; another one is another picture.
VERSION = 1
CLEAR = 0.3  # eV between the Fermi level and the nearest extremum of a band


def crossing_bands(rng: Rng) -> Drawn:
    """How many bands cross the Fermi level."""
    while True:
        count = int(rng.integers(4, 8))
        width, step = float(rng.uniform(0.8, 2)), float(rng.uniform(0.7, 1.1))
        level = float(rng.uniform(0, step * count))
        bands = [
            [
                round(width * (np.cos(np.pi * x) - 0.3) + n * step - level, 4)
                for x in np.abs(np.linspace(-1, 1, 91)) ** 1.3
            ]
            for n in range(count)
        ]
        ends = np.array([[min(band), max(band)] for band in bands])
        crossing = int(((ends[:, 0] < 0) & (ends[:, 1] > 0)).sum())
        if np.abs(ends).min() > CLEAR and 0 < crossing < count:
            return {"bands": bands}, {"answer": {"value": crossing}}


def kind_of_gap(rng: Rng) -> Drawn:
    """Direct or indirect, and where the band edges are."""
    top, bottom = (int(n) for n in rng.integers(3, size=2))
    gap = float(rng.uniform(0.6, 1.6))
    at = np.linspace(0, 3, 91)

    def near(point: int) -> Any:
        away = np.minimum(
            np.abs(at - point), 3 - np.abs(at - point) if point == 0 else 9
        )
        return np.exp(-((away / 0.55) ** 2))

    low, high = float(rng.uniform(0.8, 1.5)), float(rng.uniform(0.8, 1.5))
    valence = -gap / 2 - low * (1 - near(top))
    conduction = gap / 2 + high * (1 - near(bottom))
    bands = [
        [round(float(x), 4) for x in band]
        for band in (valence - 1.2, valence, conduction, conduction + 1.1)
    ]
    kinds = ["direct", "indirect"]
    right, wrong = (
        [
            f"the gap is {kind}",
            f"the highest occupied state is at {PATH[highest % 3]}",
            f"the lowest empty state is at {PATH[lowest % 3]}",
        ]
        for kind, highest, lowest in (
            (kinds[top != bottom], top, bottom),
            (kinds[top == bottom], top + 1, bottom + 2),
        )
    )
    return {"bands": bands}, choice(rng, right, wrong)


def picture(bands: Sequence[Sequence[float]]) -> Image:
    """Energies (eV) of bands along `PATH` as PNG; its key names what is drawn, not the pixels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 -- slow
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(5, 4), dpi=80, layout="constrained")
    canvas: Any = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    along = np.linspace(0, 3, len(bands[0]))
    for band in bands:
        axes.plot(along, band, linewidth=2)
    axes.axhline(0, color="black", linestyle="--", linewidth=1)
    for place in range(1, 3):
        axes.axvline(place, color="grey", linewidth=0.6)
    axes.set_xticks(range(4), PATH)
    axes.set_xlim(0, 3)
    axes.set_ylabel("energy in eV")
    buffer = io.BytesIO()
    canvas.print_png(buffer)
    digest = hashlib.sha256(json.dumps([VERSION, bands]).encode()).hexdigest()
    key = f"qmbench-bands-{digest[:16]}"
    return Image(buffer.getvalue(), "image/png", key)


#: Problems of the paper by kind of answer.
PAPER: Mapping[str, int] = {"choice": 50, "text": 31, "number": 18, "poscar": 4}
DRAWS = 60  # by which a guess is estimated
#: Template to its kinds of problems, by name.
TEMPLATES: dict[str, dict[str, dict[str, Any]]] = data_of(__file__)
KINDS = {name: entry for kinds in TEMPLATES.values() for name, entry in kinds.items()}
#: Where a kind does not draw its `variables` alone.
_DRAW: Mapping[str, Callable[[Rng], Drawn]] = {
    "operations": crystals.point_operations,
    "tensor": crystals.tensor_components,
    "inversion": crystals.inversion_sites,
    **{
        draw.__name__: draw
        for draw in (
            crystals.second_harmonic,
            crystals.k_points,
            crystals.conventional_cell,
            crystals.strained_cell,
            crystals.vacancy,
            crystals.slab,
            chern_number,
            winding_number,
            gap_of_chain,
            gap_of_honeycomb,
            crossing_bands,
            kind_of_gap,
        )
    },
}


def generate(
    seed: int,
    items: int,
    templates: Sequence[str] = (),
    mix: Mapping[str, float] = PAPER,
) -> list[tuple[str, Problem, Mapping[str, Image]]]:
    """Make problems, each with its template and its pictures by name; two seeds share none.

    There are ``items`` for each template on average; its kinds take turns, beginning with one that
    the seed chooses. ``mix`` is how many of each kind of answer, as shares of any sum, templates
    taking turns; empty: ``items`` of each template.
    """
    chosen = [name for name in TEMPLATES if not templates or name in templates]
    numbers = {name: number for number, name in enumerate(TEMPLATES)}
    turns: list[tuple[str, int]] = [
        (name, index) for name in chosen for index in range(items)
    ]
    if mix:
        turns = []
        kinds_of = {
            name: str(next(iter(TEMPLATES[name].values()))["type"]) for name in chosen
        }
        wanted = {
            answer: mix.get(answer, 0)
            for answer in PAPER
            if answer in kinds_of.values()
        }
        for answer, count in shares(items * len(chosen), wanted).items():
            alike = [name for name in chosen if kinds_of[name] == answer]
            turns += [(alike[n % len(alike)], n // len(alike)) for n in range(count)]
    problems = []
    for template, index in sorted(turns, key=lambda turn: (numbers[turn[0]], turn[1])):
        kinds = list(TEMPLATES[template])
        number = numbers[template]
        first = int(np.random.default_rng([seed, number]).integers(len(kinds)))
        kind = kinds[(first + index) % len(kinds)]
        problem, images = make(kind, np.random.default_rng([seed, number, index]))
        own = {
            "id": f"{kind}-{index}",
            "source": f"generated, seed {seed}",
            "frequent": _frequent(kind) if isinstance(problem.answer, Integer) else 0.0,
        }
        problems.append((template, problem.model_copy(update=own), images))
    return problems


def make(kind: str, rng: Rng) -> tuple[Problem, Mapping[str, Image]]:
    """A problem of a kind, and its pictures by name."""
    entry = dict(KINDS[kind])
    variables = entry.pop("variables", {})
    values, gold = (
        _DRAW[kind](rng) if kind in _DRAW else (_variables(rng, variables), {})
    )
    entry |= {"id": kind, "prompt": entry["prompt"].format(**values), **gold}
    images = {name: picture(values["bands"]) for name in entry.get("images", ())}
    return Problem.model_validate(entry), images


def _variables(rng: Rng, ranges: Mapping[str, list[Any]]) -> dict[str, Any]:
    return {
        name: str(rng.choice(some))
        if isinstance(some[0], str)
        else f"{rng.uniform(*some):.2f}"
        for name, some in ranges.items()
    }


@cache
def _frequent(kind: str) -> float:
    """Share of the most frequent answer among problems like it: what guessing it always gives."""
    golds = Counter(
        _DRAW[kind](np.random.default_rng([0, n]))[1]["answer"]["value"]
        for n in range(DRAWS)
    )
    return golds.most_common(1)[0][1] / DRAWS


def shares(total: int, mix: Mapping[str, float]) -> dict[str, int]:
    """How many problems of each kind of answer, by largest remainders."""
    exact = {answer: total * share / sum(mix.values()) for answer, share in mix.items()}
    counts = {answer: int(share) for answer, share in exact.items()}
    for answer in sorted(exact, key=lambda a: counts[a] - exact[a])[
        : total - sum(counts.values())
    ]:
        counts[answer] += 1
    return counts
