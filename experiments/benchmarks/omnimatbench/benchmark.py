"""The benchmark ``omnimatbench``: generated questions, or the published ones from a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from agents.answer_formats import CODE, AnswerFormat, Json, Letters, Text
from agents.base import Image, Question
from experiments.benchmarks.omnimatbench import drawings, formula_sets, published
from experiments.benchmarks.omnimatbench.entry import Entry, OmniMatError
from experiments.benchmarks.omnimatbench.formula_sets import Ranking
from experiments.benchmarks.omnimatbench.generate import TEMPLATES, Prose, calculations, proses
from experiments.benchmarks.omnimatbench.item import Picture, grouped
from experiments.benchmarks.omnimatbench.numbers import read
from experiments.benchmarks.omnimatbench.scorer import OmniMatScorer, Split
from experiments.benchmarks.omnimatbench.slots import flat
from experiments.samples import Sample
from experiments.store import write_bytes
from sandbox.environments import cache_folder

Source = Literal["generated", "published"]
Arm = Literal["direct", "formula", "distractors", "choose", "retrieval", "tool"]

ARMS = ("direct", "formula", "distractors", "choose", "retrieval", "tool")
_CHOICES = {
    "source": ("generated", "published"), "split": ("cal", "qa", "all"), "arm": ARMS,
    "ranking": ("published", "bm25", "tfidf"),
}  # fmt: skip

_VALUES = """\
The answer has this form; fill its slots with values only, in the same order and grouping, without \
symbols and units."""
_TOLD = {
    "formula": "These formulas solve it:",
    "distractors": "One of these sets of formulas solves it; the others belong elsewhere:",
    "choose": "One of these sets of formulas solves it; the others belong elsewhere. Reply with "
    "the letter of the set and nothing else:",
    "retrieval": "These formulas were found for it; some may not belong to it:",
}
_TOOL = """\
Write a function without arguments that computes this and returns the dict {{"answer": VALUES}}. \
VALUES is a list of this form, its slots filled with values, without symbols and units:
{shape}"""
_FILES = "The picture is also there as a file: {names}."


@dataclass(frozen=True)
class OmniMatBenchmark:
    """The benchmark ``omnimatbench``.

    Parameters
    ----------
    source
        ``generated`` from ``seed``, or ``published`` from ``path``.
    path
        A release: a checkout or a zip.
    split
        ``cal`` (calculations with slots), ``qa`` (prose; needs a judge) or ``all``.
    arm
        ``direct``; ``formula``, ``distractors``, ``choose``, ``retrieval``: with formulas;
        ``tool``: a function returns the answer.
    items
        Questions for each template.
    questions
        Questions for prose.
    templates
        Which; empty: all.
    subset
        Subfields, by name; empty: all.
    ranking, k
        How ``retrieval`` finds formulas, and how many.
    """

    source: Source = "generated"
    path: str | None = None
    split: Split = "cal"
    arm: Arm = "direct"
    seed: int = 1
    items: int = 3
    questions: int = 10
    templates: Sequence[str] = ()
    subset: Sequence[str] = ()
    ranking: Ranking = "published"
    k: int = 4
    name: str = "omnimatbench"
    packages: Sequence[str] = ("pymatgen",)

    def __post_init__(self) -> None:
        if str(self.arm) == "code2":
            raise OmniMatError("arm=code2: is an architecture here; use system=code2 with any arm")
        for key, known in _CHOICES.items():
            if getattr(self, key) not in known:
                raise OmniMatError(f"{key}={getattr(self, key)}: choose one of {', '.join(known)}")
        for template in self.templates:
            if template not in TEMPLATES:
                raise OmniMatError(f"templates: no {template}; there are {', '.join(TEMPLATES)}")

    @property
    def scorer(self) -> OmniMatScorer:
        """See :class:`experiments.samples.Benchmark`."""
        published = self.source == "published"
        # Generated golds are numbers and words: nothing has to be compared in a sandbox.
        code = self.split != "qa" and (published or self.arm == "tool")
        return OmniMatScorer(self.split, errata=published, executes=code)

    def load(self) -> list[Sample]:
        """All questions, subfield by subfield.

        Raises
        ------
        OmniMatError
            When published data are missing or unreadable, or ``subset`` names no subfield.
        """
        entries = self._entries()
        known = {entry.subfield for entry in entries}
        for subfield in self.subset:
            if subfield not in known:
                raise OmniMatError(f"subset: no {subfield}; there are {', '.join(sorted(known))}")
        pool = list(dict.fromkeys(line for entry in entries for line in entry.formulas))
        chosen = [entry for entry in entries if not self.subset or entry.subfield in self.subset]
        return [self._sample(entry, entries, pool) for entry in chosen]

    def _entries(self) -> list[Entry]:
        splits = ("cal", "qa") if self.split == "all" else (self.split,)
        if self.source == "published":
            return [entry for split in splits for entry in published.entries(self.path, split)]
        made: list[Entry] = []
        if "cal" in splits:
            made += generated(self.seed, self.items, self.templates or tuple(TEMPLATES))
        if "qa" in splits:
            made += map(_prose, proses(self.seed, self.questions))
        return made

    def _sample(self, entry: Entry, entries: Sequence[Entry], pool: Sequence[str]) -> Sample:
        labels = {
            "area": entry.subfield, "group": _groups().get(entry.subfield, "-"),
            "split": entry.split, "kind": _kind(entry), **entry.labels,
        }  # fmt: skip
        target: dict[str, Any]
        if entry.split == "qa":
            question = Question(entry.name, entry.text, answer=Text(), parts=entry.images)
            target = {"points": list(entry.points), "answer": entry.answer}
        else:
            question, golds = self._calculation(entry, entries, pool)
            target = {"slots": golds, "errata": list(entry.errata)}
        return Sample(
            question, environment="live", labels=labels, target=target, cluster=entry.cluster,
            unavailable=entry.missing,
        )  # fmt: skip

    def _calculation(
        self, entry: Entry, entries: Sequence[Entry], pool: Sequence[str]
    ) -> tuple[Question, list[Any]]:
        shape = _empty(list(entry.slots))
        told, letter = self._formulas(entry, entries, pool)
        parts = [entry.text, *told]
        form: AnswerFormat = Json(shape)
        golds = list(entry.slots)
        if self.arm == "tool":
            form = CODE
            if names := ", ".join(f"`{name}`" for name in _files(entry)):
                parts.append(_FILES.format(names=names))
            parts.append(_TOOL.format(shape=_json(shape)))
        elif self.arm == "choose":
            form, golds = Letters(formula_sets.LETTERS), [letter]
            parts.append("<answer>LETTER</answer>")
        else:
            parts.append(_VALUES)
        question = Question(
            entry.name, "\n\n".join(parts), formats={"answer": "list"} if form == CODE else {},
            mounts=_files(entry) if form == CODE else {}, search=entry.text, answer=form,
            parts=entry.images,
        )  # fmt: skip
        return question, golds

    def _formulas(
        self, entry: Entry, entries: Sequence[Entry], pool: Sequence[str]
    ) -> tuple[list[str], str]:
        """What a prompt says of formulas, and the letter of the right set."""
        arm: str = self.arm
        if arm not in _TOLD or not entry.formulas:
            return [], ""
        if arm == "formula":
            return [_TOLD[arm], formula_sets.section(entry.formulas)], ""
        if arm == "retrieval":
            lines = formula_sets.found(entry, pool, self.ranking, self.k)
            return [_TOLD[arm], formula_sets.section(lines, "found")], ""
        by_letter, letter = formula_sets.sets(entry, entries, self.seed)
        return [_TOLD[arm], formula_sets.lettered(by_letter)], letter


def generated(seed: int, items: int, templates: Sequence[str]) -> list[Entry]:
    """The generated calculations, with their pictures."""
    made = []
    for each in calculations(seed, items, templates):
        picture = each.draft.picture
        made.append(Entry(
            each.name, "cal", each.subfield, each.text,
            slots=grouped(each.golds, each.draft.nested), formulas=each.draft.formulas,
            images=(_image(picture),) if picture else (), labels={"template": each.template},
        ))  # fmt: skip
    return made


def _prose(each: Prose) -> Entry:
    points = [{"text": text, "weight": weight} for text, weight in each.points]
    return Entry(each.name, "qa", each.subfield, each.text, points=points, answer=each.answer)


def _image(picture: Picture) -> Image:
    """A picture, drawn once and kept under its key: other pixels would say the same."""
    key = drawings.key(picture)
    path = _kept(key)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, drawings.draw(picture))
    return Image(path.read_bytes(), "image/png", key)


def _kept(name: str) -> Path:
    return cache_folder() / "questions" / "omnimatbench" / f"{name}.png"


def _files(entry: Entry) -> dict[str, str]:
    """The pictures as input files: name in the sandbox to path on the host."""
    files = {}
    for number, image in enumerate(entry.images, 1):
        path = _kept(image.key)
        if not path.is_file():  # of the release
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, image.data)
        ending = image.mime.rpartition("/")[2]
        files[f"picture{number if len(entry.images) > 1 else ''}.{ending}"] = str(path)
    return files


def _kind(entry: Entry) -> str:
    """What is asked for: label of a break-down."""
    if entry.split == "qa":
        return "prose with a picture" if entry.images or entry.missing else "prose"
    if entry.images or entry.missing:
        return "picture"
    numeric = [read(slot) is not None for slot in flat(list(entry.slots))]
    return "numbers" if all(numeric) else "mixed" if any(numeric) else "text"


def _empty(slots: Any) -> Any:
    return [_empty(slot) for slot in slots] if isinstance(slots, list) else ""


def _json(shape: Any) -> str:
    return str(shape).replace("'", '"')


@cache
def _groups() -> dict[str, str]:
    text = Path(__file__).with_name("subfields.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))
