"""The benchmark ``atomworld``: generated questions or the authors', and two rules to judge by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from agents.answer_formats import CODE, AnswerFormat, Block, File
from agents.base import Question, Trajectory
from agents.drawing import structure_svg
from experiments.benchmarks.atomworld.actions import (
    ACTIONS,
    FRAME,
    Target,
    Wording,
    act,
    parse,
)
from experiments.benchmarks.atomworld.crystal import Crystal, read_cif
from experiments.benchmarks.atomworld.family import (
    CIF,
    DATA,
    POINTS,
    Family,
    FamilyQuestion,
    ask,
    read,
)
from experiments.benchmarks.atomworld.generate import ActionItem, generate
from experiments.benchmarks.release import Folder, ReleaseError, entries, find
from experiments.samples import Sample, absent, cached_file
from experiments.scorers.base import Metric, Score, Scorer, ScoringContext, read_metrics
from experiments.scorers.grading import extract_answer, grade
from foundation.configuration import data_of

FILE = "structure.cif"
_KEYS = {"problem_id", "action_prompt", "input", "output"}
RESULT = File("result.cif")
TEXTS: Mapping[str, Any] = data_of(__file__)


@dataclass(frozen=True)
class AtomWorldBenchmark:
    """The benchmark ``atomworld``; ``conf/benchmark/atomworld.yaml`` explains its keys."""

    source: Literal["generated", "published"] = "generated"
    path: str | None = None
    arm: Literal["direct", "tool", "tool_inline", "file"] = "direct"
    target: Target = "literal"
    seed: int = 1
    items: int = 20
    actions: Sequence[str] = ()
    wording: Wording = "own"
    unambiguous: bool = True
    sizes: Sequence[int] = (8, 16, 32)
    structures: str | None = None
    family: Family | Literal["actions"] = "actions"
    name: str = "atomworld"
    packages: Sequence[str] = ("ase", "pymatgen")

    def __post_init__(self) -> None:
        for action in self.actions:
            if action not in ACTIONS:
                raise ReleaseError(
                    f"actions: no {action}; there are {', '.join(ACTIONS)}"
                )

    @property
    def scorer(self) -> StructureScorer:
        """See :class:`experiments.benchmarks.Benchmark`."""
        more = METRICS["family"] if self.family != "actions" else ()
        return StructureScorer(self.target, (*METRICS["structure"], *more))

    def load(self) -> list[Sample]:
        """All questions, action by action."""
        if self.family != "actions":
            if self.source == "published":
                return [self._asked(item) for item in read(self.family, self.path)]
            return [
                self._asked(item) for item in ask(self.family, self.seed, self.items)
            ]
        if self.source == "published":
            data = find(
                self.path,
                {"data"},
                "CHECKOUT of AtomWorldBench, the authors' repository",
            )
            return self._published(data / "data" / "simple")
        questions = generate(
            seed=self.seed,
            items=self.items,
            actions=self.actions or ACTIONS,
            wording=self.wording,
            unambiguous=self.unambiguous,
            sizes=self.sizes,
            structures=self.structures,
        )
        return [
            self._sample(
                f"{item.action}-{item.number:03d}", item, FRAME, item.before.to_cif()
            )
            for item in questions
        ]

    def _published(self, folder: Folder) -> list[Sample]:
        """The authors' questions; an action without its file is named as unavailable."""
        samples = []
        for action in self.actions or ACTIONS:
            file = folder / f"{TEXTS['files'][action]}.json"
            if not file.exists():
                samples.append(absent(action, f"{file} is not there", action=action))
                continue
            for row in entries(file, _KEYS)[: self.items]:
                item = _published(action, row)
                name = f"{action}-{row['problem_id']}"
                samples.append(self._sample(name, item, "", row["input"]))
        if all(sample.unavailable for sample in samples):
            raise ReleaseError(f"{folder}: has no file of these actions")
        return samples

    def _asked(self, item: FamilyQuestion) -> Sample:
        points = item.family == "pointworld"
        form = POINTS if points else CIF
        way = "direct" if points and self.arm == "file" else self.arm.partition("_")[0]
        wanted = DATA[item.family]["wanted"] + (
            ", as text" * (way == "tool" and not points)
        )
        parts = [item.task, TEXTS["ways"][way].format(wanted=wanted)]
        if item.file:
            beside = self.arm in {"tool", "file"}
            holds = (
                f"The file `{FILE}` holds it."
                if beside
                else f"<cif>\n{item.file}</cif>"
            )
            parts.insert(1, holds)
        return Sample(
            self._question(item.name, "\n\n".join(parts), item.task, item.file, form),
            environment="live",
            labels=item.labels,
            target={"rule": DATA[item.family]["rule"], "given": item.given},
            reference=item.right,
        )

    def _question(
        self, name: str, prompt: str, search: str, cif: str | None, form: AnswerFormat
    ) -> Question:
        if self.arm == "direct":
            return Question(name, prompt, search=search, answer=form)
        mounts = (
            {FILE: str(cached_file("atomworld", cif.encode(), ".cif"))} if cif else {}
        )
        if self.arm == "file":
            form = form if form is POINTS else RESULT
            return Question(name, prompt, mounts=mounts, search=search, answer=form)
        kind = "list" if form is POINTS else "str"
        return Question(name, prompt, {"answer": kind}, mounts, search, CODE)

    def _sample(self, name: str, item: ActionItem, frame: str, cif: str) -> Sample:
        inline = f"\n<cif>\n{cif}</cif>\n" if self.arm == "tool_inline" else ""
        way = self.arm.partition("_")[0]
        text = TEXTS["authors" if way == "direct" and not frame else way]
        prompt = text.format(
            frame=frame, cif=cif, sentence=item.sentence, inline=inline
        ).strip()
        form = Block("cif", instructed=bool(frame))
        target = {
            name: getattr(item, name).plain()
            for name in ("before", "literal", "published")
        }
        return Sample(
            self._question(name, prompt, item.sentence, cif, form),
            environment="live",
            target=target,
            cluster=item.structure,
            labels=_labels(item) | ({} if frame else {"frame": "not stated"}),
            reference=Crystal.of(target[self.target]).to_cif(),
        )


