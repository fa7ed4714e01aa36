"""Made papers about datasets (``geo``), and made maps with captions (``biogr``)."""

from __future__ import annotations

import hashlib
import io
import json
import math
from random import Random
from typing import Any

from agents.base import Image
from experiments.benchmarks.curie.prose import Made, name, names

_QUANTITIES = ("sea surface temperature", "river discharge", "leaf area index", "snow depth",
               "chlorophyll concentration", "soil moisture", "aerosol optical depth",
               "bird counts", "tree ring width", "salinity")  # fmt: skip
_INTERVALS = ("daily", "weekly", "monthly", "hourly")
#: What a map shows: degrees at its frame, none (the caption names them), the date line.
VARIANTS = ("ticks", "caption", "dateline")


def _date(rng: Random, first: int, last: int) -> str:
    return f"{rng.randint(first, last)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"


def geo(rng: Random) -> Made:
    """One to five datasets; periods may be split, and one date stands in a caption only."""
    title = f"Changes along the {name(rng)} coast"
    count = rng.randint(1, 5)
    captioned = rng.randrange(count)
    datasets, evidence = [], []
    for number, (dataset, quantity) in enumerate(
        zip(names(rng, count), rng.sample(_QUANTITIES, count), strict=True)
    ):
        interval = rng.choice(_INTERVALS)
        begin, end = _date(rng, 1960, 1979), _date(rng, 1980, 1995)
        periods = [{"start_date": begin, "end_date": end}]
        if rng.random() < 0.4:
            later = _date(rng, 1996, 2005), _date(rng, 2006, 2020)
            periods.append({"start_date": later[0], "end_date": later[1]})
        places = [f"{place} Bay" for place in names(rng, rng.randint(1, 4))]
        link = f"https://data.example/{dataset.lower()}"
        datasets.append({
            "dataset_name": dataset, "dataset_website_or_source": [link],
            "variables": [{
                "variable_name": quantity, "description": f"{interval} means of {quantity}",
                "time_range": periods, "spatial_range": places,
            }],
        })  # fmt: skip
        told = [f"{period['start_date']} to {period['end_date']}" for period in periods]
        if number == captioned:
            told[0] = f"the date given in Figure {number + 2} to {end}"
        evidence.append(
            f"From the dataset {dataset} ({link}) we take {interval} means of {quantity} at "
            f"{', '.join(places)}, for {' and again for '.join(told)}."
        )
        if number == captioned:
            evidence.append(
                f"Figure {number + 2}. Means of {quantity}; the record of {dataset} begins on "
                f"{begin}."
            )
    evidence.append(
        f"The archive {name(rng)} would have covered the years before {rng.randint(1930, 1950)}, "
        "but was not used."
    )
    return Made(title, evidence, {"paper_title": title, "datasets": datasets})


def biogr(rng: Random, variant: str) -> Made:
    """A map with an invented coast, an inset and a scale bar; its caption is the text."""
    step = rng.choice((0.5, 1.0, 2.0))
    wide, high = rng.randint(4, 9) * step, rng.randint(3, 7) * step
    if variant == "dateline":
        west = 180.0 - step * rng.randint(1, round(wide / step) - 1)
    else:
        west = step * rng.randint(round(-160 / step), round(150 / step))
    south = step * rng.randint(round(-60 / step), round(60 / step))
    east = (west + wide + 180.0) % 360.0 - 180.0
    box = {"W": west, "S": south, "E": east, "N": south + high}
    drawing = {"box": box, "step": step, "ticks": variant != "caption",
               "coast": rng.randrange(10**9), "place": name(rng)}  # fmt: skip
    caption = f"Figure 1. Sampling sites around {drawing['place']} (dots). Inset: the wider region."
    if variant == "caption":
        caption += (
            f" The frame of the map extends from {_longitude(west)} to {_longitude(east)} and from "
            f"{_latitude(south)} to {_latitude(south + high)}."
        )
    key = hashlib.sha256(json.dumps(["curie-map", drawing], sort_keys=True).encode()).hexdigest()
    image = Image(draw(drawing), "image/png", key)
    told = [caption] if variant == "caption" else []
    return Made(str(drawing["place"]), told, box, {"variant": variant}, image, text=caption)


def _longitude(value: float) -> str:
    return f"{abs(value):g}° {'W' if value < 0 else 'E'}"


def _latitude(value: float) -> str:
    return f"{abs(value):g}° {'S' if value < 0 else 'N'}"


def draw(drawing: dict[str, Any]) -> bytes:
    """The map as PNG; the frame is the box, degrees stand at multiples of its step."""
    from matplotlib.figure import Figure  # noqa: PLC0415 -- slow, and only for maps

    rng = Random(drawing["coast"])  # noqa: S311 -- no secret
    box, step = drawing["box"], drawing["step"]
    west, south, north = box["W"], box["S"], box["N"]
    east = box["E"] + 360.0 * (box["E"] < west)
    figure = Figure(figsize=(6.4, 4.8), dpi=100)
    axes = figure.add_subplot()
    axes.set(xlim=(west, east), ylim=(south, north), facecolor="#d9e8f2")
    size = min(east - west, north - south)
    centre = (west + east) / 2, (south + north) / 2
    land = [
        (centre[0] + radius * math.cos(turn), centre[1] + radius * math.sin(turn))
        for turn in (2 * math.pi * n / 48 for n in range(48))
        for radius in [size * rng.uniform(0.25, 0.38)]
    ]
    axes.fill(*zip(*land, strict=True), facecolor="#e9e2cf", edgecolor="#555555")
    sites = [
        (centre[0] + rng.uniform(-0.3, 0.3) * size, centre[1] + rng.uniform(-0.3, 0.3) * size)
        for _ in range(8)
    ]
    axes.plot(*zip(*sites, strict=True), "k.")
    axes.annotate(drawing["place"], centre, ha="center")
    if drawing["ticks"]:
        across = [west + n * step for n in range(round((east - west) / step) + 1)]
        up = [south + n * step for n in range(round((north - south) / step) + 1)]
        wrapped = [(value + 180.0) % 360.0 - 180.0 for value in across]
        axes.set_xticks(across, [_longitude(value) for value in wrapped], fontsize=7)
        axes.set_yticks(up, [_latitude(value) for value in up], fontsize=7)
    else:
        axes.set(xticks=[], yticks=[])
    bar = west + 0.05 * (east - west), south + 0.07 * (north - south)
    km = 111.2 * math.cos(math.radians(centre[1])) * step
    axes.plot([bar[0], bar[0] + step], [bar[1], bar[1]], "k-", linewidth=3)
    axes.annotate(f"{km:.0f} km", bar, xytext=(0, 4), textcoords="offset points", fontsize=7)
    inset = axes.inset_axes((0.78, 0.74, 0.2, 0.24))
    inset.set(xticks=[], yticks=[], xlim=(west - wide_of(box), east + wide_of(box)),
              ylim=(south - size, north + size), facecolor="#d9e8f2")  # fmt: skip
    inset.plot([west, east, east, west, west], [south, south, north, north, south], "r-")
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def wide_of(box: dict[str, float]) -> float:
    """Width of a box in degrees."""
    return (box["E"] - box["W"]) % 360.0
