"""Papers from a seed: facts first, then their prose, at several lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from experiments.benchmarks.curie import materials, places, theory
from experiments.benchmarks.curie.archive import Paper
from experiments.benchmarks.curie.prose import POSITIONS, Made, Position, assemble
from experiments.benchmarks.curie.protein import pdb

_MAKERS = {
    "dft": materials.dft, "mpve": materials.mpve, "hfd": theory.hfd, "hfe": theory.hfe,
    "qecc_65": theory.qecc, "geo": places.geo,
}  # fmt: skip


def generate(
    *,
    seed: int,
    items: int,
    words: Sequence[int],
    domains: Sequence[str],
    positions: Sequence[Position] = POSITIONS,
) -> Iterator[Paper]:
    """All papers, the short ones of every domain first.

    The versions of a paper at several lengths state the same facts in the same sentences, and are
    one cluster. Captions of maps have one length.

    Parameters
    ----------
    items
        Papers for each domain.
    words
        Lengths, in words.
    positions
        Where the evidence stands; papers take turns.
    """
    for order, length in enumerate(words):
        for item in range(items):
            for domain in domains:
                if domain == "biogr" and order:
                    continue
                position = positions[item % len(positions)]
                made = _made(domain, seed, item, length, position)
                text = assemble(made, length, position, _random(seed, domain, item, length))
                labels = {"words": str(length), "position": position, "domain": domain}
                if domain == "biogr":
                    labels = {"words": "caption", "map": made.facts["variant"], "domain": domain}
                yield Paper(
                    f"{seed}-{item + 1}" + ("" if domain == "biogr" else f"-{length}"),
                    domain,
                    text,
                    made.record,
                    made.image,
                    labels,
                    evidence=tuple(made.evidence),
                    facts=made.facts,
                    cluster=f"{domain}/{item + 1}",
                )


def _made(domain: str, seed: int, item: int, words: int, position: Position) -> Made:
    rng = _random(seed, domain, item)
    if domain == "pdb":
        return pdb(rng, words, position)
    if domain == "biogr":
        return places.biogr(rng, places.VARIANTS[item % len(places.VARIANTS)])
    return _MAKERS[domain](rng)


def _random(*purpose: object) -> Random:
    return Random(":".join(map(str, purpose)))  # noqa: S311 -- no secret
