"""Scores answers about papers: each task by its own metrics, the authors' way and a right one."""

from __future__ import annotations

import contextlib
import json
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agents.base import Trajectory
from agents.models import FAULTS
from experiments.benchmarks.curie import matching
from experiments.benchmarks.curie.marks import (
    WORLD,
    iou,
    lmscore,
    offset,
    published_iou,
    read_box,
    word_mark,
)
from experiments.benchmarks.curie.tasks import PROMPTS
from experiments.samples import Sample
from experiments.scorers.base import Metric, Score, Tools, read_metrics
from experiments.scorers.beside import MAX_LINES, beside
from experiments.scorers.grading import given, grade
from experiments.scorers.judge import Judge

Overall = Literal["table", "figure"]
Values = dict[str, float | None]

GRADER = "experiments.benchmarks.curie.grade"
#: Seconds of processor time for one verification; ROUGE compares long texts token by token.
TIMEOUT = 120.0
PART = "answer"
#: A score that counts as all right: metrics are ratios of floats.
PERFECT = 1 - 1e-9
#: What a judge sees of an answer that is none.
NOTHING = "(no answer)"
MAX_SHOWN = 20_000  # characters of gold and answer that a report shows
RESIDUES = 60  # of a row of aligned sequences
_METRIC = {"box": "iou", "fasta": "identity"}
_WRONG = {"context": "context", "length": "cut"}
_CODES = {
    "context": FAULTS["context"], "cut": FAULTS["length"], "empty": "the answer is empty",
    "too_long": "the answer is many times longer than what was asked for",
    "too_expensive": "the answer could not be compared within the time limit",
    "unreadable": "the answer is not in the form asked for",
    "no_answer": "there is no answer",
}  # fmt: skip


METRICS = read_metrics(__file__)["all"]


