"""Scores answers about papers: each task by its own metrics, the authors' way and a right one."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agents.base import Trajectory
from agents.models import FAULTS
from experiments.benchmarks.curie import figures, matching
from experiments.benchmarks.curie.bert import bertscore
from experiments.benchmarks.curie.marks import (
    LMSCORE,
    WORLD,
    iou,
    lmscore,
    offset,
    published_iou,
    read_box,
    word_mark,
)
from experiments.judge import Judge
from experiments.samples import Sample
from experiments.scorers.base import Metric, Score, Tools
from experiments.scorers.grading import Given, given, grade
from sandbox.base import Execution, Outcome, SandboxError

Overall = Literal["table", "figure"]
Values = dict[str, float | None]

GRADER = Path(__file__).with_name("grade.py")
#: Seconds of processor time for one verification; ROUGE compares long texts token by token.
TIMEOUT = 120.0
PART = "answer"
#: A score that counts as all right: metrics are ratios of floats.
PERFECT = 1 - 1e-9
#: Relative error of an energy that still counts.
ENERGY = 0.01
#: What a judge sees of an answer that is none.
NOTHING = "(no answer)"
_WRONG = {"context": "context", "length": "cut"}
_CODES = {
    "context": FAULTS["context"], "cut": FAULTS["length"], "empty": "the answer is empty",
    "too_long": "the answer is many times longer than what was asked for",
    "too_expensive": "the answer could not be compared within the time limit",
    "unreadable": "the answer is not in the form asked for",
    "no_answer": "there is no answer",
}  # fmt: skip


_MINOR = (
    ("rouge_published", "ROUGE-L published", "the same against the whole record, in ASCII"),
    ("llmsim_precision", "LLMSim P", "mean precision of lists"),
    ("llmsim_recall", "LLMSim R", "mean recall of lists"),
    ("llmsim_published", "LLMSim published", "as the authors count: entry 0 never does"),
    ("lmscore_word", "LMScore by word", "the judge's word alone, without probabilities"),
    ("bertscore", "BERTScore", "F1 of BERTScore"),
    ("iou_published", "IoU published", "the same with no order of the sides checked"),
    ("world", "IoU of the world", "what a box around the whole world scores"),
    ("identity_published", "identity published", "the same for the first line only"),
    ("runs", "runs", "code that runs and returns energies"),
    ("energies", "energies", "energies within 1 % of the reference's"),
    ("terms", "terms", "F1 of the terms of the Hamiltonian"),
    ("evidence", "evidence shown", "sentences with the gold that the retriever found"),
    ("readable", "readable", "answers in the form asked for"),
    ("context", "context", "papers that did not fit the model's window"),
    ("cut", "cut", "replies that were cut off at their limit"),
)
_OVERALL = (
    "mean over the tasks of ROUGE-L against what was asked for, IoU with the date line, or "
    "identity over all lines"
)
METRICS = (
    Metric("overall", "overall", _OVERALL, macro="task"),
    Metric("published", "published", "the same as the authors compute it", macro="task"),
    Metric("rouge", "ROUGE-L", "ROUGE-Lsum F1 against what was asked for, once"),
    Metric("llmsim", "LLMSim", "mean F1 of lists, one gold entry for one of the answer's"),
    Metric("lmscore", "LMScore", "good, ok or bad by the probabilities of a judge's word"),
    Metric("iou", "IoU", "overlap of boxes, which may cross the date line"),
    Metric("identity", "identity", "identities over the length of the alignment"),
    *(Metric(name, title, about, minor=True) for name, title, about in _MINOR),
    Metric("llmsim_matched", "LLMSim micro", "F1 over the entries of all lists",
           out_of="llmsim_entries", minor=True),
    Metric("box_offset", "box offset", "distance of the centres over half the gold's diagonal",
           bounded=False, minor=True),
    Metric("box_size", "box size", "area of the box over the gold's", bounded=False, minor=True),
)  # fmt: skip


@dataclass(frozen=True)
class CurieScorer:
    """Judges an answer to one of the ten tasks.

    Attributes
    ----------
    overall
        See :class:`~experiments.benchmarks.curie.benchmark.CurieBenchmark`.
    """

    overall: Overall = "table"
    metrics: Sequence[Metric] = METRICS
    executes: bool = True
    #: What a verification worker imports once.
    warmup: str = "import json5, rouge_score.rouge_scorer, Bio.Align\n"

    def parts(self, sample: Sample) -> Sequence[str]:  # noqa: ARG002 -- the same for all
        """See :class:`experiments.scorers.base.Scorer`."""
        return (PART,)

    async def score(self, sample: Sample, trajectory: Trajectory, tools: Tools) -> Score:
        """See :class:`experiments.scorers.base.Scorer`."""
        answer = await given(sample, trajectory, tools)
        target = sample.target
        text = as_text(answer.value)
        wrong = _WRONG.get(last_fault(trajectory)) or (None if text.strip() else "no_answer")
        if wrong is not None:
            text = ""
        said = await _compared(tools, target, text)
        unreadable = "unreadable" if said.get("status") == "error" else None
        wrong = wrong or said.get("error") or unreadable
        values, missed = _measured(target, said), ""
        shown = _shown(target, said)
        if target["task"] == "dft_c" and target["reference"]:
            ran, execution = await _energies(tools, sample, said.get("value"))
            values |= ran
            answer = Given(answer.value, answer.reason, answer.execution or execution)
        if target["task"] in {"hfe", "hfd"}:
            values["terms"] = await _terms(tools, target["gold"], said.get("value") or text)
        if target["listed"]:
            similar, missed = await _similar(tools.judge, sample, said.get("value"))
            values |= similar
        if target["form"] in {"json", "code", "text"}:
            values |= await _judged(tools.judge, sample, text)
            values["bertscore"] = await asyncio.to_thread(bertscore, target["clean"], text)
        headline, theirs = self._headline(target, values)
        values |= {
            "overall": headline, "published": theirs,
            "evidence": target.get("evidence"), "readable": float(wrong is None),
            "context": float(wrong == "context"), "cut": float(wrong == "cut"),
        }  # fmt: skip
        passed = None if headline is None else {PART: headline >= PERFECT}  # None: unknown
        reason = answer.reason or _CODES.get(wrong or "", f"scored {headline or 0.0:.3f}")
        return Score(
            outcome=answer.outcome,
            values=values,
            passed=passed,
            reasons={part: reason for part, right in (passed or {}).items() if not right},
            artefacts={
                "wrong_type": wrong or "",
                "wrong_fields": missed,
            },
            figures=shown,
            execution=answer.execution,
        )

    def _headline(self, target: Mapping[str, Any], values: Values) -> tuple[Any, Any]:
        """The score of the task, in our mode and in the authors'."""
        if target["form"] == "box":
            return values["iou"], values["iou_published"]
        if target["form"] == "fasta":
            return values["identity"], values["identity_published"]
        if self.overall == "figure" and target["listed"]:
            return values["llmsim"], values["llmsim_published"]
        return values["rouge"], values["rouge_published"]


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


