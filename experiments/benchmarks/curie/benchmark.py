"""The benchmark ``curie``: a few samples, or the authors' archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import yaml

from agents.answer_formats import CODE, Text
from agents.base import Document, Question
from experiments.benchmarks.curie import grade
from experiments.benchmarks.curie.archive import (
    SAMPLES,
    Paper,
    gold,
    published_prompt,
    read_archive,
    without_origin,
)
from experiments.benchmarks.curie.scorer import CurieScorer, Overall
from experiments.benchmarks.curie.tasks import (
    NAMES,
    PAPER,
    PICTURE,
    PROMPTS,
    TASKS,
    Task,
    Variant,
    own_prompt,
    prompt_file,
)
from experiments.benchmarks.release import ReleaseError
from experiments.samples import Sample, kept

Source = Literal["samples", "published"]
Arm = Literal["direct", "retrieval", "tool"]
Prompts = Literal["own", "published"]


@dataclass(frozen=True)
class CurieBenchmark:
    """The benchmark ``curie``; ``conf/benchmark/curie.yaml`` explains its keys."""

    source: Source = "samples"
    path: str | None = None
    arm: Arm = "direct"
    tasks: Sequence[str] = ()
    mpv: Variant = "all"
    prompts: Prompts = "own"
    overall: Overall = "table"
    name: str = "curie"
    #: None: what is retrieved from is the paper of each question.
    packages: Sequence[str] = ()

    def __post_init__(self) -> None:
        for task in self.tasks:
            if task not in NAMES:
                raise ReleaseError(f"tasks={task}: choose of {', '.join(NAMES)}")
        if self.prompts == "published" and (self.source, self.arm) != ("published", "direct"):
            raise ReleaseError("prompts=published belongs to source=published arm=direct")

    @property
    def scorer(self) -> CurieScorer:
        """See :class:`experiments.samples.Benchmark`."""
        return CurieScorer(self.overall)

    def load(self) -> list[Sample]:
        """All questions, paper by paper over the tasks, so that a limit covers every task."""
        wanted = [task for task in TASKS if not self.tasks or task.name in self.tasks]
        path = SAMPLES if self.source == "samples" else self.path
        queues = {
            domain: list(read_archive(path, {domain}))
            for domain in dict.fromkeys(task.domain for task in wanted)
        }
        rounds = range(max(map(len, queues.values()), default=0))
        return [
            self._sample(task, queues[task.domain][number])
            for number in rounds
            for task in wanted
            if number < len(queues[task.domain])
        ]

    def _sample(self, task: Task, paper: Paper) -> Sample:
        right = gold(task, paper.record, self.mpv)
        clean = _reference(task, right)
        return Sample(
            self._question(task, paper),
            environment="live",
            labels={"task": task.name, **paper.labels},
            target={
                "task": task.name, "form": task.form, "listed": task.listed, "gold": right,
                "clean": clean, "record": without_origin(paper.record),
                "ask": own_prompt(task, self.mpv),
                "eval": published_prompt(self.path, task.eval_file) if task.eval_file else None,
            },
            cluster=f"{paper.domain}/{paper.id}",
            unavailable=paper.missing or (None if right is not None else
                                          f"{paper.id}: its record has no gold for {task.name}"),
            reference=f">gold\n{right}\n" if task.form == "fasta" else clean or None,
        )  # fmt: skip

    def _question(self, task: Task, paper: Paper) -> Question:
        name, ask = f"{task.name}-{paper.id}", own_prompt(task, self.mpv)
        pictures = (paper.image,) if paper.image else ()
        text = Document(PAPER, paper.text)
        if self.arm == "tool":
            files = {PAPER: str(kept("curie", paper.text.encode(), ".txt"))}
            if paper.image:
                files[PICTURE] = str(kept("curie", paper.image.data, ".png"))
            what = "the paper" if not paper.image else f"the caption of the map in `{PICTURE}`"
            prompt = PROMPTS["tool"].format(file=PAPER, what=what, ask=ask)
            return Question(
                name, prompt, {"answer": "str"}, files, search=ask, answer=CODE,
                attachments=pictures, searched=text,
            )  # fmt: skip
        if self.prompts == "published":
            file = prompt_file(task, self.mpv)
            authors = published_prompt(self.path, file)
            if authors is None:
                raise ReleaseError(f"prompts=published: no {file}.txt below path={self.path}")
            prompt = authors.replace("{{text}}", paper.text)
            return Question(
                name, prompt, search=ask, answer=Text(), attachments=pictures, searched=text
            )
        shown = (text,) if self.arm == "direct" or paper.image else ()
        return Question(
            name, ask, search=ask, answer=Text(), attachments=(*shown, *pictures), searched=text
        )


def _reference(task: Task, right: Any) -> str:
    """What was asked for, as text."""
    if right is None or isinstance(right, str):
        return right or ""
    if task.form == "text" and isinstance(right, Mapping):
        return str(yaml.safe_dump(dict(right), sort_keys=False, allow_unicode=True))
    return grade.compact(right)
