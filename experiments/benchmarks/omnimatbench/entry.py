"""A question of either source, before an arm makes a prompt of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.base import Image


class OmniMatError(ValueError):
    """The release is not where or what it should be, or an option is wrong."""


@dataclass(frozen=True)
class Entry:
    """One question and its gold.

    Attributes
    ----------
    split
        ``cal`` or ``qa``.
    slots
        Nested golds of a calculation.
    points
        Key points of a prose answer: ``text`` and ``weight``.
    answer
        Reference in prose.
    formulas
        What a calculation needs, one per line.
    errata
        Positions of slots whose gold is known to be wrong, from 0.
    missing
        Why it cannot be asked (a picture is not there).
    """

    name: str
    split: str
    subfield: str
    text: str
    slots: Sequence[Any] = ()
    points: Sequence[Mapping[str, Any]] = ()
    answer: str = ""
    formulas: Sequence[str] = ()
    images: tuple[Image, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    cluster: str = ""
    errata: Sequence[int] = ()
    missing: str | None = None
