"""The benchmark ``omnimatbench``: a few samples, or the questions of the published release.

A release is a checkout or a zip; the samples that ship have its layout.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agents.answer_formats import CODE, AnswerFormat, Letters, Text
from agents.base import Document, Image, Question
from experiments.benchmarks.omnimatbench.scorer import OmniMatScorer, Prose, Split
from experiments.benchmarks.omnimatbench.slots import Slots, empty, flat, read
from experiments.benchmarks.release import ReleaseError, entries, find, listed, picture
from experiments.samples import Sample, data_of, kept

SAMPLES = Path(__file__).with_name("samples")
MAX_IMAGE = 20_000_000  # bytes
_PICTURES = ("png", "jpg", "jpeg", "webp", "gif")

_ENDINGS = {"cal": "_Cal_with_final_answers.jsonl", "qa": "_QA_rubric.json"}
_ERRATA = {(e["split"], e["number"], e["id"]) for e in data_of(__file__, "errata")}
_GOLDS = {"cal": "final_answer_list", "qa": "key_points"}


@dataclass(frozen=True)
class Entry:
    """One question and its gold: nested slots, or key points (``text``, ``weight``) and prose.

    ``erratum``: its gold is known to be wrong; ``missing`` is why it cannot be asked.
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
    erratum: bool = False
    missing: str | None = None


def read_release(path: str | Path | None, split: str) -> list[Entry]:
    """All questions of a split (``cal``, ``qa``), subfield by subfield."""
    root = find(path, {"cal", "qa"}, "RELEASE (a checkout of OmniMatBench or a zip)") / split
    if not root.is_dir():
        raise ReleaseError(f"{path}: has no folder {split}/")
    keys = {"id", "type", "question", _GOLDS[split]}
    found = [
        _entry(split, folder, inner, row)
        for folder in listed(root) if folder.is_dir()
        for inner in (listed(folder) if split == "cal" else [folder]) if inner.is_dir()
        for file in listed(inner) if file.name.endswith(_ENDINGS[split])
        for row in entries(file, keys)
    ]  # fmt: skip
    if not found:
        raise ReleaseError(f"{path}: no question in {split}/")
    return found


def _entry(split: str, folder: Any, inner: Any, row: Mapping[str, Any]) -> Entry:
    name, number = f"{split}-{folder.name}-{row['id']}", re.search(r"\d+$", str(row["id"]))
    images, missing = _images(inner, row)
    prose, slots = split == "qa", row.get("final_answer_list", ())
    if not prose and (not isinstance(slots, list) or not flat(slots)):
        raise ReleaseError(f"{name}: final_answer_list is not a list of slots")
    return Entry(
        name, split, str(row["type"]), str(row["question"]), images=images, missing=missing,
        cluster=str(row.get("source_name") or name),
        labels={label: str(row[f"{label}_type"]) for label in ("task", "source")
                if row.get(f"{label}_type")},
        points=_points(name, row) if prose else (), answer=str(row.get("answer") or ""),
        slots=() if prose else slots,
        formulas=() if prose else [str(point) for point in row.get("key_points") or ()],
        erratum=number is not None and (split, folder.name[:2], int(number[0])) in _ERRATA,
    )  # fmt: skip


