"""Generated questions: sixteen templates of calculations, and questions about small tables."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from experiments.benchmarks.omnimatbench import computed, pictured
from experiments.benchmarks.omnimatbench.item import AmbiguousError, Draft, Template

#: Template -> its subfield.
TEMPLATES: dict[str, tuple[Template, str]] = {
    "density": (computed.cubic_density, "Materials Physics"),
    "bragg": (computed.bragg, "Materials Physics"),
    "lever": (computed.lever, "Metallurgical Engineering"),
    "arrhenius": (computed.arrhenius, "Materials Chemistry"),
    "hall_petch": (computed.hall_petch, "Metallic Materials"),
    "fick": (computed.fick, "Metallurgical Engineering"),
    "nernst": (computed.nernst, "New Energy Materials and Devices"),
    "mixtures": (computed.mixtures, "Composite Materials"),
    "bending": (computed.bending, "Inorganic Non-metallic Materials"),
    "carriers": (computed.carriers, "Electronic Information Materials"),
    "tensile": (pictured.tensile, "Metallic Materials"),
    "kinetics": (pictured.kinetics, "Materials Chemistry"),
    "diffraction": (pictured.diffraction, "Inorganic Non-metallic Materials"),
    "phases": (pictured.phases, "Metallurgical Engineering"),
    "unit_cell": (pictured.unit_cell, "Materials Science and Engineering"),
    "lattice_plane": (pictured.lattice_plane, "Materials Science and Engineering"),
}
#: Most tries for numbers that are not near a rounding boundary.
TRIES = 1000


@dataclass(frozen=True)
class Calculation:
    """A generated question with slots.

    Attributes
    ----------
    number
        Within its template.
    """

    template: str
    number: int
    subfield: str
    draft: Draft
    golds: tuple[str, ...]

    @property
    def name(self) -> str:
        """Identifier."""
        return f"cal-{self.template}-{self.number}"

    @property
    def text(self) -> str:
        """The question without the form of its answer."""
        draft = self.draft
        given = "\n".join(
            f"- {symbol} = {value} {unit}".rstrip() for symbol, (value, unit) in draft.given.items()
        )
        asked = "\n".join(f"({n}) {slot.asked}" for n, slot in enumerate(draft.slots, 1))
        return f"{draft.story}\n\nGiven:\n{given}\n\nFind, in this order:\n{asked}"


def calculations(seed: int, items: int, templates: Sequence[str]) -> Iterator[Calculation]:
    """Questions of every template; another seed draws other numbers."""
    for template in templates:
        make, subfield = TEMPLATES[template]
        rng = random.Random(f"omnimatbench {template} {seed}")  # noqa: S311 -- no secret
        seen: set[str] = set()
        for number in range(items):
            draft, golds = _clear(make, rng, seen)
            yield Calculation(template, number, subfield, draft, golds)


def _clear(make: Template, rng: random.Random, seen: set[str]) -> tuple[Draft, tuple[str, ...]]:
    """A draft that is new, and whose golds are far from where rounding turns."""
    for _ in range(TRIES):
        draft = make(rng)
        try:
            golds = tuple(slot.gold for slot in draft.slots)
        except AmbiguousError:
            continue
        shown = repr((draft.picture, sorted(draft.seen.items()), golds))
        if shown not in seen:
            seen.add(shown)
            return draft, golds
    raise AmbiguousError(f"{make.__name__}: no clear numbers in {TRIES} tries")


@dataclass(frozen=True)
class Prose:
    """A generated question for prose, with its key points.

    Attributes
    ----------
    points
        Statement and weight; the weights add up to 1.
    """

    number: int
    subfield: str
    text: str
    points: tuple[tuple[str, float], ...]

    @property
    def name(self) -> str:
        """Identifier."""
        return f"qa-{self.number}"

    @property
    def answer(self) -> str:
        """The reference."""
        return " ".join(f"{point}." for point, _ in self.points)

    @property
    def fixed(self) -> dict[str, tuple[str, list[float]]]:
        """Answers of known verdict: their text, and the quality of each key point."""
        half = len(self.points) // 2
        return {
            "all": (self.answer, [1.0] * len(self.points)),
            "half": (" ".join(f"{point}." for point, _ in self.points[:half]),
                     [1.0] * half + [0.0] * (len(self.points) - half)),
            "off topic": ("The weather was pleasant on Sunday; many people went swimming.",
                          [0.0] * len(self.points)),
        }  # fmt: skip


#: Invented facts: subject, subfield, and rows of statements that share few words.
_SUBJECTS = (
    ("the alloy", "Metallic Materials"), ("the glass", "Inorganic Non-metallic Materials"),
    ("the polymer", "Polymer Materials"), ("the cathode", "New Energy Materials and Devices"),
    ("the laminate", "Composite Materials"),
)  # fmt: skip
_ROWS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("hardness peaks after {} hours of ageing at 443 kelvin",
     ("three", "five", "eight", "twelve")),
    ("corrosion begins along {} in chloride solution",
     ("grain boundaries", "inclusions", "slip bands", "scratches")),
    ("{} additions refine the microstructure",
     ("boron", "titanium", "zirconium", "scandium")),
    ("fracture changes from ductile to brittle below {} degrees Celsius",
     ("-20", "-45", "-70", "-95")),
    ("thermal conductivity falls because {} scatter phonons",
     ("vacancies", "dopants", "pores", "interfaces")),
    ("residual stress relaxes through {} creep",
     ("dislocation", "Coble", "Nabarro-Herring", "viscous")),
    ("optical absorption rises near {} electronvolts",
     ("1.3", "2.1", "2.8", "3.4")),
)  # fmt: skip
#: Weights of three, four and five key points.
_WEIGHTS = {3: (0.4, 0.3, 0.3), 4: (0.3, 0.3, 0.2, 0.2), 5: (0.3, 0.2, 0.2, 0.2, 0.1)}


def proses(seed: int, count: int) -> list[Prose]:
    """Questions about invented materials: whoever has not read the table cannot know."""
    rng = random.Random(f"omnimatbench prose {seed}")  # noqa: S311 -- no secret
    made = []
    for number in range(count):
        subject, subfield = _SUBJECTS[number % len(_SUBJECTS)]
        codes = _codes(rng, 4)
        rows = rng.sample(_ROWS, rng.choice((3, 4, 5)))
        values = [rng.sample(kinds, len(codes)) for _, kinds in rows]
        sheets = [
            [
                statement.format(row[column])
                for (statement, _), row in zip(rows, values, strict=True)
            ]
            for column in range(len(codes))
        ]
        asked = rng.randrange(len(codes))
        tables = "\n\n".join(
            f"{code}:\n" + "\n".join(f"- {line}" for line in rng.sample(sheet, len(sheet)))
            for code, sheet in zip(codes, sheets, strict=True)
        )
        text = (
            f"Data sheets of four candidates for {subject}:\n\n{tables}\n\nExplain in a few "
            f"sentences what has to be kept in mind when {codes[asked]} is used, with everything "
            "that its data sheet says and nothing about the others."
        )
        weighted = tuple(zip(sheets[asked], _WEIGHTS[len(rows)], strict=True))
        made.append(Prose(number, subfield, text, weighted))
    return made


def _codes(rng: random.Random, count: int) -> list[str]:
    """Names that mean nothing, all different."""
    return [
        f"{rng.choice('BCDFGHKLMNPRSTVWX')}{rng.choice('aeiou')}{number}"
        for number in rng.sample(range(100, 1000), count)
    ]
