"""The published archive: papers and their gold, from a checkout, its ``data.zip`` or a folder.

The records are the authors'; what each task's gold is among them is decided here. Papers that are
made from a seed have records of the same form, so that both go the same way.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.base import Image
from experiments.benchmarks.curie.tasks import Task, Variant

#: Keys that say where a record comes from.
_ORIGIN = {"record_id", "arxiv_id", "paper_id"}
_MPV_EXTRA = _ORIGIN | {"synonyms", "index", "trivia"}
_OTHER_NAMES = {"qecc_65": ("qecc_65", "qecc_85")}
_SPECIFIC = ("band gap", "bandgap", "band-gap", "energy gap", "refractive index",
             "index of refraction", "n value")  # fmt: skip
_CLASSES = {"dft_s": "StructureMetadata", "dft_p": "DFTParameters"}

Folder = Path | zipfile.Path


class CurieError(ValueError):
    """The published data are not where or what they should be, or an option is wrong."""


@dataclass(frozen=True)
class Paper:
    """A document, its picture if any, and what is right about it.

    Attributes
    ----------
    record
        Ground truth in the form of the archive.
    labels
        Difficulty; of made papers also length and position of the evidence.
    evidence
        Passages of ``text`` that hold the gold, where they are known.
    facts
        What made papers are judged by beside the record.
    cluster
        The paper that it is a version of.
    """

    id: str
    domain: str
    text: str = field(repr=False)
    record: Any = field(repr=False)
    image: Image | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    cluster: str = ""


def gold(task: Task, record: Any, variant: Variant = "all") -> Any:
    """What is right for a task; ``None`` where the record holds nothing for it."""
    if task.name in _CLASSES:
        return parsed(record.get("no_header_code", ""), _CLASSES[task.name]) or None
    if task.name == "dft_c":
        return record.get("no_header_code") or None
    if task.name == "mpv":
        entries = [entry for entry in record if _wanted(entry, variant)]
        return [{k: v for k, v in e.items() if k not in _MPV_EXTRA} for e in entries] or None
    if task.name == "pdb":
        return record.get("sequence") or None
    if task.name == "biogr":
        box = {side: _degrees(record.get(side)) for side in "WSEN"}
        return None if None in box.values() else box
    if not isinstance(record, Mapping):
        return record or None
    kept = without_origin(record)
    return next(iter(kept.values())) if len(kept) == 1 else kept or None


def without_origin(record: Any) -> Any:
    """A record without where it comes from: what the authors compare with, as text."""
    if isinstance(record, list):
        return [without_origin(each) for each in record]
    if isinstance(record, Mapping):
        return {key: value for key, value in record.items() if key not in _ORIGIN}
    return record


def parsed(code: str, name: str) -> list[dict[str, Any]]:
    """The dicts that a program gives to ``<name>*.parse_raw('...')``, without what is NaN.

    Raises
    ------
    CurieError
        When it is not Python, or a text not JSON.
    """
    found = []
    try:
        calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
        for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
            function = call.func
            if not (isinstance(function, ast.Attribute) and function.attr == "parse_raw"):
                continue
            if isinstance(function.value, ast.Name) and function.value.id.startswith(name):
                found.append(json.loads(ast.literal_eval(call.args[0])))
    except (SyntaxError, ValueError, IndexError, TypeError, RecursionError) as error:
        raise CurieError(f"the gold of {name} cannot be read: {error}") from error
    return [{k: v for k, v in each.items() if not _nan(v)} for each in found]


def read_archive(path: str | None, domains: set[str]) -> Iterator[Paper]:
    """All papers of some domains, in the order of their names.

    Raises
    ------
    CurieError
        When the archive, or a file in it, is missing or unreadable.
    """
    data = _data(path)
    levels = data / "difficulty_levels.json"
    difficulty = _load(levels) if levels.exists() else {}
    for domain in sorted(domains):
        folder = next(
            (data / name for name in _OTHER_NAMES.get(domain, (domain,)) if (data / name).exists()),
            None,
        )
        if folder is None:
            raise CurieError(f"{data} has no folder {domain}; path= must name CURIE's data")
        known = difficulty.get(folder.name, difficulty.get(domain, {}))
        truths: list[Folder] = [*(folder / "ground_truth").iterdir()]
        truths.sort(key=lambda file: file.name)
        for truth in truths:
            if truth.name.endswith(".json"):
                yield _paper(domain, folder, truth, known)


def _paper(domain: str, folder: Folder, truth: Folder, known: Mapping[str, str]) -> Paper:
    name = truth.name.removesuffix(".json")
    source = folder / "inputs" / truth.name
    if not source.exists():
        raise CurieError(f"{source} is not there, though {truth} is")
    given = _load(source)
    text = given.get("text", "") if isinstance(given, dict) else ""
    picture = folder / "inputs" / f"{name}.png"
    image = None
    if domain == "biogr" and picture.exists():
        data = picture.read_bytes()
        image = Image(data, "image/png", hashlib.sha256(data).hexdigest())
    level = str(known.get(name, "")).lower()
    labels = {"difficulty": level} if level else {}
    return Paper(name, domain, str(text), _load(truth), image, labels, cluster=f"{domain}/{name}")


def published_prompt(path: str | None, name: str) -> str:
    """One of the authors' prompts, from their checkout.

    Raises
    ------
    CurieError
        When it is not there.
    """
    root = Path(path or "").expanduser()
    found = sorted(root.rglob(f"{name}.txt")) if path and root.is_dir() else []
    if not found:
        raise CurieError(f"prompts=published: no {name}.txt below path={path}; name a checkout")
    return found[0].read_text(encoding="utf-8")


def _data(path: str | None) -> Folder:
    """The folder ``data`` of the archive."""
    if path is None:
        raise CurieError("source=published needs path=CHECKOUT (or the data.zip in it)")
    root = Path(path).expanduser()
    zipped = root if root.suffix == ".zip" else root / "data" / "data.zip"
    if zipped.is_file():
        try:
            inside: Folder = zipfile.Path(zipfile.ZipFile(zipped))
        except zipfile.BadZipFile as error:
            raise CurieError(f"{zipped} is no archive (a Git LFS pointer?): {error}") from error
        return inside / "data" if (inside / "data").exists() else inside
    for folder in (root / "data", root):
        if any((folder / domain).is_dir() for domain in ("dft", "pdb", "mpve", "biogr", "geo")):
            return folder
    raise CurieError(f"{root} holds no CURIE data; name a checkout of google/curie or its data.zip")


def _load(file: Folder) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CurieError(f"{file} cannot be read: {error}") from error


def _wanted(entry: Mapping[str, Any], variant: Variant) -> bool:
    if variant == "specific":
        name = str(entry.get("property_name", "")).lower()
        return any(spelling in name for spelling in _SPECIFIC)
    return variant == "all" or not entry.get("trivia")


def _nan(value: object) -> bool:
    return value is None or value == "NaN" or (isinstance(value, float) and math.isnan(value))


def _degrees(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
