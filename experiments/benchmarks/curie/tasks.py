"""The ten tasks: what each asks of a paper, and in which form its answer is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from experiments.samples import data_of

#: How an answer is read: JSON, code, a FASTA sequence, a box in degrees, or text as it is.
Form = Literal["json", "code", "fasta", "box", "text"]
#: Variants of MPV.
Variant = Literal["all", "non_trivial", "specific"]

PAPER, PICTURE = "paper.txt", "map.png"


@dataclass(frozen=True)
class Task:
    """One of the ten tasks; ``tasks.yaml`` has them, and says what each key means."""

    name: str
    domain: str
    prompt_file: str
    form: Form
    ask: str
    listed: bool = False
    eval_file: str = ""


_DATA: Mapping[str, Any] = data_of(__file__)
TASKS = tuple(Task(**entry) for entry in _DATA["tasks"])
#: What prompts and judges are told.
PROMPTS: Mapping[str, str] = data_of(__file__, "prompts")
NAMES = tuple(task.name for task in TASKS)


def prompt_file(task: Task, variant: Variant) -> str:
    """Name of the authors' prompt."""
    return task.prompt_file + (_DATA["variants"][variant]["file"] if task.name == "mpv" else "")


def own_prompt(task: Task, variant: Variant) -> str:
    """Our own prompt."""
    return task.ask.replace("{variant}", _DATA["variants"][variant]["ask"])
