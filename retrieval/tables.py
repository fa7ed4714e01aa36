"""What was measured, as Markdown; also put into a document between its marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matsmith.core.errors import UsageError
from retrieval.measures import Estimate, Share

NAMES = "names in the question"  # the row of a list of these, without retrieval


@dataclass(frozen=True)
class Recalled:
    """What one retriever found for one set of questions.

    Attributes
    ----------
    hidden
        Gold names that do not stand in the text of their question, and how many of them are among
        the first k documents; ``None`` where every name stands in its question.
    recall, within
        Recall of the first k documents, and of what fits a number of tokens.
    difference
        Recall of the smallest k less that of the first retriever, question by question.
    """

    questions: str
    retriever: str
    queries: int
    hidden: Mapping[int, Share | None]
    recall: Mapping[int, Estimate]
    within: Mapping[int, Estimate]
    mrr: Estimate
    difference: Estimate | None


def markdown(rows: Sequence[Recalled]) -> str:
    """The rows of one set of questions as a table."""
    first = rows[0]
    smallest = min(first.recall)
    head = ["retriever", *(f"R@{k}" for k in first.recall)]
    head += [f"R in {tokens} tokens" for tokens in first.within]
    head += [*(f"hidden names @{k}" for k in first.hidden), "MRR"]
    head.append(f"R@{smallest} less the first")
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        cells = [row.retriever if row.retriever == NAMES else f"`{row.retriever}`"]
        cells += map(cell, [*row.recall.values(), *row.within.values()])
        cells += [*map(_share, row.hidden.values()), cell(row.mrr)]
        cells.append("" if row.difference is None else cell(row.difference))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def cell(estimate: Estimate) -> str:
    """A mean with its interval, as narrow as it can be read."""
    return f"{estimate.mean:.3f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def _share(share: Share | None) -> str:
    if share is None:
        return "none"
    return f"{share.found} of {share.of}: {cell(share.estimate)}"


def put(document: str, name: str, table: str) -> str:
    """The document with ``table`` between ``<!-- name -->`` and ``<!-- end -->``."""
    opening, closing = f"<!-- {name} -->\n", "<!-- end -->"
    before, mark, rest = document.partition(opening)
    _, end, after = rest.partition(closing)
    if not (mark and end):
        raise UsageError(f"write=: the document has no markers {opening.strip()} ... {closing}")
    return f"{before}{mark}{table}\n{end}{after}"