async def _compared(tools: Tools, target: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    """What the grader in the sandbox says of an answer."""
    if not text:
        return {"error": "no_answer", "status": "error"}
    if target["form"] == "fasta":
        rule: tuple[Any, ...] = ("judge_sequence", target["gold"], text)
    else:
        rule = ("judge", text, target["form"], target["clean"], target["record"])
    said = await grade(tools, GRADER, *rule, timeout=TIMEOUT)
    return {"error": "too_expensive", "status": "error"} if said is None else dict(said)


def _measured(target: Mapping[str, Any], said: Mapping[str, Any]) -> Values:
    """The metrics that need no judge and no execution."""
    if target["form"] == "fasta":
        return {key: said.get(key, 0.0) for key in ("identity", "identity_published")}
    if target["form"] != "box":
        return {key: said.get(key, 0.0) for key in ("rouge", "rouge_published")}
    right, found = read_box(target["gold"]), read_box(said.get("value"))
    assert right is not None  # a paper without a box is unavailable
    return {
        "iou": iou(right, found) if found else 0.0,
        "iou_published": published_iou(target["gold"], said.get("value")),
        "world": iou(right, WORLD),
        "box_offset": offset(right, found) if found else None,
        "box_size": found.area / right.area if found and right.area else None,
    }


def _shown(target: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, str]:
    drawn = {}
    if target["spans"]:
        drawn["evidence"] = figures.positions(
            target["length"], target["spans"], target.get("shown", ())
        )
    if target["form"] == "box" and (right := read_box(target["gold"])) is not None:
        drawn["box"] = figures.boxes(right, read_box(said.get("value")))
    if said.get("rows"):
        drawn["alignment"] = figures.alignment(said["rows"])
    return drawn


async def _energies(
    tools: Tools, sample: Sample, code: Any
) -> tuple[dict[str, float], Execution | None]:
    """Whether code runs, and the share of the energies that are right."""
    wanted = {"runs": 0.0, "energies": 0.0}
    if not isinstance(code, str) or "def energies" not in code:
        return wanted, None
    execution = await tools.run(sample, code, "energies")
    found = execution.result
    if execution.outcome is not Outcome.OK or not isinstance(found, dict) or not found:
        return wanted, execution
    if tools.verifier is None:
        raise SandboxError("energies are verified in a sandbox, but there is none")
    reference = await tools.verifier.run(
        sample.target["reference"], "energies", timeout=tools.timeout
    )
    if reference.outcome is not Outcome.OK:
        raise SandboxError(f"the reference did not run: {reference.error}")
    right = {label: _near(found.get(label), energy) for label, energy in reference.result.items()}
    return {"runs": 1.0, "energies": sum(right.values()) / len(right)}, execution


def _near(found: object, energy: float) -> bool:
    known = isinstance(found, int | float) and not isinstance(found, bool)
    return known and abs(float(found) - energy) <= ENERGY * abs(energy)  # type: ignore[arg-type]


async def _terms(tools: Tools, gold: Any, found: Any) -> float | None:
    """Agreement of Hamiltonians term by term; unknown where the gold has another form."""
    rule = "shared_terms" if isinstance(gold, str) else "shared_steps"
    said = await grade(tools, GRADER, rule, gold, found) if found else {"terms": 0.0}
    return None if said is None else said["terms"]


async def _similar(judge: Judge | None, sample: Sample, value: Any) -> tuple[Values, str]:
    """LLMSim of a list, and which fields of its entries are wrong.

    Unknown without a judge, but zero for an answer without entries.
    """
    golds, found = sample.target["gold"], matching.entries(value)
    names = ("llmsim", "llmsim_precision", "llmsim_recall", "llmsim_published", "llmsim_matched",
             "llmsim_entries")  # fmt: skip
    if not found:
        return {**dict.fromkeys(names, 0.0), "llmsim_entries": float(len(golds))}, ""
    if judge is None:
        return dict.fromkeys(names), ""
    core = sample.target["task"] == "mpv"
    pairs = await matching.judged(judge, golds, found, core=core, sample=sample.question.id)
    matched = matching.one_to_one(pairs, len(golds), len(found))
    ours = matching.similarity(len(matched), len(golds), len(found))
    doubled = sample.target["task"] == "dft_s"
    theirs = matching.published(pairs, len(golds), len(found), doubled=doubled)
    total = len(golds) + len(found)
    known = (ours.f1, ours.precision, ours.recall, theirs.f1, 2.0 * len(matched), float(total))
    missed = Counter(key for pair in matched for key, agrees in pair.fields.items() if not agrees)
    wrong = ", ".join(f"{key} {count}" for key, count in missed.most_common())
    return dict(zip(names, known, strict=True)), wrong


async def _judged(judge: Judge | None, sample: Sample, text: str) -> Values:
    """LMScore; an answer that is none is bad, whatever a judge says."""
    if judge is None or not judge.client.llm:
        return {}
    target = sample.target
    ask = LMSCORE.format(task=target["ask"], gold=target["clean"])
    word, tokens = await judge.ask_word(
        ask, text or NOTHING, sample=f"{sample.question.id}:lmscore"
    )
    marks = (mark for each in tokens or () if (mark := lmscore(each)) is not None)
    mark = next(marks, None)
    # In the column that the judge's endpoint decides on.
    name, found = ("lmscore_word", word_mark(word)) if mark is None else ("lmscore", mark)
    return {name: found if text else 0.0}
