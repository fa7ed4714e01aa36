"""Reads the published release, a checkout or a zip; the samples that ship have its layout."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agents.base import Image
from experiments.benchmarks import release
from experiments.benchmarks.omnimatbench.slots import flat
from experiments.benchmarks.release import ReleaseError, find, listed
from experiments.samples import data_of

SAMPLES = Path(__file__).with_name("samples")
MAX_IMAGE = 20_000_000  # bytes
_PICTURES = ("png", "jpg", "jpeg", "webp", "gif")

_ENDINGS = {"cal": "_Cal_with_final_answers.jsonl", "qa": "_QA_rubric.json"}
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


def entries(path: str | Path | None, split: str) -> list[Entry]:
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
        for row in release.entries(file, keys)
    ]  # fmt: skip
    if not found:
        raise ReleaseError(f"{path}: no question in {split}/")
    return found


def _entry(split: str, folder: Any, inner: Any, row: Mapping[str, Any]) -> Entry:
    name = f"{split}-{folder.name}-{row['id']}"
    images, missing = _images(inner, row)
    entry = Entry(
        name, split, str(row["type"]), str(row["question"]), images=images, missing=missing,
        cluster=str(row.get("source_name") or name),
        labels={label: str(row[f"{label}_type"]) for label in ("task", "source")
                if row.get(f"{label}_type")},
    )  # fmt: skip
    if split == "qa":
        return replace(entry, points=_points(name, row), answer=str(row.get("answer") or ""))
    slots = row["final_answer_list"]
    if not isinstance(slots, list) or not flat(slots):
        raise ReleaseError(f"{name}: final_answer_list is not a list of slots")
    return replace(
        entry, slots=slots, formulas=[str(point) for point in row.get("key_points") or ()],
        erratum=_erratum(split, folder.name, str(row["id"])),
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
        found.append(release.picture(file))
        if len(found[-1].data) > MAX_IMAGE:
            return (), f"its picture {stem} has {len(found[-1].data)} bytes"
    return tuple(found), None


def _erratum(split: str, number: str, entry: str) -> bool:
    digits = re.search(r"\d+$", entry)
    known = {(e["split"], e["number"], e["id"]) for e in data_of(__file__, "errata")}
    return digits is not None and (split, number[:2], int(digits[0])) in known
