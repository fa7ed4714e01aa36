"""Which link of a chain broke first, by cell: where a benchmark's scorer follows the calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup, escape

from experiments.rows import Row
from experiments.scorers.base import FIRST_WRONG

_RIGHT, _AFTER, _NOTHING = "all right", "after the last link", "no code"


def links(rows: Sequence[Row]) -> Counter[str]:
    """How many answers broke where: ``link 1`` is a call that takes nothing of another one.

    Empty where no answer was followed.
    """
    if not any(FIRST_WRONG in row.artefacts for row in rows):
        return Counter()
    return Counter(_link(row) for row in rows)


def _link(row: Row) -> str:
    if row.all_correct:
        return _RIGHT
    first, _, _ = row.artefacts.get(FIRST_WRONG, "").partition(" of ")
    if not first:
        return _NOTHING
    return f"link {first}" if first.isdecimal() else _AFTER


def told(counts: Counter[str]) -> str:
    """The counts as text."""
    return ", ".join(f"{name}: {counts[name]}" for name in _order([counts]))


def table(cells: Sequence[tuple[str, Counter[str]]]) -> Markup:
    """Shares of the answers of each cell, in the order of the chain; nothing without any."""
    cells = [(name, counts) for name, counts in cells if counts]
    order = _order([counts for _, counts in cells])
    head = Markup("").join(Markup("<th>{}</th>").format(name) for name in order)
    lines = []
    for name, counts in cells:
        total = counts.total()
        shares = [(counts[place], counts[place] / total) for place in order]
        shown = Markup("").join(
            Markup('<td class="h{}" title="{} of {}">{}</td>').format(
                round(10 * share), count, total, f"{100 * share:.0f} %" if count else ""
            )
            for count, share in shares
        )
        lines.append(Markup("<tr><th>{}</th>{}<td>{}</td></tr>").format(name, shown, total))
    if not lines:
        return Markup("")
    return Markup(
        '<div class="wide"><table class="heat"><tr><th></th>{}<th>{}</th></tr>{}</table></div>'
    ).format(head, escape("answers"), Markup("").join(lines))


def _order(cells: Sequence[Counter[str]]) -> list[str]:
    known = {name for counts in cells for name in counts}
    numbered = sorted((n for n in known if n.startswith("link ")), key=lambda n: int(n[5:]))
    return [name for name in (_NOTHING, *numbered, _AFTER, _RIGHT) if name in known]
