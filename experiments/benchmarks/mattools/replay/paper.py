"""What the paper publishes about each run, and which folder of recordings is which run.

The figures are facts of the paper's Tables 2-7 (``paper.yaml``); the layout is that of the
authors' repository: ``<system>/round<n>/<model>_method<k>/function_generation_results.jsonl``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

PAPER = Path(__file__).with_name("paper.yaml")
QUESTIONS, PROPERTIES = 49, 138

#: Folder of the authors' repository to the name of the system in their tables.
SYSTEMS = {
    "pure_agent_test": "single",
    "rag_agent_test": "rag",
    "agentic_rag_test": "agentic",
    "mtr_rag_test": "reflect",
}
#: Number at the end of a folder's name to what is retrieved, in the order of Tables 3-6.
RETRIEVAL = {"1": "code", "2": "official_doc", "3": "llm_doc_semantic", "4": "llm_doc"}

_MODEL = re.compile(r"(?P<model>.+?)(?:_(?:method)?(?P<number>\d+))?")


class RunKey(NamedTuple):
    """Names a run of the paper."""

    system: str
    model: str
    retrieval: str
    round: int


class Figures(NamedTuple):
    """What is published about a run: functions of 49, properties of 138."""

    runnable: int
    properties: int


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    table: int
    system: str
    model: str
    retrieval: str
    runnable: list[int]
    properties: list[int]
    note: str = ""


@cache
def published() -> Mapping[RunKey, Figures]:
    """All published figures."""
    entries = TypeAdapter(list[_Entry]).validate_python(yaml.safe_load(PAPER.read_text("utf-8")))
    return {
        RunKey(entry.system, entry.model, entry.retrieval, number): Figures(*figures)
        for entry in entries
        for number, figures in enumerate(zip(entry.runnable, entry.properties, strict=True), 1)
    }


def key_of_folder(folder: Path) -> RunKey | None:
    """The run that a folder holds by its names; ``None`` when they leave anything open."""
    parts = [part.casefold() for part in reversed(folder.parts)]
    system = next((SYSTEMS[part] for part in parts if part in SYSTEMS), None)
    rounds = [found[1] for part in parts if (found := re.fullmatch(r"round_?(\d+)", part))]
    named = _MODEL.fullmatch(folder.name)
    if system is None or not rounds or named is None:
        return None
    if system == "single":
        return RunKey(system, folder.name, "none", int(rounds[0]))
    retrieval = RETRIEVAL.get(named["number"] or "")
    return None if retrieval is None else RunKey(system, named["model"], retrieval, int(rounds[0]))
