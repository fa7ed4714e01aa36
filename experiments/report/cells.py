"""Numbers as the cells of a table show them."""

from __future__ import annotations

from experiments.stats import Interval


def percent(interval: Interval | None) -> str:
    """``"34.8 [21.0, 48.9]"``; a dash for no data."""
    if interval is None:
        return "-"
    return f"{100 * interval.estimate:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def money(cost: float | None) -> str:
    """Dollars; an unknown price is no zero."""
    return "unknown" if cost is None else f"${cost:.4f}" if cost else "$0"


def probability(value: float | None) -> str:
    """A p-value as text."""
    if value is None:
        return "-"
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"
