"""Numbers as the cells of a table show them."""

from __future__ import annotations

from experiments.stats import Interval
from sandbox.terminal import printable


def percent(interval: Interval | None) -> str:
    """``"34.8 [21.0, 48.9]"``; a dash for no data."""
    if interval is None:
        return "-"
    return f"{100 * interval.estimate:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def money(cost: float | None) -> str:
    """Dollars; an unknown price is not zero."""
    return "unknown" if cost is None else f"${cost:.4f}" if cost else "$0"


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


def probability(value: float | None) -> str:
    """A p-value as text."""
    if value is None:
        return "-"
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"
