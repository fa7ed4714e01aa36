"""The level ``package``: the goal prompts, with definitions left to the package's documentation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import yaml

from experiments.benchmarks.question_format import QuestionError, TaskSpec

TEXTS = Path(__file__).with_name("package_level.yaml")
Edit = Mapping[str, str]


@cache
def edits() -> Mapping[str, Sequence[Edit]]:
    """Question -> what is cut, what is put there, and what documents it (see the file's head)."""
    found: dict[str, list[Edit]] = yaml.safe_load(TEXTS.read_text(encoding="utf-8"))
    return found


def package_spec(question_id: str, spec: TaskSpec) -> TaskSpec:
    """The specification of a question of ``live``, as this level words it.

    Raises
    ------
    QuestionError
        When the question has no such wording, or its text has changed since.
    """
    if question_id not in edits():
        msg = f"{TEXTS.name}: has no wording of {question_id}; write one, or use level=goal"
        raise QuestionError(msg)
    texts = [spec.goal, *(" ".join(prop.description.split()) for prop in spec.properties)]
    for edit in edits()[question_id]:
        pattern = r"\s+".join(map(re.escape, edit["cut"].split()))
        pattern = (r"\s*" if edit["cut"][:1] == " " else "") + pattern
        counts = [len(re.findall(pattern, text)) for text in texts]
        if sum(counts) != 1:
            msg = f"{TEXTS.name}: {question_id}: not once in its text: {edit['cut'][:60]!r}"
            raise QuestionError(msg)
        place = counts.index(1)
        texts[place] = re.sub(pattern, lambda _: edit["put"], texts[place])  # noqa: B023
    properties = [
        prop.model_copy(update={"description": text})
        for prop, text in zip(spec.properties, texts[1:], strict=True)
    ]
    return spec.model_copy(update={"goal": texts[0], "properties": properties})
