"""The benchmark ``curie``: a few samples, or the authors' archive; each task by its own metrics."""

from __future__ import annotations

import contextlib
import json
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

import yaml

from agents.answer_formats import CODE, Text
from agents.base import Document, Question, Trajectory
from agents.models import FAULTS
from experiments.benchmarks.curie import archive, marks
from experiments.benchmarks.curie.archive import CurieTask, Paper, Variant
from experiments.benchmarks.curie.marks import PROMPTS
from experiments.benchmarks.release import AbsentError, ReleaseError
from experiments.samples import Sample, absent, cached_file
from experiments.scorers.base import Metric, Score, Scorer, ScoringContext, read_metrics
from experiments.scorers.beside import MAX_LINES, beside
from experiments.scorers.grading import extract_answer, grade
from experiments.scorers.judge import Judge

PAPER, PICTURE = "paper.txt", "map.png"


@dataclass(frozen=True)
class CurieBenchmark:
    """The benchmark ``curie``; ``conf/benchmark/curie.yaml`` explains its keys."""

    source: Literal["samples", "published"] = "samples"
    path: str | None = None
    arm: Literal["direct", "retrieval", "tool"] = "direct"
    tasks: Sequence[str] = ()
    mpv: Variant = "all"
    prompts: Literal["own", "published"] = "own"
    overall: Overall = "table"
    name: str = "curie"
    #: None: what is retrieved from is the paper of each question.
    packages: Sequence[str] = ()

    def __post_init__(self) -> None:
        for task in self.tasks:
            if task not in archive.NAMES:
                raise ReleaseError(
                    f"tasks={task}: choose of {', '.join(archive.NAMES)}"
                )
        if self.prompts == "published" and (self.source, self.arm) != (
            "published",
            "direct",
        ):
            raise ReleaseError(
                "prompts=published belongs to source=published arm=direct"
            )

    @property
    def scorer(self) -> CurieScorer:
        """See :class:`experiments.benchmarks.Benchmark`."""
        return CurieScorer(self.overall)

    def load(self) -> list[Sample]:
        """All questions, paper by paper over the tasks, so that a limit covers every task."""
        wanted = [
            task
            for task in archive.tasks(self.mpv)
            if not self.tasks or task.name in self.tasks
        ]
        papers: dict[str, list[Paper]] = {}
        lacking: dict[str, str] = {}
        for domain in dict.fromkeys(task.domain for task in wanted):
            try:
                papers[domain] = list(archive.read_archive(self._archive, domain))
            except AbsentError as error:
                lacking[domain] = str(error)
        if not papers:
            raise ReleaseError("; ".join(lacking.values()))
        queues = [
            [self._sample(task, paper) for paper in papers[task.domain]]
            if task.domain in papers
            else [absent(task.name, lacking[task.domain], task=task.name)]
            for task in wanted
        ]
        return [sample for turn in zip_longest(*queues) for sample in turn if sample]

    @property
    def _archive(self) -> str | Path | None:
        return archive.SAMPLES if self.source == "samples" else self.path

    def _sample(self, task: CurieTask, paper: Paper) -> Sample:
        right = archive.gold_of(task, paper.record, self.mpv)
        clean = _reference(task, right)
        return Sample(
            self._question(task, paper),
            environment="live",
            labels={"task": task.name, **paper.labels},
            target={
                "task": task.name,
                "form": task.form,
                "listed": task.listed,
                "gold": right,
                "clean": clean,
                "record": archive.without_origin(paper.record),
                "ask": task.ask,
                "eval": archive.published_prompt(self.path, task.eval_file),
            },
            cluster=f"{paper.domain}/{paper.id}",
            unavailable=paper.missing
            or (
                None
                if right is not None
                else f"{paper.id}: its record has no gold for {task.name}"
            ),
            reference=f">gold\n{right}\n" if task.form == "fasta" else clean or None,
        )

    def _question(self, task: CurieTask, paper: Paper) -> Question:
        prompt = task.ask
        files = {}
        text = Document(PAPER, paper.text)
        pictures = (
            (text,)
            if self.arm == "direct" or (self.arm != "tool" and paper.image)
            else ()
        )
        if self.arm == "tool":
            files[PAPER] = str(cached_file("curie", paper.text.encode(), ".txt"))
            if paper.image:
                files[PICTURE] = str(cached_file("curie", paper.image.data, ".png"))
            what = (
                "the paper"
                if not paper.image
                else f"the caption of the map in `{PICTURE}`"
            )
            prompt = PROMPTS["tool"].format(file=PAPER, what=what, ask=task.ask)
        elif self.prompts == "published":
            file = task.prompt_file
            pictures = ()
            authors = archive.published_prompt(self.path, file)
            if authors is None:
                raise ReleaseError(
                    f"prompts=published: no {file}.txt below path={self.path}"
                )
            prompt = authors.replace("{{text}}", paper.text)
        return Question(
            f"{task.name}-{paper.id}",
            prompt,
            {"answer": "str"} if files else {},
            files,
            search=task.ask,
            answer=CODE if files else Text(),
            attachments=(*pictures, *filter(None, [paper.image])),
            searched=text,
        )


