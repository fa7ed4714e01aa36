"""The benchmark ``curie``: made papers, or the authors' archive."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from agents.answer_formats import CODE, Text
from agents.base import Document, Image, Question
from experiments.benchmarks.curie import grade
from experiments.benchmarks.curie.archive import (
    CurieError,
    Paper,
    gold,
    published_prompt,
    read_archive,
    without_origin,
)
from experiments.benchmarks.curie.extracts import Ranking, extract, recall, spans
from experiments.benchmarks.curie.generate import generate
from experiments.benchmarks.curie.prose import POSITIONS, Position
from experiments.benchmarks.curie.scorer import CurieScorer, Overall
from experiments.benchmarks.curie.tasks import (
    NAMES,
    PAPER,
    PICTURE,
    TASKS,
    Task,
    Variant,
    own_prompt,
    prompt_file,
)
from experiments.samples import Sample
from sandbox.environments import cache_folder

Source = Literal["generated", "published"]
Arm = Literal["direct", "retrieval", "tool"]
Prompts = Literal["own", "published"]

_TOOL = """\
The file `{file}` holds {what}.

Write a function without arguments that reads the file and returns the dict {{"answer": TEXT}}, in \
which TEXT is the reply to this:

{ask}"""


@dataclass(frozen=True)
class CurieBenchmark:
    """The benchmark ``curie``.

    Parameters
    ----------
    source
        ``generated`` from ``seed``, or ``published`` from ``path``.
    path
        The authors' checkout, the data.zip in it, or a folder with its content.
    arm
        ``direct``: the whole paper in the prompt; ``retrieval``: the ``k`` chunks of it that a
        lexical index finds; ``tool``: the paper is a mounted file, and a function answers.
    tasks
        Which of the ten; empty: all.
    items
        Made papers for each folder of the archive.
    words
        Lengths of made papers.
    positions
        Where made papers have their evidence; they take turns.
    mpv
        Which property values count.
    prompts
        Our own, or the authors' from the checkout.
    overall
        What the overall score takes of the three tasks with lists: ROUGE-L (``table``, as in the
        paper's table) or LLMSim (``figure``, as in the authors' notebook).
    """

    source: Source = "generated"
    path: str | None = None
    arm: Arm = "direct"
    tasks: Sequence[str] = ()
    seed: int = 1
    items: int = 3
    words: Sequence[int] = (1000, 8000, 32000)
    positions: Sequence[Position] = POSITIONS
    mpv: Variant = "all"
    prompts: Prompts = "own"
    k: int = 12
    ranking: Ranking = "bm25"
    overall: Overall = "table"
    name: str = "curie"
    packages: Sequence[str] = ("ase",)

    def __post_init__(self) -> None:
        for key, value, known in (
            ("source", (self.source,), ("generated", "published")),
            ("arm", (self.arm,), ("direct", "retrieval", "tool")),
            ("tasks", self.tasks, NAMES),
            ("positions", self.positions, POSITIONS),
            ("mpv", (self.mpv,), ("all", "non_trivial", "specific")),
            ("prompts", (self.prompts,), ("own", "published")),
            ("ranking", (self.ranking,), ("tfidf", "bm25")),
            ("overall", (self.overall,), ("table", "figure")),
        ):
            for each in value:
                if each not in known:
                    raise CurieError(f"{key}={each}: choose of {', '.join(known)}")
        if not self.positions or not self.words or min(self.words) < 100:
            raise CurieError("words and positions must name at least one, words from 100 on")
        if self.prompts == "published" and (self.source, self.arm) != ("published", "direct"):
            raise CurieError("prompts=published belongs to source=published arm=direct")

    @property
    def scorer(self) -> CurieScorer:
        """See :class:`experiments.samples.Benchmark`."""
        return CurieScorer(self.overall)

    def load(self) -> list[Sample]:
        """All questions; short papers first, so that a limit covers every task.

        Raises
        ------
        CurieError
            When published data are missing or unreadable.
        """
        wanted = [task for task in TASKS if not self.tasks or task.name in self.tasks]
        domains = list(dict.fromkeys(task.domain for task in wanted))
        return [
            self._sample(task, paper)
            for paper in self._papers(domains)
            for task in wanted
            if task.domain == paper.domain
        ]

    def _papers(self, domains: Sequence[str]) -> Iterator[Paper]:
        if self.source == "generated":
            yield from generate(
                seed=self.seed, items=self.items, words=self.words, domains=domains,
                positions=self.positions,
            )  # fmt: skip
            return
        yield from read_archive(self.path, set(domains))

    def _sample(self, task: Task, paper: Paper) -> Sample:
        right = gold(task, paper.record, self.mpv)
        shown = paper.text
        target: dict[str, Any] = {
            "task": task.name, "form": task.form, "listed": task.listed, "gold": right,
            "clean": paper.facts.get("reference") if task.name == "dft_c" else None,
            "record": without_origin(paper.record), "ask": own_prompt(task, self.mpv),
            "reference": paper.facts.get("reference") if task.name == "dft_c" else None,
            "length": len(paper.text), "spans": spans(paper.text, paper.evidence),
        }  # fmt: skip
        target["clean"] = target["clean"] or _reference(task, right)
        if self.arm == "retrieval" and paper.text.strip():
            found = extract(paper.text, own_prompt(task, self.mpv), self.k, self.ranking)
            target |= {"shown": found.spans, "evidence": recall(paper.evidence, found.text)}
            shown = found.text
        return Sample(
            self._question(task, paper, shown),
            environment="live",
            labels={"task": task.name, **{k: v for k, v in paper.labels.items() if k != "domain"}},
            target=target,
            cluster=paper.cluster,
            unavailable=None if right is not None else "the archive has no gold of it",
        )

    def _question(self, task: Task, paper: Paper, shown: str) -> Question:
        name, ask = f"{task.name}-{paper.id}", own_prompt(task, self.mpv)
        pictures = (paper.image,) if paper.image else ()
        if self.arm == "tool":
            files = {PAPER: str(_kept(shown.encode(), "txt"))}
            if paper.image:
                files[PICTURE] = str(_kept_image(paper.image))
            what = "the paper" if not paper.image else f"the caption of the map in `{PICTURE}`"
            prompt = _TOOL.format(file=PAPER, what=what, ask=ask)
            return Question(
                name, prompt, {"answer": "str"}, files, search=ask, answer=CODE, parts=pictures
            )
        if self.prompts == "published":
            prompt = published_prompt(self.path, prompt_file(task, self.mpv))
            return Question(
                name, prompt.replace("{{text}}", shown), search=ask, answer=Text(), parts=pictures
            )
        given = Document(PAPER if self.arm == "direct" else "extracts of the paper", shown)
        return Question(name, ask, search=ask, answer=Text(), parts=(given, *pictures))


def _reference(task: Task, right: Any) -> str:
    """What was asked for, as text."""
    if right is None or isinstance(right, str):
        return right or ""
    if task.form == "text" and isinstance(right, Mapping):
        return str(yaml.safe_dump(dict(right), sort_keys=False, allow_unicode=True))
    return grade.compact(right)


def _kept(data: bytes, ending: str) -> Path:
    """An input file on the host, under its content."""
    return _written(hashlib.sha256(data).hexdigest()[:16], data, ending)


def _kept_image(image: Image) -> Path:
    # By its key: another version of the drawing library is no other question.
    return _written(hashlib.sha256(image.key.encode()).hexdigest()[:16], image.data, "png")


def _written(digest: str, data: bytes, ending: str) -> Path:
    path = cache_folder() / "questions" / "curie" / f"{digest}.{ending}"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return path
