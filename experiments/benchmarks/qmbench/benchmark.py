"""The benchmark ``qmbench``: generated problems, or a folder of one's own."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from agents.answer_formats import CODE, AnswerFormat, Block, Choices, File, Text
from agents.base import Image, Question
from experiments.benchmarks.qmbench.generate import TEMPLATES, generate
from experiments.benchmarks.qmbench.problem import (
    Integer,
    Interval,
    Problem,
    ProblemError,
    mime,
    read_folder,
)
from experiments.benchmarks.qmbench.scorer import ProblemScorer
from experiments.samples import Sample
from sandbox.environments import cache_folder

Arm = Literal["direct", "tool"]
_SAID = {
    "choice": "TEXT is the letters of all right choices, such as 'AC'",
    "number": "VALUE is the number",
    "text": "TEXT is the answer in prose",
    "poscar": "TEXT is the whole POSCAR file",
}


@dataclass(frozen=True)
class QMBenchmark:
    """The benchmark ``qmbench``.

    Parameters
    ----------
    path
        A folder of problem files; without one the problems are generated.
    arm
        ``direct``: the reply holds the answer; ``tool``: a function returns it.
    seed
        Of generated problems; ``week``: another one every week (year and week of ISO 8601).
    items
        Generated problems for each template.
    templates
        Which; empty: all eight.
    strict_integers
        Refuse ``4.0`` where an integer is asked for.
    private
        Of ``path``: a run folder holds digests in place of prompts, replies and answers.
    """

    path: str | None = None
    arm: Arm = "direct"
    seed: int | Literal["week"] = 1
    items: int = 3
    templates: Sequence[str] = ()
    strict_integers: bool = False
    private: bool = False
    name: str = "qmbench"
    packages: Sequence[str] = ("pymatgen", "ase", "spglib", "numpy")
    scorer: ProblemScorer = field(init=False)

    def __post_init__(self) -> None:
        if self.arm not in {"direct", "tool"}:
            raise ProblemError(f"arm={self.arm}: choose one of direct, tool")
        for template in self.templates:
            if template not in TEMPLATES:
                raise ProblemError(f"templates: no {template}; there are {', '.join(TEMPLATES)}")
        if self.private and self.path is None:
            raise ProblemError(
                "private=true needs path=FOLDER: whoever knows the seed can make generated problems"
            )
        object.__setattr__(self, "scorer", ProblemScorer(self.strict_integers))

    def load(self) -> list[Sample]:
        """All problems.

        Raises
        ------
        ProblemError
            For the first problem file that is wrong: its name, the line and what to change.
        """
        if self.path is None:
            seed = _week() if self.seed == "week" else self.seed
            made = generate(seed, self.items, self.templates)
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
            question = Question(problem.id, prompt, answer=form(problem), parts=parts)
        else:
            prompt = (
                f"{prompt}\n\nWrite a function without arguments that returns the dict "
                f'{{"answer": {_SAID[problem.type].split()[0]}}}, in which {_SAID[problem.type]}.'
            )
            if images:
                prompt += f" The picture is also a file: {', '.join(images)}."
            kind = "float" if problem.type == "number" else "str"
            mounts = {name: str(_kept(name, image.data)) for name, image in images.items()}
            question = Question(
                problem.id, prompt, formats={"answer": kind}, mounts=mounts,
                search=problem.prompt, answer=CODE, parts=parts,
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
        "number": Block("answer"),
        "text": Text(),
        "poscar": File("POSCAR"),
    }
    return forms[problem.type]


def pictures(file: Path, problem: Problem) -> dict[str, Image]:
    """The pictures of a problem file, each under the digest of its bytes."""
    found = {}
    for name in problem.images:
        data = (file.parent / name).read_bytes()
        found[name] = Image(data, mime(name), hashlib.sha256(data).hexdigest()[:32])
    return found


def _week() -> int:
    year, week, _ = datetime.now(UTC).isocalendar()
    return year * 100 + week


def _kept(name: str, data: bytes) -> Path:
    """A picture on the host, under its content."""
    digest = hashlib.sha256(data).hexdigest()[:16]
    path = cache_folder() / "questions" / "qmbench" / f"{digest}{Path(name).suffix}"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return path
