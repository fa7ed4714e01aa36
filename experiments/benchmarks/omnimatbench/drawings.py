"""Pictures of generated questions, by matplotlib: Agg, and the font that it brings.

A picture is known by what it shows, not by its pixels: `key` is made of the template and its
parameters, so that another version of the library changes no request, no digest and no recording.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from experiments.benchmarks.omnimatbench.item import Picture

if TYPE_CHECKING:  # slow to import
    from matplotlib.axes import Axes

#: Changes when a drawing shows something else under the same parameters.
VERSION = 1
_STYLE: dict[Any, Any] = {
    "backend": "agg", "font.family": "DejaVu Sans", "font.size": 10, "axes.axisbelow": True
}  # fmt: skip


def key(picture: Picture) -> str:
    """Stable name of a picture."""
    text = json.dumps([VERSION, picture.kind, picture.parameters], sort_keys=True)
    return f"omnimatbench-{picture.kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def draw(picture: Picture) -> bytes:
    """The picture as PNG, 560 x 420 pixels."""
    import matplotlib as mpl  # noqa: PLC0415 -- takes a second
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context({**mpl.rcParamsDefault, **_STYLE}):
        figure = Figure(figsize=(5.6, 4.2), dpi=100)
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        _DRAWINGS[picture.kind](axes, picture.parameters)
        figure.tight_layout()
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _tensile(axes: Axes, shown: Mapping[str, Any]) -> None:
    strain, stress = shown["strain"], shown["stress"]
    end = 1.0
    axes.plot([0, strain, end], [0, stress, stress * (1 + shown["slope"])], "k-", linewidth=1.6)
    axes.plot([strain], [stress], "o", color="tab:red")
    axes.annotate("yield point", (strain, stress), (6, -14), textcoords="offset points")
    axes.set(xlabel="strain (%)", ylabel="stress (MPa)", xlim=(0, end), ylim=(0, 900))
    axes.set_xticks([n / 10 for n in range(11)])
    axes.set_yticks(range(0, 901, 50))
    axes.grid(visible=True, color="0.8")


def _kinetics(axes: Axes, shown: Mapping[str, Any]) -> None:
    (x1, y1), (x2, y2) = shown["points"]
    slope = (y2 - y1) / (x2 - x1)
    ends = (x1 - 0.15, x2 + 0.15)
    axes.plot(ends, [y1 + slope * (x - x1) for x in ends], "k-", linewidth=1.4)
    axes.plot([x1, x2], [y1, y2], "o", color="tab:red")
    axes.set(xlabel="1000 K / T", ylabel="ln k", xlim=(0.6, 2.6), ylim=(-15, 1))
    axes.set_xticks([round(0.6 + n / 10, 1) for n in range(21)])
    axes.set_xticklabels([f"{0.6 + n / 10:.1f}" if n % 2 == 0 else "" for n in range(21)])
    axes.set_yticks(range(-15, 2))
    axes.grid(visible=True, color="0.8")


def _diffraction(axes: Axes, shown: Mapping[str, Any]) -> None:
    for angle, height in zip(shown["angles"], (1.0, 0.7, 0.5), strict=True):
        width = 0.25
        xs = [angle + n * width / 4 for n in range(-20, 21)]
        axes.plot(xs, [height / (1 + ((x - angle) / width) ** 2) for x in xs], "k-", linewidth=1)
        axes.text(angle, height + 0.03, f"{angle:.2f}", ha="center")
    first, last = shown["angles"][0], shown["angles"][-1]
    axes.set(xlabel="2 theta (degrees)", ylabel="intensity", ylim=(0, 1.15),
             xlim=(first - 10, last + 10))  # fmt: skip
    axes.set_yticks([])


def _phases(axes: Axes, shown: Mapping[str, Any]) -> None:
    solid, liquid, temperature = shown["solid"], shown["liquid"], shown["temperature"]
    high, low = temperature + 350, temperature - 350
    for x, name, style in ((liquid, "liquidus", "-"), (solid, "solidus", "--")):
        axes.plot([0, x, 100], [high, temperature, low], style, color="black", label=name)
    axes.axhline(temperature, color="tab:red", linewidth=1)
    axes.axvline(shown["alloy"], color="tab:blue", linewidth=1, label="alloy")
    axes.set(xlabel="wt% B", ylabel="temperature (°C)", xlim=(0, 100), ylim=(low, high))
    axes.set_xticks(range(0, 101, 5))
    axes.set_xticklabels([str(n) if n % 10 == 0 else "" for n in range(0, 101, 5)])
    axes.set_yticks(range(low, high + 1, 50))
    axes.set_yticklabels([str(n) if (n - low) % 100 == 0 else "" for n in range(low, high + 1, 50)])
    axes.grid(visible=True, color="0.8")
    axes.legend(loc="upper right")


def _flat(*place: float) -> tuple[float, float]:
    """Oblique projection: x to the lower left, y to the right, z up."""
    x, y, z = place
    return y - 0.45 * x, z - 0.35 * x


def _cube(axes: Axes) -> None:
    corners = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    for one in corners:
        for other in corners:
            if one < other and sum(a != b for a, b in zip(one, other, strict=True)) == 1:
                (x1, y1), (x2, y2) = _flat(*one), _flat(*other)
                hidden = one == (0, 0, 0)
                axes.plot([x1, x2], [y1, y2], ":" if hidden else "-", color="0.3", linewidth=1)
    axes.set_aspect("equal")
    axes.set_axis_off()


_PLACES: dict[str, list[tuple[float, ...]]] = {
    "corner": [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)],
    "body": [(0.5, 0.5, 0.5)],
    "face": [tuple(end if axis == n else 0.5 for n in range(3)) for axis in range(3)
             for end in (0, 1)],
    "edge": [tuple(0.5 if axis == n else (a, b)[(n - axis) % 3 - 1] for n in range(3))
             for axis in range(3) for a in (0, 1) for b in (0, 1)],
}  # fmt: skip
_COLOURS = ("tab:blue", "tab:orange", "tab:green")


def _unit_cell(axes: Axes, shown: Mapping[str, Any]) -> None:
    _cube(axes)
    for (site, element), colour in zip(shown["sites"].items(), _COLOURS, strict=False):
        points = [_flat(*place) for place in _PLACES[site]]
        across, up = zip(*points, strict=True)
        named = f"{element}: {site}{'' if site == 'body' else 's'}"
        axes.scatter(across, up, s=140, color=colour, edgecolors="black", zorder=3, label=named)
    axes.set_xlim(-0.55, 1.75)
    axes.legend(loc="upper right")


def _lattice_plane(axes: Axes, shown: Mapping[str, Any]) -> None:
    _cube(axes)
    points = []
    for axis, (above, below) in enumerate(shown["intercepts"]):
        fraction = above / below
        point = _flat(*(fraction if n == axis else 0 for n in range(3)))
        points.append(point)
        text = f"{'xyz'[axis]}: {above}/{below}" if below > 1 else f"{'xyz'[axis]}: {above}"
        axes.annotate(text, point, (8, 6), textcoords="offset points", color="tab:red")
    axes.fill(*zip(*points, strict=True), alpha=0.35, color="tab:red")
    for axis in range(3):
        end = _flat(*(1.25 if n == axis else 0 for n in range(3)))
        axes.annotate("", end, _flat(0, 0, 0), arrowprops={"arrowstyle": "->"})
        axes.text(*end, "xyz"[axis])


_DRAWINGS: dict[str, Callable[[Axes, Mapping[str, Any]], None]] = {
    "tensile": _tensile, "kinetics": _kinetics, "diffraction": _diffraction, "phases": _phases,
    "unit_cell": _unit_cell, "lattice_plane": _lattice_plane,
}  # fmt: skip