def _points(name: str, row: Mapping[str, Any]) -> list[dict[str, Any]]:
    weights = row.get("scoring_weights") or {}
    try:
        return [
            {"text": str(point["description"]), "weight": float(weights[str(point["id"])])}
            for point in row["key_points"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise ReleaseError(
            f"{name}: a key point lacks its description or weight ({error})"
        ) from error


def _images(folder: Any, row: Mapping[str, Any]) -> tuple[tuple[Image, ...], str | None]:
    """Pictures by name without ending; `multimodal` is wrong in places, ``image_url`` counts."""
    found = []
    for name in filter(None, map(str.strip, str(row.get("image_url") or "").split(","))):
        stem = re.sub(rf"(?i)\.(?:{'|'.join(_PICTURES)})$", "", name.rpartition("/")[2])
        files = [folder / "images" / f"{stem}.{ending}"
                 for each in _PICTURES for ending in (each, each.upper())]  # fmt: skip
        file = next((file for file in files if file.is_file()), None)
        if file is None:
            return (), f"its picture {stem} is not in images/"
        found.append(picture(file))
        if len(found[-1].data) > MAX_IMAGE:
            return (), f"its picture {stem} has {len(found[-1].data)} bytes"
    return tuple(found), None


LETTERS = "ABCD"
_TOKEN = re.compile(r"[a-z0-9]+")


def sets(entry: Entry, others: Sequence[Entry], seed: int) -> tuple[dict[str, Sequence[str]], str]:
    """Four sets of formulas by letter, one of them the entry's, and its letter."""
    rng = random.Random(f"omnimatbench sets {seed} {entry.name}")  # noqa: S311 -- no secret
    foreign = list({tuple(other.formulas): None for other in others
                    if other.formulas and set(other.formulas) != set(entry.formulas)})  # fmt: skip
    chosen: list[Sequence[str]] = [entry.formulas, *rng.sample(foreign, min(3, len(foreign)))]
    order = rng.sample(range(len(chosen)), len(chosen))
    lettered = {LETTERS[place]: chosen[which] for place, which in enumerate(order)}
    return lettered, LETTERS[order.index(0)]


def found(entry: Entry, pool: Sequence[str], k: int) -> list[str]:
    """The ``k`` formulas that fit the question best, as the authors rank them.

    By the Jaccard index of the words, plus 0.01 for each shared one.
    """
    words = set(_TOKEN.findall(entry.text.lower()))

    def fit(formula: str) -> float:
        tokens = set(_TOKEN.findall(formula.lower()))
        shared = len(words & tokens)
        return shared / len(words | tokens or "-") + 0.01 * shared

    return sorted(pool, key=fit, reverse=True)[:k]


def section(formulas: Sequence[str], tag: str = "formulas") -> str:
    """As a prompt shows them."""
    return f"<{tag}>\n" + "\n".join(formulas) + f"\n</{tag}>"


Arm = Literal["direct", "formula", "distractors", "choose", "retrieval", "search", "tool"]

#: How often the authors ask for a readable answer.
TRIES = 3

_PROMPTS = data_of(__file__, "prompts")
_GROUPS = data_of(__file__, "subfields")


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
            self.split, self.prose, errata=self.source == "published", executes=self.split != "qa"
        )

    def load(self) -> list[Sample]:
        """All questions, subfield by subfield."""
        splits = ("cal", "qa") if self.split == "all" else (self.split,)
        path = SAMPLES if self.source == "samples" else self.path
        every = [entry for split in splits for entry in read_release(path, split)]
        known = {entry.subfield for entry in every}
        for subfield in self.subset:
            if subfield not in known:
                raise ReleaseError(f"subset: no {subfield}; there are {', '.join(sorted(known))}")
        pool = list(dict.fromkeys(line for entry in every for line in entry.formulas))
        chosen = [entry for entry in every if not self.subset or entry.subfield in self.subset]
        return [self._sample(entry, every, pool) for entry in chosen]

    def _sample(self, entry: Entry, every: Sequence[Entry], pool: Sequence[str]) -> Sample:
        labels = {
            "area": entry.subfield, "group": _GROUPS.get(entry.subfield, "-"),
            "split": entry.split, "kind": _kind(entry), **entry.labels,
        }  # fmt: skip
        if entry.split == "qa":
            question = Question(entry.name, entry.text, answer=Text(), attachments=entry.images)
            right: Any = entry.answer or None
            target: dict[str, Any] = {"points": list(entry.points), "answer": entry.answer}
        else:
            question, golds = self._calculation(entry, every, pool)
            right = golds[0] if self.arm == "choose" else golds
            target = {"slots": golds, "erratum": entry.erratum}
        return Sample(
            question, environment="live", labels=labels, target=target, cluster=entry.cluster,
            unavailable=entry.missing, reference=right,
        )  # fmt: skip

    def _calculation(
        self, entry: Entry, every: Sequence[Entry], pool: Sequence[str]
    ) -> tuple[Question, list[Any]]:
        parts, golds = [entry.text], list(entry.slots)
        shape = empty(golds)
        form: AnswerFormat = Slots(shape)
        told = _PROMPTS["told"].get(self.arm)
        by_letter, letter = sets(entry, every, self.seed) if told and entry.formulas else ({}, "")
        shown = {
            "formula": section(entry.formulas),
            "retrieval": section(
                found(entry, pool, self.k) if self.arm == "retrieval" else (), "found"
            ),
        }
        lettered = section([f"Set {name}:\n" + "\n".join(s) for name, s in by_letter.items()])
        parts += [told, shown.get(self.arm, lettered)] if letter else []
        if self.arm == "tool":
            form = CODE
            if names := ", ".join(f"`{name}`" for name in _files(entry)):
                parts.append(_PROMPTS["files"].format(names=names))
            parts.append(_PROMPTS["tool"].format(shape=json.dumps(shape)))
        elif self.arm == "choose":
            form, golds = Letters(LETTERS), [letter]
            parts.append("<answer>LETTER</answer>")
        else:
            parts.append(_PROMPTS["values"])
        question = Question(
            entry.name, "\n\n".join(parts), formats={"answer": "list"} if form == CODE else {},
            mounts=_files(entry) if form == CODE else {}, search=entry.text, answer=form,
            attachments=entry.images, tries=TRIES,
            searched=Document("formulas.txt", "\n\n".join(pool)) if self.arm == "search" else None,
        )  # fmt: skip
        return question, golds


def _files(entry: Entry) -> dict[str, str]:
    """The pictures as input files: name in the sandbox to path on the host."""
    files = {}
    for number, image in enumerate(entry.images, 1):
        ending = f".{image.mime.rpartition('/')[2]}"
        name = f"picture{number if len(entry.images) > 1 else ''}{ending}"
        files[name] = str(kept("omnimatbench", image.data, ending))
    return files


def _kind(entry: Entry) -> str:
    """What is asked for: label of a break-down."""
    if entry.split == "qa":
        return "prose with a picture" if entry.images or entry.missing else "prose"
    if entry.images or entry.missing:
        return "picture"
    numeric = [read(slot) is not None for slot in flat(list(entry.slots))]
    return "numbers" if all(numeric) else "mixed" if any(numeric) else "text"
