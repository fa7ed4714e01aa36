"""The ten tasks, and the published archive: papers and their gold.

An archive is a checkout, the ``data.zip`` in it or a folder; the samples that are shipped have its
layout. The records are the authors'; what each task's gold is among them is decided here.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from agents.base import Image
from experiments.benchmarks.curie.marks import sides
from experiments.benchmarks.release import (
    AbsentError,
    Folder,
    ReleaseError,
    content,
    find,
    listed,
    picture,
)
from foundation.configuration import data_of

#: How an answer is read: JSON, code, a FASTA sequence, a box in degrees, or text as it is.
Form = Literal["json", "code", "fasta", "box", "text"]
#: Variants of MPV.
Variant = Literal["all", "non_trivial", "specific"]


@dataclass(frozen=True)
class CurieTask:
    """One of the ten tasks; ``tasks.yaml`` has them, and says what each key means."""

    name: str
    domain: str
    prompt_file: str
    form: Form
    ask: str
    key: str = ""
    classes: str = ""
    listed: bool = False
    eval_file: str = ""


_DATA: Mapping[str, Any] = data_of(__file__, "tasks")


def tasks(variant: Variant = "all") -> tuple[CurieTask, ...]:
    """The ten tasks, with property values in a variant."""
    base, more = (
        tuple(CurieTask(**entry) for entry in _DATA["tasks"]),
        _DATA["variants"][variant],
    )
    return tuple(
        replace(
            task,
            ask=task.ask + more["ask"],
            prompt_file=task.prompt_file + more["file"],
        )
        if task.name == "mpv"
        else task
        for task in base
    )


TASKS = tasks()
NAMES = tuple(task.name for task in TASKS)
SAMPLES = Path(__file__).with_name("samples")
#: Keys that say where a record comes from.
_ORIGIN = {"record_id", "arxiv_id", "paper_id"}
_MPV_EXTRA = _ORIGIN | {"synonyms", "index", "trivia"}
_DOMAINS = {"dft", "pdb", "mpve", "biogr", "geo"}
_OTHER_NAMES = {"qecc_65": "qecc_85"}
#: A call in the source of a program; programs are no valid Python in places, so no syntax tree.
_CALL = re.compile(
    r"""(\w+)\s*\.\s*parse_raw\(\s*[rRuU]*('''|\"\"\"|'|")(.*?)\2\s*,?\s*\)""",
    re.DOTALL,
)


@dataclass(frozen=True)
class Paper:
    """A document, its picture if any, and the ground truth, or why nothing can be asked."""

    id: str
    domain: str
    text: str
    record: Any
    image: Image | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    missing: str | None = None


def gold_of(task: CurieTask, record: Any, variant: Variant = "all") -> Any:
    """What is right for a task; ``None`` where the record holds nothing for it."""
    if task.name == "mpv":
        listed = record if isinstance(record, list) else []
        entries = [e for e in listed if isinstance(e, Mapping) and _wanted(e, variant)]
        return [
            {k: v for k, v in e.items() if k not in _MPV_EXTRA} for e in entries
        ] or None
    if not isinstance(record, Mapping):
        return record or None
    if task.classes:
        return parsed(str(record.get(task.key, "")), task.classes) or None
    if task.key:
        return record.get(task.key) or None
    if task.form == "box":
        box = sides(record)
        return None if box is None else dict(zip("WSEN", box, strict=True))
    values = without_origin(record)
    return next(iter(values.values())) if len(values) == 1 else values or None


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
    read = (
        _entry(quote, text)
        for kind, quote, text in _CALL.findall(code)
        if kind.startswith(name)
    )
    return [_known(each) for each in read if each]


def _known(entry: dict[str, Any]) -> dict[str, Any]:
    """What an entry says, at any depth."""
    values = {k: _known(v) if isinstance(v, dict) else v for k, v in entry.items()}
    return {k: v for k, v in values.items() if v not in (None, "NaN", {})}


def _entry(quote: str, text: str) -> dict[str, Any]:
    for reading in (str, lambda text: str(ast.literal_eval(f"{quote}{text}{quote}"))):
        try:
            value = json.loads(
                reading(text), strict=False, parse_constant=lambda _: None
            )
        except (ValueError, SyntaxError, RecursionError):
            continue
        return value if isinstance(value, dict) else {}
    return {}


def read_archive(path: str | Path | None, domain: str) -> Iterator[Paper]:
    """All papers of a domain, in the order of their names.

    A record that cannot be read is there with the reason; the others are not touched by it.
    """
    zipped = Path(path or "").expanduser() / "data" / "data.zip"
    data = find(
        zipped if zipped.is_file() else path,
        _DOMAINS,
        "CHECKOUT (or the data.zip in it)",
    )
    levels = data / "difficulty_levels.json"
    difficulty = content(levels) if levels.exists() else {}
    names = [
        name
        for name in (domain, _OTHER_NAMES.get(domain, domain))
        if (data / name).exists()
    ]
    if not names:
        raise AbsentError(f"{data} has no folder {domain}")
    difficulties = difficulty.get(names[0], difficulty.get(domain, {}))
    for truth in listed(data / names[0] / "ground_truth"):
        if truth.name.endswith(".json"):
            yield _paper(domain, data / names[0], truth, difficulties)


def _paper(
    domain: str, folder: Folder, truth: Folder, levels: Mapping[str, str]
) -> Paper:
    name = truth.name.removesuffix(".json")
    missing, record, text = None, None, ""
    try:
        record = content(truth)
        text = str(content(folder / "inputs" / truth.name)["text"])
    except ReleaseError as error:
        missing = str(error)
    except (KeyError, TypeError):
        missing = f"{name}: its input has no text"
    image = folder / "inputs" / f"{name}.png"
    attachment = picture(image) if domain == "biogr" and image.exists() else None
    level = str(levels.get(name, "")).lower()
    return Paper(
        name,
        domain,
        text,
        record,
        attachment,
        {"difficulty": level} if level else {},
        missing,
    )


def published_prompt(path: str | None, name: str) -> str | None:
    """One of the authors' prompts, from their checkout; ``None`` where it is not there."""
    root = Path(path or "").expanduser()
    files = sorted(root.rglob(f"{name}.txt")) if path and name and root.is_dir() else []
    return files[0].read_text(encoding="utf-8") if files else None


def _wanted(entry: Mapping[str, Any], variant: Variant) -> bool:
    if variant == "specific":
        name = str(entry.get("property_name", "")).lower()
        return any(spelling in name for spelling in _DATA["specific"])
    return variant == "all" or not entry.get("trivia")
