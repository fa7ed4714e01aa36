"""The benchmark ``qmbench``: generated problems, or a folder of one's own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agents.answer_formats import (
    CODE,
    MAX_CHARACTERS,
    AnswerFormat,
    Block,
    Choices,
    File,
    Reading,
    Text,
)
from agents.base import Image, Question
from docgen.reading import spoken
from experiments.benchmarks.qmbench.generate import PAPER, TEMPLATES, generate
from experiments.benchmarks.qmbench.problem import (
    Integer,
    Interval,
    Problem,
    ProblemError,
    Rubric,
    read_folder,
)
from experiments.benchmarks.qmbench.scorer import ProblemScorer
from experiments.benchmarks.release import picture
from experiments.samples import Sample, kept

Arm = Literal["direct", "tool"]
_SAID = {
    "choice": "TEXT is the letters of all right choices, such as 'AC'",
    "number": "VALUE is the number",
    "text": "TEXT is the answer in prose",
    "poscar": "TEXT is the whole POSCAR file",
}


@dataclass(frozen=True)
class Stated:
    """A number with its unit as text in ``<answer>`` tags."""

    name: str = "stated"
    instruction: str = Block("answer").instruction

    def read(self, reply: str) -> Reading | None:
        """What stands in tags, else in a box, else behind "answer:", else the whole short reply."""
        tagged = Block("answer").read(reply)
        if tagged is not None:
            return tagged
        text = spoken(reply[-MAX_CHARACTERS:]).strip()
        box = text.rfind("\\boxed{")
        said = re.findall(r"(?i)\banswer(?: is)?[ \t:*]{1,9}([^\n]{1,300})", text)
        short = text if re.search(r"\d", text) and len(text) <= 300 else ""
        found = text[box : box + 300].partition("\n")[0] if box >= 0 else (said or [short])[-1]
        return Reading(found, "repaired") if found else None


@dataclass(frozen=True)
class QMBenchmark:
    """The benchmark ``qmbench``; ``conf/benchmark/qmbench.yaml`` explains its keys."""

    path: str | None = None
    arm: Arm = "direct"
    seed: int = 1
    items: int = 3
    templates: Sequence[str] = ()
    mix: Literal["paper", "even"] = "paper"
    strict_integers: bool = False
    private: bool = False
    name: str = "qmbench"
    packages: Sequence[str] = ("pymatgen", "ase", "spglib", "numpy")
    scorer: ProblemScorer = field(init=False)

    def __post_init__(self) -> None:
        for template in self.templates:
            if template not in TEMPLATES:
                raise ProblemError(f"templates: no {template}; there are {', '.join(TEMPLATES)}")
        if self.private and self.path is None:
            raise ProblemError(
                "private=true needs path=FOLDER: whoever knows the seed can make generated problems"
            )
        object.__setattr__(self, "scorer", ProblemScorer(self.strict_integers))

    def load(self) -> list[Sample]:
        """All problems."""
        if self.path is None:
            made = generate(
                self.seed, self.items, self.templates, PAPER if self.mix == "paper" else {}
            )
            return [self._sample(i.problem, i.images, {"template": i.template}) for i in made]
        samples = []
        for file, problem in read_folder(Path(self.path).expanduser()):
            if isinstance(problem, ProblemError):
                raise problem
            samples.append(self._sample(problem, pictures(file, problem), {}))
        return samples

    def _sample(
        self, problem: Problem, images: Mapping[str, Image], labels: Mapping[str, str]
    ) -> Sample:
        if problem.canary and problem.canary in problem.prompt:
            raise ProblemError(f"{problem.id}: the canary stands in the prompt")
        prompt = asked(problem)
        parts = tuple(images.values())
        if self.arm == "direct":
            question = Question(problem.id, prompt, answer=form(problem), attachments=parts)
        else:
            prompt = (
                f"{prompt}\n\nWrite a function without arguments that returns the dict "
                f'{{"answer": {_SAID[problem.type].split()[0]}}}, in which {_SAID[problem.type]}.'
            )
            if images:
                prompt += f" The picture is also a file: {', '.join(images)}."
            kind = "float" if problem.type == "number" else "str"
            mounts = {
                name: str(kept("qmbench", image.data, Path(name).suffix))
                for name, image in images.items()
            }
            question = Question(
                problem.id, prompt, formats={"answer": kind}, mounts=mounts,
                search=problem.prompt, answer=CODE, attachments=parts,
            )  # fmt: skip
        refused = self.arm == "tool" and not problem.tools
        return Sample(
            question,
            environment="live",
            labels={
                "type": problem.type, "topics": ", ".join(problem.topics),
                "difficulty": problem.difficulty or "", "points": f"{problem.points:g}", **labels,
            },
            target=problem.model_dump(mode="json"),
            unavailable="tools: false, and arm=tool" if refused else None,
            private=self.private,
            reference=right(problem),
        )  # fmt: skip


def asked(problem: Problem) -> str:
    """What a prompt says: nothing of the answer but its unit."""
    parts = [problem.prompt.strip()]
    parts += ["\n".join(f"{letter}. {text}" for letter, text in sorted(problem.choices.items()))]
    if isinstance(problem.answer, Integer):
        parts.append("The answer is an integer.")
    elif isinstance(problem.answer, Interval) and problem.answer.unit:
        parts.append(f"The answer is a number in {problem.answer.unit}.")
    return "\n\n".join(filter(None, parts))


def form(problem: Problem) -> AnswerFormat:
    """The form of an answer in a reply."""
    forms: dict[str, AnswerFormat] = {
        "choice": Choices("".join(sorted(problem.choices))),
        "number": Stated(),
        "text": Text(),
        "poscar": File("POSCAR"),
    }
    return forms[problem.type]


def right(problem: Problem) -> str | float:
    """An answer worth all points; of prose, what a judge looks for."""
    answer = problem.answer
    if isinstance(answer, Integer):
        return answer.value
    if isinstance(answer, Interval):
        return (answer.low + answer.high) / 2
    if isinstance(answer, Rubric):
        return "\n".join(point.text for point in answer.rubric)
    return problem.letters if isinstance(answer, str) else answer.poscar


def pictures(file: Path, problem: Problem) -> dict[str, Image]:
    """The pictures of a problem file, by name."""
    parts = [picture(file.parent / name) for name in problem.images]
    return dict(zip(problem.images, parts, strict=True))
