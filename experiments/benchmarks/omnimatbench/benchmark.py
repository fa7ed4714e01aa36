"""The benchmark ``omnimatbench``: a few samples, or the questions of the published release.

A release is a checkout or a zip; the samples that ship have its layout.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from agents.answer_formats import CODE, AnswerFormat, Letters, Text
from agents.base import Document, Image, Question
from experiments.benchmarks.omnimatbench.scorer import OmniMatScorer, Prose, Split
from experiments.benchmarks.omnimatbench.slots import Slots, empty, flat, read
from experiments.benchmarks.release import (
    AbsentError,
    ReleaseError,
    entries,
    find,
    listed,
    picture,
)
from experiments.samples import Sample, absent, cached_file
from foundation.configuration import data_of

SAMPLES = Path(__file__).with_name("samples")
MAX_IMAGE = 20_000_000  # bytes
_PICTURES = ("png", "jpg", "jpeg", "webp", "gif")

_ENDINGS = {"cal": "_Cal_with_final_answers.jsonl", "qa": "_QA_rubric.json"}
_ERRATA = {(e["split"], e["number"], e["id"]) for e in data_of(__file__, "errata")}
_GROUPS = data_of(__file__, "subfields")
_GOLDS = {"cal": "final_answer_list", "qa": "key_points"}


#: A question as it stands in a release, and the formulas that solve it.
Entry = tuple[Sample, Sequence[str]]


def read_release(path: str | Path | None, split: str) -> list[Entry]:
    """All questions of a split (``cal``, ``qa``), subfield by subfield."""
    root = (
        find(path, {"cal", "qa"}, "RELEASE (a checkout of OmniMatBench or a zip)")
        / split
    )
    if not root.is_dir():
        raise AbsentError(f"{path}: has no folder {split}/")
    keys = {"id", "type", "question", _GOLDS[split]}
    rows = [
        _entry(split, folder, inner, row)
        for folder in listed(root)
        if folder.is_dir()
        for inner in (listed(folder) if split == "cal" else [folder])
        if inner.is_dir()
        for file in listed(inner)
        if file.name.endswith(_ENDINGS[split])
        for row in entries(file, keys)
    ]
    if not rows:
        raise ReleaseError(f"{path}: no question in {split}/")
    return rows


def _entry(split: str, folder: Any, inner: Any, row: Mapping[str, Any]) -> Entry:
    name, number = (
        f"{split}-{folder.name}-{row['id']}",
        re.search(r"\d+$", str(row["id"])),
    )
    images, missing = _images(inner, row)
    pictured = bool(images or missing)
    formulas = []
    if split == "qa":
        right: Any = str(row.get("answer") or "")
        target = {"points": _points(name, row), "answer": right}
        kind = "prose with a picture" if pictured else "prose"
    else:
        right, formulas = (
            row["final_answer_list"],
            list(map(str, row.get("key_points") or ())),
        )
        if not isinstance(right, list) or not flat(right):
            raise ReleaseError(f"{name}: final_answer_list is not a list of slots")
        wrong = (
            number is not None and (split, folder.name[:2], int(number[0])) in _ERRATA
        )
        target = {"slots": right, "erratum": wrong}
        numeric = [read(slot) is not None for slot in flat(right)]
        kind = "numbers" if all(numeric) else "mixed" if any(numeric) else "text"
        kind = "picture" if pictured else kind
    area = str(row["type"])
    labels = {
        "area": area,
        "group": _GROUPS.get(area, "-"),
        "split": split,
        "kind": kind,
    }
    labels |= {
        label: str(row[f"{label}_type"])
        for label in ("task", "source")
        if row.get(f"{label}_type")
    }
    sample = Sample(
        Question(name, str(row["question"]), answer=Text(), attachments=images),
        environment="live",
        labels=labels,
        target=target,
        unavailable=missing,
        cluster=str(row.get("source_name") or name),
        reference=right or None,
    )
    return sample, formulas


def _points(name: str, row: Mapping[str, Any]) -> list[dict[str, Any]]:
    weights = row.get("scoring_weights") or {}
    try:
        return [
            {
                "text": str(point["description"]),
                "weight": float(weights[str(point["id"])]),
            }
            for point in row["key_points"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise ReleaseError(
            f"{name}: a key point lacks its description or weight ({error})"
        ) from error


def _images(
    folder: Any, row: Mapping[str, Any]
) -> tuple[tuple[Image, ...], str | None]:
    """Pictures by name without ending; `multimodal` is wrong in places, ``image_url`` counts."""
    pictures = []
    for name in filter(
        None, map(str.strip, str(row.get("image_url") or "").split(","))
    ):
        stem = re.sub(rf"(?i)\.(?:{'|'.join(_PICTURES)})$", "", name.rpartition("/")[2])
        files = [
            folder / "images" / f"{stem}.{ending}"
            for each in _PICTURES
            for ending in (each, each.upper())
        ]
        file = next((file for file in files if file.is_file()), None)
        if file is None:
            return (), f"its picture {stem} is not in images/"
        pictures.append(picture(file))
        if len(pictures[-1].data) > MAX_IMAGE:
            return (), f"its picture {stem} has {len(pictures[-1].data)} bytes"
    return tuple(pictures), None


LETTERS = "ABCD"
_TOKEN = re.compile(r"[a-z0-9]+")


def sets(
    name: str, own: Sequence[str], others: Iterable[Sequence[str]], seed: int
) -> tuple[dict[str, Sequence[str]], str]:
    """Four sets of formulas by letter, one of them the question's own, and its letter."""
    rng = random.Random(f"omnimatbench sets {seed} {name}")  # noqa: S311 -- no secret
    foreign = list(
        {tuple(other): None for other in others if other and set(other) != set(own)}
    )
    chosen: list[Sequence[str]] = [own, *rng.sample(foreign, min(3, len(foreign)))]
    order = rng.sample(range(len(chosen)), len(chosen))
    lettered = {LETTERS[place]: chosen[which] for place, which in enumerate(order)}
    return lettered, LETTERS[order.index(0)]


