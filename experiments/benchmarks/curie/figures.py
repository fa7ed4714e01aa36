"""Pictures of answers: boxes on a map, aligned sequences."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Sequence

from experiments.benchmarks.curie.marks import Box
from experiments.scorers.beside import beside

_ROW = 60  # residues


def boxes(gold: Box, found: Box | None) -> str:
    """Gold and answer on a map in degrees, the answer on the gold's side of the date line."""
    from matplotlib.figure import Figure  # noqa: PLC0415 -- slow
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    figure = Figure(figsize=(4.5, 3), dpi=80, layout="constrained")
    axes = figure.add_subplot(xlabel="degrees east", ylabel="degrees north")
    for box, colour, name in ((gold, "#2a9d5c", "gold"), (found, "#e6007e", "answer")):
        if box is not None:
            west = gold.west + (box.west - gold.west + 180.0) % 360.0 - 180.0
            wide = sum(end - start for start, end in box.spans)
            drawn = Rectangle((west, box.south), wide, box.north - box.south, label=name)
            drawn.set(facecolor=f"{colour}33", edgecolor=colour)
            axes.add_patch(drawn)
    axes.margins(0.2)
    axes.autoscale_view()
    axes.grid(linewidth=0.4)
    axes.legend()
    made = io.BytesIO()
    figure.savefig(made, format="png")
    return f"data:image/png;base64,{b64encode(made.getvalue()).decode()}"


def alignment(rows: Sequence[str]) -> str:
    """Two aligned sequences, gold above, with identities between them."""
    same = "".join("|" if a == b else "." for a, b in zip(*rows, strict=True))
    pieces = [["\n".join(line[start : start + _ROW] for line in (rows[0], same, rows[1]))]
              for start in range(0, len(rows[0]), _ROW)]  # fmt: skip
    return beside(("gold above, answer below",), pieces, [None] * len(pieces), (_ROW,))