def _published(action: str, row: Mapping[str, Any]) -> ActionItem:
    call = parse(row["action_prompt"])
    try:
        before, after = read_cif(row["input"]), read_cif(row["output"])
        literal = act(call[0], before, call[1], "literal") if call else after
    except (ValueError, IndexError) as error:  # of a row that is not there
        raise ReleaseError(
            f"{TEXTS['files'][action]} {row['problem_id']}: {error}"
        ) from error
    structure = str(row.get("mp_id", row["problem_id"]))
    return ActionItem(
        action, structure, 0, before, {}, row["action_prompt"], literal, after
    )


def _labels(item: ActionItem) -> dict[str, str]:
    count = len(item.before.species)
    sizes = ((8, "1-8"), (16, "9-16"), (32, "17-32"), (64, "33-64"))
    right = all(abs(angle - 90.0) < 1e-6 for angle in item.before.cell[3:])
    return {
        "action": item.action,
        "structure": item.structure,
        "atoms": next((name for most, name in sizes if count <= most), "> 64"),
        "cell": "orthogonal" if right else "skewed",
    }


#: Seconds of processor time for one verification; the matcher needs 30 for 640 sites.
TIMEOUT = 120.0
GRADER = "experiments.benchmarks.atomworld.grade"
PART = "structure"
SAME = 0.02  # Å; atoms that are nearer are in the same place
UNREADABLE = {
    "OutputFormatError",
    "CIFParsingError",
    "TooLarge",
    "TooManySites",
    "TooExpensive",
}
METRICS = read_metrics(__file__)
TOO_EXPENSIVE: Mapping[str, Any] = {"passed": False, "error": "TooExpensive"}


