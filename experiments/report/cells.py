"""Numbers as the cells of a table show them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping

from experiments.stats import Interval
from matsmith.core.terminal import printable


def percent(interval: Interval | None) -> str:
    """``"34.8 [21.0, 48.9]"``; a dash for no data, no limits of few clusters."""
    if interval is None:
        return "-"
    estimate, limits = f"{100 * interval.estimate:.1f}", interval.limits
    return f"{estimate} [{100 * limits[0]:.1f}, {100 * limits[1]:.1f}]" if limits else estimate


def money(cost: float | None) -> str:
    """Dollars; an unknown price is not zero."""
    return "unknown" if cost is None else f"${cost:.4f}" if cost else "$0"


def number(count: int | None) -> str:
    """With thousands; what was not counted is not zero."""
    return "unknown" if count is None else f"{count:,}"


def spreadsheet(cell: object) -> object:
    """A cell of a CSV file: text that a spreadsheet would take for a formula is quoted.

    Numbers stay numbers, negative ones too, also where they come as text.
    """
    if not isinstance(cell, str):
        return cell
    text = " ".join(printable(cell).split())
    try:
        float(text)
    except ValueError:
        return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
    return text


def csv_text(lines: Iterable[Mapping[str, object]]) -> str:
    """Lines of one kind as CSV, headings first; what is unknown is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for line in lines:
        if not out.tell():
            writer.writerow(line)
        writer.writerow("" if cell is None else spreadsheet(cell) for cell in line.values())
    return out.getvalue()


def probability(value: float | None) -> str:
    """A p-value as text."""
    if value is None:
        return "-"
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"
