"""Problems about a drawn band structure; what is asked is far enough from every doubt."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from agents.base import Image
from experiments.benchmarks.qmbench.crystals import Drawn, Rng
from experiments.benchmarks.qmbench.symmetry import choice

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
            [round(width * (np.cos(np.pi * x) - 0.3) + n * step - level, 4)
             for x in np.abs(np.linspace(-1, 1, 91)) ** 1.3]
            for n in range(count)
        ]  # fmt: skip
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
        away = np.minimum(np.abs(at - point), 3 - np.abs(at - point) if point == 0 else 9)
        return np.exp(-((away / 0.55) ** 2))

    low, high = float(rng.uniform(0.8, 1.5)), float(rng.uniform(0.8, 1.5))
    valence = -gap / 2 - low * (1 - near(top))
    conduction = gap / 2 + high * (1 - near(bottom))
    bands = [[round(float(x), 4) for x in band]
             for band in (valence - 1.2, valence, conduction, conduction + 1.1)]  # fmt: skip
    kinds = ["direct", "indirect"]
    right, wrong = (
        [f"the gap is {kind}", f"the highest occupied state is at {PATH[highest % 3]}",
         f"the lowest empty state is at {PATH[lowest % 3]}"]
        for kind, highest, lowest in ((kinds[top != bottom], top, bottom),
                                      (kinds[top == bottom], top + 1, bottom + 2))
    )  # fmt: skip
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
    made = io.BytesIO()
    canvas.print_png(made)
    drawn = json.dumps([VERSION, bands])
    key = f"qmbench-bands-{hashlib.sha256(drawn.encode()).hexdigest()[:16]}"
    return Image(made.getvalue(), "image/png", key)