@dataclass(frozen=True)
class StructureScorer(Scorer):
    """Compares an answer with the target, or judges it by the rule that its question names.

    ``target`` is the reading of the sentence that the strict rule asks for.
    """

    target: Target = "literal"
    metrics: Sequence[Metric] = METRICS["structure"]
    #: What a verification worker imports once.
    warmup: str = (
        "import pymatgen.analysis.structure_matcher, pymatgen.io.cif, scipy.optimize\n"
    )

    def criteria(self, sample: Sample) -> Sequence[str]:  # noqa: ARG002 -- the same for all
        """See :class:`experiments.scorers.base.Scorer`."""
        return (PART,)

    async def score(
        self, sample: Sample, trajectory: Trajectory, context: ScoringContext
    ) -> Score:
        """See :class:`experiments.scorers.base.Scorer`."""
        answer = await extract_answer(sample, trajectory, context)
        reply = trajectory.answer
        if not isinstance(sample.question.answer, Block):
            reply = (
                f"<cif>{answer.value}</cif>" if isinstance(answer.value, str) else ""
            )
        verdicts = await self._judged(sample.target, answer.value, reply, context)
        strict, published, echo = (
            verdicts.get(rule) or {} for rule in ("strict", "published", "echo")
        )
        error = strict["error"] or ""
        rule = sample.target.get("rule")
        sound = rule == "generated" and "erratum" not in sample.labels
        return Score(
            outcome=answer.outcome,
            values={
                "published": _flag(published),
                "echo": _flag(echo.get("published")),
                "strict_echo": _flag(echo.get("strict")),
                "readable": float(error not in UNREADABLE),
                "worst": strict.get("worst"),
                "max_dist": published.get("max_dist"),
                "max_dist_angstrom": published.get("max_dist_angstrom"),
                "sound": _flag(strict) if sound else None,
                "error": strict.get("worst") if rule == "moved_points" else None,
            },
            passed={PART: bool(strict["passed"])},
            reasons={} if strict["passed"] else {PART: answer.reason or error},
            artefacts={"error": error, "published error": published.get("error") or ""},
            figures=self._figures(sample.target, strict.get("shown")),
            execution=answer.execution,
        )

    async def _judged(
        self, target: Mapping[str, Any], value: Any, reply: str, context: ScoringContext
    ) -> Mapping[str, Any]:
        """The verdicts ``strict``, ``published`` and ``echo``, where there are such.

        Of an action apart: the matcher may need minutes for a right answer, and then only its
        verdict lacks. An answer that runs into the limit by itself is not parsed again.
        """
        verdict = partial(grade, context, GRADER, timeout=TIMEOUT)
        block = value if isinstance(value, str) else None  # code may return anything
        if "rule" in target:
            candidate = value if target["rule"] == "moved_points" else block
            verdicts = await verdict(
                target["rule"],
                target["given"],
                candidate,
                reply,
                control=[target["given"], None, ""],
            )
            return verdicts or {"strict": TOO_EXPENSIVE}
        wanted, authors, before = (
            target[n] for n in (self.target, "published", "before")
        )
        strict = await verdict("strictly", wanted, block, control=[wanted, None])
        published = strict and await verdict(
            "as_published", authors, reply, control=[authors, ""]
        )
        echo = await verdict(
            "echo", wanted, authors, before, control=[wanted, authors, wanted]
        )
        return {"strict": strict or TOO_EXPENSIVE, "published": published, "echo": echo}

    def _figures(self, target: Mapping[str, Any], answer: Any) -> Mapping[str, str]:
        rule, held = target.get("rule"), target.get("given", target)
        if rule in {"moved_points", "repaired"}:
            return {}
        aim = held.get("target" if rule else self.target)
        return pictures(before=held.get("before"), target=aim, answer=answer)


def _flag(verdict: Mapping[str, Any] | None) -> float | None:
    return float(verdict["passed"]) if verdict else None


def pictures(**structures: Mapping[str, Any] | None) -> dict[str, str]:
    """Titles to SVG texts, of ``before``, ``target`` and ``answer`` as far as they are there.

    Rings are around atoms that the action takes away or changes (before), that it brings or
    changes (target), and that are not where the target has them (answer). An answer is drawn from
    the plain data that the verification sandbox hands back: its text is never parsed here.
    """
    crystals = {
        title: Crystal.of(plain)
        for title, plain in structures.items()
        if plain is not None
    }
    drawn = {}
    for title, crystal in crystals.items():
        other = crystals.get("before" if title == "target" else "target", crystal)
        ringed = crystal.unlike(other, SAME) if "before" in crystals else []
        cell = crystal.lattice.matrix.tolist()
        fractions = crystal.fractions.tolist()
        drawn[title] = structure_svg(cell, crystal.species, fractions, marked=ringed)
    return drawn