def _reference(task: CurieTask, right: Any) -> str:
    """What was asked for, as text."""
    if right is None or isinstance(right, str):
        return right or ""
    if task.form == "text" and isinstance(right, Mapping):
        return str(yaml.safe_dump(dict(right), sort_keys=False, allow_unicode=True))
    return json.dumps(right, ensure_ascii=False)


Overall = Literal["table", "figure"]
Values = dict[str, float | None]

GRADER = "experiments.benchmarks.curie.grade"
#: Seconds of processor time for one verification; ROUGE compares long texts token by token.
TIMEOUT = 120.0
#: A score that counts as all right: metrics are ratios of floats.
PERFECT = 1 - 1e-9
#: What a judge sees of an answer that is none.
NOTHING = "(no answer)"
MAX_SHOWN = 20_000  # characters of gold and answer that a report shows
RESIDUES = 60  # of a row of aligned sequences
_METRIC = {"box": "iou", "fasta": "identity"}
_WRONG = {"context": "context", "length": "cut"}
_CODES = {
    "context": FAULTS["context"],
    "cut": FAULTS["length"],
    "empty": "the answer is empty",
    "too_long": "the answer is many times longer than what was asked for",
    "too_expensive": "the answer could not be compared within the time limit",
    "unreadable": "the answer is not in the form asked for",
    "no_answer": "no answer",
}
METRICS = read_metrics(__file__)["all"]