def found(text: str, pool: Sequence[str], k: int) -> list[str]:
    """The ``k`` formulas that fit the question best, as the authors rank them.

    By the Jaccard index of the words, plus 0.01 for each shared one.
    """
    words = set(_TOKEN.findall(text.lower()))

    def fit(formula: str) -> float:
        tokens = set(_TOKEN.findall(formula.lower()))
        shared = len(words & tokens)
        return shared / len(words | tokens or "-") + 0.01 * shared

    return sorted(pool, key=fit, reverse=True)[:k]


def section(formulas: Sequence[str], tag: str = "formulas") -> str:
    """As a prompt shows them."""
    return f"<{tag}>\n" + "\n".join(formulas) + f"\n</{tag}>"


Arm = Literal[
    "direct", "formula", "distractors", "choose", "retrieval", "search", "tool"
]

#: How often the authors ask for a readable answer.
TRIES = 3

_PROMPTS = data_of(__file__, "prompts")


@dataclass(frozen=True)
class OmniMatBenchmark:
    """The benchmark ``omnimatbench``; ``conf/benchmark/omnimatbench.yaml`` explains its keys."""

    source: Literal["samples", "published"] = "samples"
    path: str | None = None
    split: Split = "cal"
    arm: Arm = "direct"
    prose: Prose = "published"
    subset: Sequence[str] = ()
    k: int = 4
    seed: int = 1
    name: str = "omnimatbench"

    @property
    def packages(self) -> Sequence[str]:
        """See :class:`experiments.benchmarks.Benchmark`; none where formulas are searched."""
        return () if self.arm == "search" else ("pymatgen",)

    @property
    def scorer(self) -> OmniMatScorer:
        """See :class:`experiments.benchmarks.Benchmark`."""
        return OmniMatScorer(
            self.split,
            self.prose,
            errata=self.source == "published",
            executes=self.split != "qa",
        )

    def load(self) -> list[Sample]:
        """All questions, subfield by subfield."""
        splits = ("cal", "qa") if self.split == "all" else (self.split,)
        path = SAMPLES if self.source == "samples" else self.path
        every: list[Entry] = []
        lacking: list[Sample] = []
        for split in splits:
            try:
                every += read_release(path, split)
            except AbsentError as error:
                lacking.append(absent(split, str(error), split=split))
        if not every:
            raise ReleaseError("; ".join(str(part.unavailable) for part in lacking))
        areas = {sample.labels["area"] for sample, _ in every}
        for subfield in self.subset:
            if subfield not in areas:
                raise ReleaseError(
                    f"subset: no {subfield}; there are {', '.join(sorted(areas))}"
                )
        pool = list(dict.fromkeys(line for _, formulas in every for line in formulas))
        samples = [
            self._asked(sample, formulas, every, pool)
            if "slots" in sample.target
            else sample
            for sample, formulas in every
            if not self.subset or sample.labels["area"] in self.subset
        ]
        return [*samples, *lacking]

    def _asked(
        self,
        sample: Sample,
        formulas: Sequence[str],
        every: Sequence[Entry],
        pool: Sequence[str],
    ) -> Sample:
        plain = sample.question
        golds = sample.target["slots"]
        parts = [plain.prompt]
        shape = empty(golds)
        images = [part for part in plain.attachments if isinstance(part, Image)]
        form: AnswerFormat = Slots(shape)
        preamble = _PROMPTS["told"].get(self.arm)
        others = (some for _, some in every)
        by_letter: dict[str, Sequence[str]] = {}
        letter = ""
        if preamble and formulas:
            by_letter, letter = sets(plain.id, formulas, others, self.seed)
        sections = {
            "formula": section(formulas),
            "retrieval": section(
                found(plain.prompt, pool, self.k) if self.arm == "retrieval" else (),
                "found",
            ),
        }
        lettered = section(
            [f"Set {name}:\n" + "\n".join(s) for name, s in by_letter.items()]
        )
        parts += (
            [preamble, sections.get(self.arm, lettered)]
            if letter or self.arm == "retrieval"
            else []
        )
        files = _files(images) if self.arm == "tool" else {}
        if self.arm == "tool":
            form = CODE
            if names := ", ".join(f"`{name}`" for name in files):
                parts.append(_PROMPTS["files"].format(names=names))
            parts.append(_PROMPTS["tool"].format(shape=json.dumps(shape)))
        elif self.arm == "choose":
            form = Letters(LETTERS)
            golds = [letter]
            parts.append("<answer>LETTER</answer>")
        else:
            parts.append(_PROMPTS["values"])
        question = Question(
            plain.id,
            "\n\n".join(parts),
            formats={"answer": "list"} if form == CODE else {},
            mounts=files,
            search=plain.prompt,
            answer=form,
            attachments=plain.attachments,
            tries=TRIES,
            searched=Document("formulas.txt", "\n\n".join(pool))
            if self.arm == "search"
            else None,
        )
        lost = "it has no formulas" if self.arm == "choose" and not letter else None
        return replace(
            sample,
            question=question,
            target={**sample.target, "slots": golds},
            reference=golds[0] if self.arm == "choose" else golds,
            unavailable=sample.unavailable or lost,
        )


def _files(images: Sequence[Image]) -> dict[str, str]:
    """The pictures as input files: name in the sandbox to path on the host."""
    files = {}
    for number, image in enumerate(images, 1):
        ending = f".{image.mime.rpartition('/')[2]}"
        name = f"picture{number if len(images) > 1 else ''}{ending}"
        files[name] = str(cached_file("omnimatbench", image.data, ending))
    return files
