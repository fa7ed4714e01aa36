"""The published archive: papers and their gold, from a checkout, its ``data.zip`` or a folder.

The records are the authors'; what each task's gold is among them is decided here. The samples that
are shipped have the same layout, so that both go the same way.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.base import Image
from experiments.benchmarks.curie.marks import sides
from experiments.benchmarks.curie.tasks import Task, Variant
from experiments.benchmarks.release import Folder, ReleaseError, content, find, listed, picture

SAMPLES = Path(__file__).with_name("samples")
#: Keys that say where a record comes from.
_ORIGIN = {"record_id", "arxiv_id", "paper_id"}
_MPV_EXTRA = _ORIGIN | {"synonyms", "index", "trivia"}
_DOMAINS = {"dft", "pdb", "mpve", "biogr", "geo"}
_OTHER_NAMES = {"qecc_65": ("qecc_85",)}
_SPECIFIC = ("bandgap", "band gap", "band-gap", "gap energy", "energy gap", "refractive_index",
             "refractive index", "index of refraction", "n-value", "n value")  # fmt: skip
_CLASSES = {"dft_s": "StructureMetadata", "dft_p": "DFTParameters"}
#: A call in the source of a program; programs are no valid Python in places, so no syntax tree.
_CALL = re.compile(
    r"""(\w+)\s*\.\s*parse_raw\(\s*[rRuU]*('''|\"\"\"|'|")(.*?)\2\s*,?\s*\)""", re.DOTALL
)


@dataclass(frozen=True)
class Paper:
    """A document, its picture if any, and the ground truth, or why nothing can be asked."""

    id: str
    domain: str
    text: str = field(repr=False)
    record: Any = field(repr=False)
    image: Image | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    missing: str | None = None


def gold(task: Task, record: Any, variant: Variant = "all") -> Any:
    """What is right for a task; ``None`` where the record holds nothing for it."""
    if task.name == "mpv":
        listed = record if isinstance(record, list) else []
        entries = [e for e in listed if isinstance(e, Mapping) and _wanted(e, variant)]
        return [{k: v for k, v in e.items() if k not in _MPV_EXTRA} for e in entries] or None
    if not isinstance(record, Mapping):
        return record or None
    if task.name in _CLASSES:
        return parsed(str(record.get("no_header_code", "")), _CLASSES[task.name]) or None
    if task.name == "dft_c":
        return record.get("no_header_code") or None
    if task.name == "pdb":
        return record.get("sequence") or None
    if task.name == "biogr":
        box = sides(record)
        return None if box is None else dict(zip("WSEN", box, strict=True))
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

    Each text is read as it stands in the source, and as a literal only where that is no JSON:
    most that hold a backslash are JSON before Python resolves it. One that cannot be read is
    left out.
    """
    read = (_entry(quote, text) for kind, quote, text in _CALL.findall(code)
            if kind.startswith(name))  # fmt: skip
    return [_known(each) for each in read if each]


def _known(entry: dict[str, Any]) -> dict[str, Any]:
    """What an entry says, at any depth."""
    told = {k: _known(v) if isinstance(v, dict) else v for k, v in entry.items()}
    return {k: v for k, v in told.items() if not (_nan(v) or v == {})}


def _entry(quote: str, text: str) -> dict[str, Any]:
    for reading in (str, lambda text: str(ast.literal_eval(f"{quote}{text}{quote}"))):
        try:
            value = json.loads(reading(text), strict=False)
        except (ValueError, SyntaxError, RecursionError):
            continue
        return value if isinstance(value, dict) else {}
    return {}


def read_archive(path: str | Path | None, domains: set[str]) -> Iterator[Paper]:
    """All papers of some domains, in the order of their names.

    A record that cannot be read is there with the reason; the others are not touched by it.
    """
    zipped = Path(path or "").expanduser() / "data" / "data.zip"
    data = find(zipped if zipped.is_file() else path, _DOMAINS, "CHECKOUT (or the data.zip in it)")
    levels = data / "difficulty_levels.json"
    difficulty = content(levels) if levels.exists() else {}
    for domain in sorted(domains):
        names = [name for name in (domain, *_OTHER_NAMES.get(domain, ())) if (data / name).exists()]
        if not names:
            raise ReleaseError(f"{data} has no folder {domain}; path= must name CURIE's data")
        known = difficulty.get(names[0], difficulty.get(domain, {}))
        for truth in listed(data / names[0] / "ground_truth"):
            if truth.name.endswith(".json"):
                yield _paper(domain, data / names[0], truth, known)


def _paper(domain: str, folder: Folder, truth: Folder, known: Mapping[str, str]) -> Paper:
    name = truth.name.removesuffix(".json")
    missing, record, text = None, None, ""
    try:
        record = content(truth)
        text = str(content(folder / "inputs" / truth.name)["text"])
    except (ReleaseError, KeyError, TypeError) as error:
        missing = (
            f"{error}" if isinstance(error, ReleaseError) else f"{name}: its input has no text"
        )
    image = folder / "inputs" / f"{name}.png"
    shown = picture(image) if domain == "biogr" and image.exists() else None
    level = str(known.get(name, "")).lower()
    return Paper(name, domain, text, record, shown, {"difficulty": level} if level else {}, missing)


def published_prompt(path: str | None, name: str) -> str | None:
    """One of the authors' prompts, from their checkout; ``None`` where it is not there."""
    root = Path(path or "").expanduser()
    found = sorted(root.rglob(f"{name}.txt")) if path and root.is_dir() else []
    return found[0].read_text(encoding="utf-8") if found else None


def _wanted(entry: Mapping[str, Any], variant: Variant) -> bool:
    if variant == "specific":
        name = str(entry.get("property_name", "")).lower()
        return any(spelling in name for spelling in _SPECIFIC)
    return variant == "all" or not entry.get("trivia")


def _nan(value: object) -> bool:
    return value is None or value == "NaN" or (isinstance(value, float) and math.isnan(value))