@dataclass(frozen=True)
class CurieScorer:
    """Judges an answer to one of the ten tasks; ``overall`` as in the benchmark."""

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
        shown = _shown(target, said, text)
        if target["listed"]:
            similar, missed, table = await _similar(tools.judge, sample, said.get("value"))
            values |= similar
            shown["gold and answer"] = table
        if target["form"] in {"json", "code", "text"}:
            values |= await _judged(tools.judge, sample, text)
        name = _METRIC.get(target["form"], "rouge")
        if self.overall == "figure" and target["listed"]:
            name = "llmsim"
        headline = values[name]
        values |= {
            "overall": headline, "published": values[f"{name}_published"],
            "readable": float(wrong is None),
            "context": float(wrong == "context"), "cut": float(wrong == "cut"),
        }  # fmt: skip
        passed = None if headline is None else {PART: headline >= PERFECT}  # None: unknown
        reason = answer.reason or _CODES.get(wrong or "", f"scored {headline or 0.0:.3f}")
        return Score(
            outcome=answer.outcome,
            values=values,
            passed=passed,
            reasons={part: reason for part, right in (passed or {}).items() if not right},
            artefacts={"wrong_type": wrong or "", "wrong_fields": missed},
            figures=shown,
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


async def _compared(tools: Tools, target: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    """What the grader in the sandbox says of an answer."""
    if not text:
        return {"error": "no_answer", "status": "error"}
    if target["form"] == "fasta":
        rule: tuple[Any, ...] = ("judge_sequence", target["gold"], text)
    else:
        rule = ("judge", text, target["form"], target["clean"], target["record"], target["task"])
    said = await grade(tools, GRADER, *rule, timeout=TIMEOUT)
    return {"error": "too_expensive", "status": "error"} if said is None else dict(said)


def _measured(target: Mapping[str, Any], said: Mapping[str, Any]) -> Values:
    """The metrics that need no judge and no execution."""
    if target["form"] != "box":
        name = _METRIC.get(target["form"], "rouge")
        return {key: said.get(key, 0.0) for key in (name, f"{name}_published")}
    right, found = read_box(target["gold"]), read_box(said.get("value"))
    assert right is not None  # a paper without a box is unavailable
    return {
        "iou": iou(right, found) if found else 0.0,
        "iou_published": published_iou(target["gold"], said.get("value")),
        "world": iou(right, WORLD),
        "box_offset": offset(right, found) if found else None,
        "box_size": found.area / right.area if found and right.area else None,
    }


def _shown(target: Mapping[str, Any], said: Mapping[str, Any], text: str) -> dict[str, str]:
    """Gold beside answer: aligned sequences with their identities between them, or texts."""
    if said.get("rows"):
        gold, found = said["rows"]
        same = "".join("|" if a == b else "." for a, b in zip(gold, found, strict=True))
        pieces = [["\n".join(line[start : start + RESIDUES] for line in (gold, same, found))]
                  for start in range(0, len(gold), RESIDUES)]  # fmt: skip
        heads, unknown = ("gold above, answer below",), [None] * len(pieces)
        return {"alignment": beside(heads, pieces, unknown, (RESIDUES,))}
    one, two = (_laid_out(value) for value in (target["clean"], said.get("value") or text))
    ends = range(0, max(len(one), len(two)), MAX_LINES)
    rows = [["\n".join(lines[n : n + MAX_LINES]) for lines in (one, two)] for n in ends]
    return {"gold and answer": beside(("gold", "answer"), rows, [None] * len(rows), (58, 58))}


def _laid_out(value: Any) -> list[str]:
    """Lines of a text, or of JSON."""
    with contextlib.suppress(ValueError):
        value = json.loads(value) if isinstance(value, str) else value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    return [part for line in text[:MAX_SHOWN].splitlines() for part in textwrap.wrap(line, 58)]


async def _similar(judge: Judge | None, sample: Sample, value: Any) -> tuple[Values, str, str]:
    """LLMSim of a list, which fields of its entries are wrong, and a table of the pairs.

    Unknown without a judge, but zero for an answer without entries.
    """
    target, golds, found = sample.target, sample.target["gold"], matching.entries(value)
    names = ("llmsim", "llmsim_precision", "llmsim_recall", "llmsim_published", "llmsim_matched",
             "llmsim_entries")  # fmt: skip
    if not found:
        zero: Values = {**dict.fromkeys(names, 0.0), "llmsim_entries": float(len(golds))}
        return zero, "", _pairs(golds, found, [], known=True)
    if judge is None:
        return dict.fromkeys(names), "", _pairs(golds, found, [], known=False)
    core, name = target["task"] == "mpv", sample.question.id
    pairs = await matching.judged(judge, golds, found, core=core, sample=name)
    matched = matching.one_to_one(pairs, len(golds), len(found))
    ours = matching.similarity(len(matched), len(golds), len(found))
    first = matching.first_named(pairs)
    if target["eval"]:
        first = await matching.judged_by_authors(judge, target["eval"], golds, found, sample=name)
    doubled = target["task"] == "dft_s"
    theirs = matching.published(first, len(golds), len(found), doubled=doubled)
    total = len(golds) + len(found)
    known = (ours.f1, ours.precision, ours.recall, theirs.f1, 2.0 * len(matched), float(total))
    for kind, number in zip(names[:4], known, strict=False):
        judge.follows(kind, json.dumps(found, default=str), number)
    missed = Counter(key for pair in matched for key, agrees in pair.fields.items() if not agrees)
    wrong = ", ".join(f"{key} {count}" for key, count in missed.most_common())
    return dict(zip(names, known, strict=True)), wrong, _pairs(golds, found, matched, known=True)


def _pairs(
    golds: Sequence[Any], found: Sequence[Any], matched: Sequence[matching.Pair], *, known: bool
) -> str:
    """Every gold entry beside the one that was taken for it, then what nothing was taken for."""
    taken = {pair.gold: pair for pair in matched}
    rows, right = [], []
    for number, gold in enumerate(golds):
        pair = taken.get(number)
        off = [key for key, agrees in pair.fields.items() if not agrees] if pair else []
        rows.append((_brief(gold), _brief(found[pair.found]) if pair else "", ", ".join(off)))
        right.append(pair is not None if known else None)
    left = [entry for n, entry in enumerate(found) if n not in {p.found for p in matched}]
    rows += [("", _brief(entry), "") for entry in left]
    right += [False if known else None for _ in left]
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
    marks = (mark for each in reply.logprobs or () if (mark := lmscore(each)) is not None)
    mark = next(marks, None)
    # In the column that the judge's endpoint decides on.
    name, found = ("lmscore_word", word_mark(reply.text)) if mark is None else ("lmscore", mark)
    found = found if text else 0.0
    if found is not None:
        judge.follows(name, text or NOTHING, found)
    return {name: found}