@dataclass(frozen=True)
class CurieScorer(Scorer):
    """Judges an answer to one of the ten tasks; ``overall`` as in the benchmark."""

    overall: Overall = "table"
    metrics: Sequence[Metric] = METRICS
    #: What a verification worker imports once.
    warmup: str = "import json5, Bio.Align\n"

    async def score(
        self, sample: Sample, trajectory: Trajectory, context: ScoringContext
    ) -> Score:
        """See :class:`experiments.scorers.base.Scorer`."""
        answer = await extract_answer(sample, trajectory, context)
        target = sample.target
        text = as_text(answer.value)
        wrong = _WRONG.get(last_fault(trajectory)) or (
            None if text.strip() else "no_answer"
        )
        if wrong is not None:
            text = ""
        rule = "judge_sequence"
        arguments = [target["gold"], text]
        control = [target["gold"], target["gold"]]
        if target["form"] != "fasta":
            given = [target[name] for name in ("form", "clean", "record", "task")]
            rule = "judge"
            arguments = [text, *given]
            control = [target["clean"], *given]
        verdict: Mapping[str, Any] | None = {"error": "no_answer", "status": "error"}
        if text:
            verdict = await grade(
                context, GRADER, rule, *arguments, control=control, timeout=TIMEOUT
            )
        verdict = (
            {"error": "too_expensive", "status": "error"}
            if verdict is None
            else verdict
        )
        unreadable = "unreadable" if verdict.get("status") == "error" else None
        wrong = wrong or verdict.get("error") or unreadable
        values = _measured(target, verdict)
        missed = ""
        figures = _comparison(target, verdict, text)
        if target["listed"]:
            similar, missed, table = await _similar(
                context.judge, sample, verdict.get("value")
            )
            values |= similar
            figures["gold and answer"] = table
        if target["form"] in {"json", "code", "text"}:
            values |= await _judged(context.judge, sample, text)
        name = _METRIC.get(target["form"], "rouge")
        if self.overall == "figure" and target["listed"]:
            name = "llmsim"
        headline = values[name]
        values |= {
            "overall": headline,
            "published": values[f"{name}_published"],
            "readable": float(wrong is None),
            "context": float(wrong == "context"),
            "cut": float(wrong == "cut"),
        }
        passed = (
            None if headline is None else {"answer": headline >= PERFECT}
        )  # None: unknown
        reason = answer.reason or _CODES.get(
            wrong or "", f"scored {headline or 0.0:.3f}"
        )
        return Score(
            outcome=answer.outcome,
            values=values,
            passed=passed,
            reasons={
                part: reason for part, right in (passed or {}).items() if not right
            },
            artefacts={"wrong_type": wrong or "", "wrong_fields": missed},
            figures=figures,
            execution=answer.execution,
        )


