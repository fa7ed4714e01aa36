"""What a run will cost and how long it will take, before most of it has been paid for."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from agents.models import find_price
from agents.models.recordings import SHIPPED, read_exchanges
from experiments.run.config import RunConfig
from experiments.run.rows import Row

#: Answers of this run from which the others are foretold.
FIRST = 3


def from_answers(rows: Iterable[Row], left: int, together: int) -> str | None:
    """A line from the first answers; nothing where their price is unknown or nothing is left."""
    known = [row for row in rows if row.scored and row.calls and not row.cached_calls]
    costs = [row.cost_usd for row in known if row.cost_usd is not None]
    if len(known) < FIRST or len(costs) < len(known) or not left:
        return None
    minutes = left * fmean(row.seconds for row in known) / min(together, left) / 60
    return (
        f"about {left * fmean(costs):.2g} dollars, {minutes:.2g} minutes for the other {left} "
        f"answers (from the first {len(known)})"
    )


def from_recordings(config: RunConfig, left: int) -> str | None:
    """A line from recordings of the same system and benchmark; nothing without any, or a price."""
    price = find_price(config.model)
    if price is None or not left:
        return None
    exchanges = [each for file in SHIPPED.glob("*.jsonl.gz") for each in read_exchanges(file)]
    known = [each for each in exchanges if each.fits(config.scene) and "usage" in each.reply]
    if not known:
        return None
    answers = len({(each.question, each.seed) for each in known})
    asked, said = (sum(each.reply["usage"][n] for each in known) / answers for n in (0, 1))
    dollars = left * (asked * price.prompt + said * price.completion) / 1e6
    return (
        f"about {dollars:.2g} dollars for {left} answers, from the tokens of {answers} recorded "
        f"ones of {known[0].model}; minutes follow after the first {FIRST}"
    )
