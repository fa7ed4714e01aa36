"""How long picking takes."""

from __future__ import annotations

from orchard.trees import Orchard


def picking_days(orchard: Orchard, pickers: int, *, rate: float = 310.0) -> float:
    """Working days until everything is picked.

    Every change to another variety costs a quarter of a day.

    Parameters
    ----------
    rate
        Of one picker, in kg per day.
    """
    if pickers < 1:
        raise ValueError("somebody has to pick")
    yields = orchard.yields_by_variety()
    return sum(yields.values()) / (pickers * rate) + 0.25 * (len(yields) - 1)