def as_text(value: Any) -> str:
    """An answer as text: from a reply, or whatever code has returned."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return ""


def last_fault(trajectory: Trajectory) -> str:
    """What was wrong with the last reply, also where something could be read from it."""
    replies = [step.detail for step in trajectory.steps if step.kind == "model"]
    return str(trajectory.fault or (replies[-1].get("fault") if replies else "") or "")


def _measured(target: Mapping[str, Any], verdict: Mapping[str, Any]) -> Values:
    """The metrics that need no judge and no execution."""
    if target["form"] != "box":
        name = _METRIC.get(target["form"], "rouge")
        return {key: verdict.get(key, 0.0) for key in (name, f"{name}_published")}
    right, box = marks.read_box(target["gold"]), marks.read_box(verdict.get("value"))
    assert right is not None  # a paper without a box is unavailable
    return {
        "iou": marks.iou(right, box) if box else 0.0,
        "iou_published": marks.published_iou(target["gold"], verdict.get("value")),
        "world": marks.iou(right, marks.WORLD),
        "box_offset": marks.offset(right, box) if box else None,
        "box_size": box.area / right.area if box and right.area else None,
    }


def _comparison(
    target: Mapping[str, Any], verdict: Mapping[str, Any], text: str
) -> dict[str, str]:
    """Gold beside answer: aligned sequences with their identities between them, or texts."""
    if verdict.get("rows"):
        gold, answer = verdict["rows"]
        same = "".join(
            "|" if a == b else "." for a, b in zip(gold, answer, strict=True)
        )
        pieces = [
            ["\n".join(line[start : start + RESIDUES] for line in (gold, same, answer))]
            for start in range(0, len(gold), RESIDUES)
        ]
        heads = ("gold above, answer below",)
        unknown = [None] * len(pieces)
        return {"alignment": beside(heads, pieces, unknown, (RESIDUES,))}
    first, second = (
        _lines_of(value) for value in (target["clean"], verdict.get("value") or text)
    )
    ends = range(0, max(len(first), len(second)), MAX_LINES)
    rows = [
        ["\n".join(lines[n : n + MAX_LINES]) for lines in (first, second)] for n in ends
    ]
    return {
        "gold and answer": beside(
            ("gold", "answer"), rows, [None] * len(rows), (58, 58)
        )
    }


def _lines_of(value: Any) -> list[str]:
    """Lines of a text, or of JSON."""
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(value) if isinstance(value, str) else value
    text = (
        value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False, indent=1)
    )
    return [
        part
        for line in text[:MAX_SHOWN].splitlines()
        for part in textwrap.wrap(line, 58)
    ]


async def _similar(
    judge: Judge | None, sample: Sample, value: Any
) -> tuple[Values, str, str]:
    """LLMSim of a list, which fields of its entries are wrong, and a table of the pairs.

    Unknown without a judge, but zero for an answer without entries.
    """
    target = sample.target
    golds = sample.target["gold"]
    entries = marks.entries(value)
    names = (
        "llmsim",
        "llmsim_precision",
        "llmsim_recall",
        "llmsim_published",
        "llmsim_matched",
        "llmsim_entries",
    )
    if not entries or judge is None:
        values: Values = dict.fromkeys(names, None if entries else 0.0)
        values["llmsim_entries"] = None if entries else float(len(golds))
        return values, "", _pairs(golds, entries, [], decided=not entries)
    core = target["task"] == "mpv"
    name = sample.question.id
    pairs = await marks.judged(judge, golds, entries, core=core, sample=name)
    matched = marks.one_to_one(pairs, len(golds), len(entries))
    ours = marks.similarity(len(matched), len(golds), len(entries))
    first = marks.first_named(pairs)
    if target["eval"]:
        first = await marks.judged_by_authors(
            judge, target["eval"], golds, entries, sample=name
        )
    doubled = target["task"] == "dft_s"
    theirs = marks.published(first, len(golds), len(entries), doubled=doubled)
    total = len(golds) + len(entries)
    figures = (
        ours.f1,
        ours.precision,
        ours.recall,
        theirs.f1,
        2.0 * len(matched),
        float(total),
    )
    for kind, number in zip(names[:4], figures, strict=False):
        judge.follows(kind, json.dumps(entries, default=str), number)
    missed = Counter(
        key for pair in matched for key, agrees in pair.fields.items() if not agrees
    )
    wrong = ", ".join(f"{key} {count}" for key, count in missed.most_common())
    return (
        dict(zip(names, figures, strict=True)),
        wrong,
        _pairs(golds, entries, matched, decided=True),
    )


def _pairs(
    golds: Sequence[Any],
    entries: Sequence[Any],
    matched: Sequence[marks.Pair],
    *,
    decided: bool,
) -> str:
    """Every gold entry beside the one that was taken for it, then what nothing was taken for."""
    taken = {pair.gold: pair for pair in matched}
    rows = []
    right = []
    for number, gold in enumerate(golds):
        pair = taken.get(number)
        off = [key for key, agrees in pair.fields.items() if not agrees] if pair else []
        rows.append(
            (_brief(gold), _brief(entries[pair.entry]) if pair else "", ", ".join(off))
        )
        right.append(pair is not None if decided else None)
    left = [
        entry for n, entry in enumerate(entries) if n not in {p.entry for p in matched}
    ]
    rows += [("", _brief(entry), "") for entry in left]
    right += [False if decided else None for _ in left]
    return beside(("gold", "answer", "fields that differ"), rows, right, (54, 54, 18))


def _brief(entry: Any) -> str:
    return json.dumps(entry, ensure_ascii=False, default=str)[:MAX_SHOWN]


async def _judged(judge: Judge | None, sample: Sample, text: str) -> Values:
    """LMScore; an answer that is none is bad, whatever a judge says."""
    if judge is None:
        return {}
    target = sample.target
    ask = PROMPTS["lmscore"].format(task=target["ask"], gold=target["clean"])
    name = f"{sample.question.id}:lmscore"
    reply = await judge.ask(ask, text or NOTHING, sample=name, logprobs=5)
    tokens = (marks.lmscore(each) for each in reply.logprobs or ())
    weight = next((mark for mark in tokens if mark is not None), None)
    kind = "lmscore"
    if weight is None:  # the judge's endpoint decides on the column
        weight = marks.word_mark(reply.text)
        kind = "lmscore_word"
    weight = weight if text else 0.0
    if weight is not None:
        judge.follows(kind, text or NOTHING, weight)
    return {kind: weight}
