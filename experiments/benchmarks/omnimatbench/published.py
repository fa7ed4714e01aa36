"""Reads the published release, a checkout or a zip. Nothing of it ships with this project."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from agents.base import Image
from experiments.benchmarks.omnimatbench.entry import Entry, OmniMatError
from experiments.benchmarks.omnimatbench.slots import flat

HERE = Path(__file__).parent
MAX_IMAGE = 20_000_000  # bytes
_MIME = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "webp": "image/webp",
         "gif": "image/gif"}  # fmt: skip

Folder = Path | zipfile.Path


def entries(path: str | None, split: str) -> list[Entry]:
    """All questions of a split (``cal``, ``qa``), subfield by subfield.

    Raises
    ------
    OmniMatError
        When the release is not there, or a row is not what it should be.
    """
    root = _root(path) / split
    if not root.is_dir():
        raise OmniMatError(
            f"{path}: has no folder {split}/; path= must name a release of OmniMatBench"
        )
    read = _calculations if split == "cal" else _questions
    found = [entry for folder in _sorted(root) if folder.is_dir() for entry in read(folder)]
    if not found:
        raise OmniMatError(f"{path}: no question in {split}/")
    return found


def _root(path: str | None) -> Folder:
    if path is None:
        raise OmniMatError(
            "source=published needs path=RELEASE (a checkout of OmniMatBench or a zip)"
        )
    file = Path(path).expanduser()
    if not file.exists():
        raise OmniMatError(f"{path}: no such file or folder")
    try:
        root: Folder = file if file.is_dir() else zipfile.Path(file)
    except zipfile.BadZipFile as error:
        raise OmniMatError(f"{path}: neither a folder nor a zip") from error
    inside = [root, *(folder for folder in _sorted(root) if folder.is_dir())]
    return next((folder for folder in inside if (folder / "cal").is_dir() or
                 (folder / "qa").is_dir()), root)  # fmt: skip


def _sorted(folder: Folder) -> list[Any]:
    return sorted(folder.iterdir(), key=lambda each: str(each.name))


def _calculations(folder: Any) -> Iterator[Entry]:
    for inner in _sorted(folder):
        if not inner.is_dir():
            continue
        for file in _sorted(inner):
            if not file.name.endswith("_Cal_with_final_answers.jsonl"):
                continue
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                if line.strip():
                    yield _calculation(folder.name, inner, _object(line, f"{file} line {number}"))


def _calculation(number: str, folder: Any, row: Mapping[str, Any]) -> Entry:
    slots = row["final_answer_list"]
    name = f"cal-{number}-{row['id']}"
    if not isinstance(slots, list) or not flat(slots):
        raise OmniMatError(f"{name}: final_answer_list is not a list of slots")
    images, missing = _images(folder, row)
    return Entry(
        name, "cal", str(row["type"]), str(row["question"]), slots=slots,
        formulas=[str(point) for point in row.get("key_points") or ()],
        images=images, missing=missing, cluster=str(row.get("source_name") or name),
        labels=_labels(row), errata=_errata("cal", number, row["id"], len(flat(slots))),
    )  # fmt: skip


def _questions(folder: Any) -> Iterator[Entry]:
    for file in _sorted(folder):
        if not file.name.endswith("_QA_rubric.json"):
            continue
        try:
            rows = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise OmniMatError(f"{file}: is not JSON ({error})") from error
        for row in rows:
            yield _prose(folder.name, folder, _checked(row, str(file)))


def _prose(number: str, folder: Any, row: Mapping[str, Any]) -> Entry:
    name = f"qa-{number}-{row['id']}"
    weights = row.get("scoring_weights") or {}
    try:
        points = [
            {"text": str(point["description"]), "weight": float(weights[str(point["id"])])}
            for point in row["key_points"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise OmniMatError(
            f"{name}: a key point lacks its description or weight ({error})"
        ) from error
    images, missing = _images(folder, row)
    return Entry(
        name, "qa", str(row["type"]), str(row["question"]), points=points,
        answer=str(row.get("answer") or ""), images=images, missing=missing,
        cluster=str(row.get("source_name") or name), labels=_labels(row),
    )  # fmt: skip


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        return _checked(json.loads(line), where)
    except json.JSONDecodeError as error:
        raise OmniMatError(f"{where}: is not JSON ({error})") from error


def _checked(row: Any, where: str) -> dict[str, Any]:
    wanted = {"id", "type", "question"} | (
        {"final_answer_list"} if where.partition(" line ")[1] else {"key_points"}
    )
    if not isinstance(row, dict) or not wanted <= row.keys():
        raise OmniMatError(f"{where}: an entry lacks {', '.join(sorted(wanted))}")
    return row


def _images(folder: Any, row: Mapping[str, Any]) -> tuple[tuple[Image, ...], str | None]:
    """Pictures by name without ending; `multimodal` is wrong in places, ``image_url`` counts."""
    names = [name.strip() for name in str(row.get("image_url") or "").split(",")]
    found = []
    for name in filter(None, names):
        stem = re.sub(
            r"\.(?:png|jpe?g|webp|gif)$", "", name.rpartition("/")[2], flags=re.IGNORECASE
        )
        files = [
            folder / "images" / f"{stem}.{ending}" for ending in (*_MIME, "PNG", "JPG", "JPEG")
        ]
        file = next((file for file in files if file.is_file()), None)
        if file is None:
            return (), f"its picture {stem} is not in images/"
        data = file.read_bytes()
        if len(data) > MAX_IMAGE:
            return (), f"its picture {stem} has {len(data)} bytes"
        mime = _MIME[file.name.rpartition(".")[2].lower()]
        found.append(Image(data, mime, f"sha256-{hashlib.sha256(data).hexdigest()}"))
    return tuple(found), None


def _labels(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        label: str(row[key]) for label, key in (("task", "task_type"), ("source", "source_type"))
        if row.get(key)
    }  # fmt: skip


def _errata(split: str, number: str, entry: Any, count: int) -> list[int]:
    known = yaml.safe_load((HERE / "errata.yaml").read_text(encoding="utf-8"))
    digits = re.search(r"(\d+)$", str(entry))
    for erratum in known:
        same = (erratum["split"], erratum["number"]) == (split, number[:2])
        if same and digits is not None and int(digits[1]) == erratum["id"]:
            slots = erratum["slots"]
            return list(range(count)) if slots == "all" else [slot - 1 for slot in slots]
    return []
