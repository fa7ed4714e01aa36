"""Made papers: invented names, filler that states nothing, and the places of the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

from agents.base import Image

Position = Literal["front", "middle", "end", "spread"]
POSITIONS: tuple[Position, ...] = ("front", "middle", "end", "spread")

_STARTS = ("Ve", "Ka", "Tor", "Mi", "Sel", "Bra", "Quo", "Lin", "Zar", "Fen", "Oru", "Das", "Hal",
           "Ny", "Per", "Cul", "Wex", "Ist", "Jor", "Ulm")  # fmt: skip
_MIDDLES = ("lo", "ri", "na", "ve", "du", "sti", "mo", "ka", "the", "bo", "ga", "xi")
_ENDS = ("ra", "nd", "lis", "mor", "ter", "ven", "dal", "ska", "rin", "tum")

_SUBJECTS = (
    "The approach taken here", "Earlier work on this class of problems", "A closer look at this",
    "The comparison with the literature", "Much of the recent interest in the field",
    "The general picture that emerges", "The discussion of these points",
    "A long line of contributions", "The choice of a suitable description",
    "What is commonly assumed in this context", "The interplay of these aspects",
    "The reviewers of an earlier version", "The remaining disagreement between groups",
)  # fmt: skip
_VERBS = (
    "has been motivated by", "does not depend on", "is discussed at length in connection with",
    "leaves room for", "benefits from", "should be seen in the light of", "was shaped by",
    "raises questions about", "is consistent with", "has rarely been separated from",
    "calls for caution with respect to", "is best understood through",
)  # fmt: skip
_OBJECTS = (
    "the practical needs of the community", "the history of the subject",
    "a careful treatment of uncertainties", "the limits of simple models",
    "the availability of shared resources", "the way in which results are reported",
    "considerations of cost and effort", "assumptions that are seldom made explicit",
    "the variety of methods now in use", "the experience gained in related areas",
    "what can reasonably be expected of a single study", "open questions of interpretation",
)  # fmt: skip
_TAILS = (
    "", ", as several authors have pointed out", ", although opinions differ",
    ", and we return to this point in the discussion", ", which is not the subject of this paper",
    ", a fact that is easily overlooked", ", at least as far as we can judge",
    ", and no attempt is made here to settle the matter", ", for reasons given elsewhere",
)  # fmt: skip
_SECTIONS = ("Introduction", "Background", "Scope", "Methods", "Results", "Remarks", "Discussion",
             "Outlook", "Conclusions")  # fmt: skip


@dataclass(frozen=True)
class Made:
    """The facts of a made paper and the paragraphs that state them; see `archive.Paper`.

    Attributes
    ----------
    evidence
        Paragraphs that hold the gold, or a trap; in the order of the paper.
    text
        The whole text, where it is no prose to be padded.
    """

    title: str
    evidence: Sequence[str]
    record: Any
    facts: Mapping[str, Any] = field(default_factory=dict)
    image: Image | None = None
    text: str = ""


def name(rng: Random) -> str:
    """An invented name."""
    return rng.choice(_STARTS) + rng.choice(_MIDDLES) + rng.choice(_ENDS)


def names(rng: Random, count: int) -> list[str]:
    """Invented names, all different."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[name(rng)] = None
    return list(found)


def filler(rng: Random) -> str:
    """A paragraph that states no fact: nothing in it could be an answer."""
    sentences = [
        f"{rng.choice(_SUBJECTS)} {rng.choice(_VERBS)} {rng.choice(_OBJECTS)}{rng.choice(_TAILS)}."
        for _ in range(rng.randint(3, 7))
    ]
    return " ".join(sentences)


def assemble(made: Made, words: int, position: Position, rng: Random) -> str:
    """A paper of about ``words`` words with its evidence in one place, or spread over it."""
    if made.text:
        return made.text
    left = words - sum(len(paragraph.split()) for paragraph in made.evidence)
    padding: list[str] = []
    while left > 0:
        padding.append(filler(rng))
        left -= len(padding[-1].split())
    share = {"front": 0.0, "middle": 0.5, "end": 1.0}
    count, evidence = len(padding), list(made.evidence)
    if position == "spread":
        # Evidence keeps its order; each paragraph has its share of the filler before it.
        cuts = [round(count * (n + 1) / (len(evidence) + 1)) for n in range(len(evidence))]
    else:
        cuts = [round(count * share[position])] * len(evidence)
    body: list[str] = []
    for number in range(count + 1):
        body += [text for text, place in zip(evidence, cuts, strict=True) if place == number]
        body += padding[number : number + 1]
    step = max(1, len(body) // len(_SECTIONS))
    sections = [
        f"{number + 1}. {heading}\n\n" + "\n\n".join(part)
        for number, heading in enumerate(_SECTIONS)
        if (part := body[number * step : None if heading == _SECTIONS[-1] else (number + 1) * step])
    ]
    return "\n\n".join([made.title, *sections]) + "\n"
