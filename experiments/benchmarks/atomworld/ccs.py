"""CCS: whether a model is surprised by a wrong sentence about a crystal.

Descriptions of crystals stand against copies in which one sentence comes from another crystal. For
each text the model's endpoint tells at which rank it expected each token; Cohen's d compares the
mean ranks of wrong texts with those of right ones. Endpoints without log-probabilities of prompts
cannot be measured: vLLM has them.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from agents.models import ModelClient, build_model, read_config
from experiments.benchmarks.atomworld.crystal import Array, Crystal
from experiments.benchmarks.atomworld.generate import structure
from sandbox.command import Group, UsageError, run
from sandbox.environments import cache_folder

#: Shells of neighbours end where the next distance is larger by this factor.
SHELL = 1.15
RESAMPLES = 2000


class Options(BaseModel):
    """Arguments of ``python -m experiments.benchmarks.atomworld.ccs``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Group = Field(Group("openai"), description="of conf/model; its keys by model.KEY=VALUE")
    texts: Path | None = Field(
        None, description='JSON lines {"right": TEXT, "wrong": TEXT}; none: descriptions of our own'
    )
    items: PositiveInt = Field(200, description="pairs of our own texts")
    seed: int = Field(1, description="of our own texts")
    concurrency: PositiveInt = Field(8, description="requests in flight")
    out: Path | None = Field(None, description="file for the mean rank of every text, JSON lines")


@dataclass(frozen=True)
class Pair:
    """A description, and its copy with a wrong sentence."""

    right: str
    wrong: str


@dataclass(frozen=True)
class Effect:
    """Cohen's d with the limits of a 95 % bootstrap interval over pairs."""

    d: float
    low: float
    high: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``."""
    program = "python -m experiments.benchmarks.atomworld.ccs"
    return run(program, str(__doc__), Options, _action, arguments, errors=(ValueError,))


async def _action(options: Options) -> int:
    pairs = describe(options.seed, options.items)
    if options.texts is not None:
        pairs = read_pairs(options.texts)
    config = read_config(options.model.read("model"))
    client = build_model(config, concurrency=options.concurrency, cache=cache_folder())
    try:
        texts = [text for pair in pairs for text in (pair.right, pair.wrong)]
        ranks = await asyncio.gather(*(mean_rank(client, text) for text in texts))
    finally:
        await client.close()
    rows = list(zip(ranks[::2], ranks[1::2], strict=True))
    if options.out is not None:
        lines = (json.dumps({"right": right, "wrong": wrong}) for right, wrong in rows)
        options.out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    known = [(right, wrong) for right, wrong in rows if right is not None and wrong is not None]
    if len(known) < 2:
        print(f"{config.name}: unavailable, the endpoint does not rank the tokens of a prompt")
        return 1
    found = effect(known)
    right, wrong = np.array(known).T
    print(
        f"{config.name}: Cohen's d {found.d:.3f} [{found.low:.3f}, {found.high:.3f}] over "
        f"{len(known)} pairs; mean rank {right.mean():.1f} right, {wrong.mean():.1f} wrong"
    )
    if len(known) < len(rows):
        print(f"unavailable and not counted: {len(rows) - len(known)} pairs")
    return 0


async def mean_rank(client: ModelClient, text: str) -> float | None:
    """Mean rank of a text's tokens; ``None`` where one of them is unknown."""
    tokens = (await client.read(text)).tokens or ()
    ranks = [token.rank for token in tokens]
    known = [rank for rank in ranks if rank is not None]
    return float(np.mean(known)) if known and len(known) == len(ranks) else None


def effect(ranks: Sequence[tuple[float, float]]) -> Effect:
    """Cohen's d of wrong over right: difference of means by the pooled standard deviation."""
    pairs = np.array(ranks, dtype=float)
    draw = np.random.default_rng(0)
    drawn = pairs[draw.integers(len(pairs), size=(RESAMPLES, len(pairs)))]
    low, high = np.nanpercentile(cohen(drawn), (2.5, 97.5))
    return Effect(float(cohen(pairs[None])[0]), float(low), float(high))


def cohen(pairs: Array) -> Array:
    """(mean wrong - mean right) / sqrt((s1^2 + s2^2) / 2), for arrays of shape (m, n, 2)."""
    means, variances = pairs.mean(axis=1), pairs.var(axis=1, ddof=1)
    spread = np.sqrt(variances.mean(axis=1))
    gap = means[:, 1] - means[:, 0]
    return np.asarray(np.divide(gap, spread, out=np.full_like(gap, np.nan), where=spread > 0))


def read_pairs(path: Path) -> list[Pair]:
    """Read pairs of texts.

    Raises
    ------
    UsageError
        When there is no such file, or a line is something else.
    """
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [Pair(str(row["right"]), str(row["wrong"])) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f'texts={path}: must hold JSON lines {{"right": ..., "wrong": ...}} ({error!r})'
        ) from error


def describe(seed: int, items: int) -> list[Pair]:
    """Descriptions of generated crystals, each with a copy that has one foreign sentence."""
    draw = random.Random(f"{seed}:ccs")  # noqa: S311 -- no secret
    told = [sentences(*structure(draw, 0)) for _ in range(items + 1)]
    pairs = []
    for number in range(items):
        right = told[number]
        at = draw.randrange(1, len(right))
        foreign = [other[at] for other in told if len(other) > at and other[at] != right[at]]
        if not foreign:  # all have right angles
            at = 1
            foreign = [other[at] for other in told if other[at] != right[at]]
        wrong = [*right[:at], draw.choice(foreign), *right[at + 1 :]]
        pairs.append(Pair(" ".join(right), " ".join(wrong)))
    return pairs


def sentences(prototype: str, crystal: Crystal) -> list[str]:
    """What a crystal is, in a few sentences; the first names it."""
    kinds = list(dict.fromkeys(crystal.species))
    formula = "".join(f"{kind}{crystal.species.count(kind)}" for kind in kinds)
    a, b, c, *angles = crystal.cell
    found = [
        f"{formula} has {len(crystal.species)} atoms in a cell derived from the {prototype} type.",
        f"The cell vectors are {a:.2f}, {b:.2f} and {c:.2f} angstrom long.",
        f"The cell has angles of {angles[0]:.1f}, {angles[1]:.1f} and {angles[2]:.1f} degrees.",
    ]
    for kind in kinds:
        count, shortest, names = shell(crystal, crystal.species.index(kind))
        found.append(
            f"{kind} is bonded to {count} {' and '.join(names)} atoms, the nearest of them "
            f"{shortest:.2f} angstrom away."
        )
    return found


def shell(crystal: Crystal, centre: int) -> tuple[int, float, list[str]]:
    """Number, shortest distance (Å) and species of an atom's nearest neighbours."""
    shifts = np.array(list(np.ndindex(5, 5, 5))) - 2
    around = crystal.fractions[:, None] + shifts - crystal.fractions[centre]
    lengths = np.linalg.norm(around @ crystal.lattice, axis=2)
    shortest = float(lengths[lengths > 1e-6].min())
    near = (lengths > 1e-6) & (lengths < shortest * SHELL)
    names = sorted({crystal.species[row] for row in np.flatnonzero(near.any(axis=1))})
    return int(near.sum()), shortest, names


if __name__ == "__main__":
    sys.exit(main())
