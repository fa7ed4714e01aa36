"""A benchmark of one's own in one file: samples out of JSON, and a function that scores."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from agents.answer_formats import AnswerFormat, Block, Choices, Json, Letters, Number
from agents.base import Document, Image, Question
from experiments.benchmarks.release import picture
from experiments.samples import Sample, json_entries
from experiments.scorers.base import Scorer
from experiments.scorers.grading import FunctionScorer, Scoring, accuracy

_LETTER = "Reply with the letter of the right choice, such as <answer>A</answer>"


@dataclass(frozen=True)
class Task:
    """A whole benchmark, where nothing but its samples and its scorer is special."""

    samples: Sequence[Sample]
    scoring: Scoring | Scorer = accuracy  # a function of sample and answer, or a scorer
    packages: Sequence[str] = (
        "pymatgen",
    )  # whose documents an architecture may retrieve
    name: str = "task"

    @property
    def scorer(self) -> Scorer:
        """See :class:`experiments.benchmarks.Benchmark`."""
        if not callable(self.scoring):
            return self.scoring
        runs_code = any(sample.question.wants_code for sample in self.samples)
        return FunctionScorer(self.scoring, executes=runs_code)

    def load(self) -> Sequence[Sample]:
        """See :class:`experiments.benchmarks.Benchmark`."""
        return self.samples


def json_samples(path: str | Path, *, environment: str = "live") -> list[Sample]:
    """Samples of a file with a JSON array, or with an object in each line.

    An object has the keys that inspect_ai's ``json_dataset`` reads: ``input`` (the question),
    ``target`` (the right answer), and if need be ``choices``, ``files`` (relative to the file;
    pictures are shown as such, all others as text), ``id`` (else its number) and ``metadata``
    (labels). The form of an answer follows from its target: a letter where there are choices,
    several where the target is a list of them, a number (in ``unit``), JSON for a list or an
    object of such keys, else text. A `ValueError` names file and line of what cannot be read.
    """
    file = Path(path)
    samples = []
    for number, (where, entry) in enumerate(json_entries(file), 1):
        try:
            samples.append(_sample(str(number), entry, file.parent, environment))
        except (LookupError, TypeError, AttributeError, ValueError, OSError) as error:
            raise ValueError(f"{where}: {type(error).__name__}: {error}") from error
    return samples


def _sample(
    number: str, entry: Mapping[str, Any], folder: Path, environment: str
) -> Sample:
    prompt, target, choices = (
        str(entry["input"]),
        entry["target"],
        entry.get("choices", ()),
    )
    form: AnswerFormat
    if choices:
        letters = ascii_uppercase[: len(choices)]
        form = (
            Choices(letters) if isinstance(target, list) else Letters(letters, _LETTER)
        )
        texts = dict(zip(map(str, choices), letters, strict=True))
        given = target if isinstance(target, list) else [target]
        target = "".join(sorted(texts.get(str(each), str(each)) for each in given))
        fits = len(set(target)) == len(given) > 0 and set(target) <= set(letters)
        if not fits or len(texts) < len(letters):
            raise ValueError(
                f"target: {target} is none of the choices, or two choices are equal"
            )
        listed = [f"{letter}. {choice}" for choice, letter in texts.items()]
        prompt = "\n".join([prompt, "", *listed])
    elif isinstance(target, Mapping):
        form = Json({key: type(value).__name__ for key, value in target.items()})
    elif isinstance(target, list):
        form = Json([type(target[0]).__name__])
    elif isinstance(target, int | float) and not isinstance(target, bool):
        form = Number(str(entry.get("unit", "")))
    else:
        form = Block("answer")
    question = Question(
        str(entry.get("id", number)),
        prompt,
        answer=form,
        attachments=tuple(
            _part(folder / name, name) for name in entry.get("files", ())
        ),
    )
    labels = {str(key): str(value) for key, value in entry.get("metadata", {}).items()}
    return Sample(question, (), environment, labels, target=target, reference=target)


def _part(path: Path, name: str) -> Document | Image:
    mime = str(mimetypes.guess_type(name)[0])
    if mime.startswith("image/"):
        return replace(picture(path), mime=mime)
    return Document(name, path.read_text(encoding="utf-8"))
