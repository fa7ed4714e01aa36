"""MatTools QA: multiple-choice questions about a library's code and documentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.answer_formats import Letters
from agents.base import Question
from experiments.benchmarks.own import Task
from experiments.benchmarks.release import ReleaseError
from experiments.samples import Sample, json_entries
from experiments.scorers.grading import ChoiceScorer
from foundation.configuration import data_of

_PROMPT = str(data_of(__file__))
LETTERS = ("A", "B", "C", "D")
#: Questions about pymatgen 2026.10.24 that a language model wrote of its code and docstrings.
SAMPLE = Path(__file__).with_name("qa_sample.json")


def mattools_qa(
    path: Path | None = None,
    packages: Sequence[str] = ("pymatgen",),
    environment: str = "live",
    name: str = "mattools_qa",
) -> Task:
    """Questions numbered from 0; ``conf/benchmark/mattools_qa.yaml`` explains the keys."""
    file = Path(path or SAMPLE)
    samples = []
    for number, each in enumerate(read_questions(file)):
        question = Question(str(number), answering_prompt(each), answer=Letters())
        right = each["correct_answer"]
        source = each["source"]
        area = "/".join(source.rpartition("/")[0].split("/")[:2])
        labels = {
            name: text
            for name, text in (("kind", each["kind"]), ("area", area))
            if text
        }
        samples.append(
            Sample(
                question,
                (),
                environment,
                labels,
                target=right,
                cluster=source,
                reference=right,
            )
        )
    if not samples:
        raise ReleaseError(f"{file}: contains no question")
    return Task(samples, ChoiceScorer(), packages, name)


def read_questions(path: Path) -> Iterator[dict[str, Any]]:
    """The questions of a file: JSON lines, or the published JSON array; else a `ReleaseError`.

    Each has its text, four choices by letter, the right letter, its ``kind`` (``code``, with
    ``[MASK]`` in a piece of code, ``doc``, or empty) and its ``source`` (file and symbol).
    """
    where = str(path)
    try:
        for where, item in json_entries(path):  # noqa: B007 -- told below
            yield from _questions(item)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ReleaseError(f"{where}: not a question ({reason})") from error
    except OSError as error:
        raise ReleaseError(f"{path}: cannot be read ({error})") from error


def _questions(item: Any) -> Iterator[dict[str, Any]]:
    """A stored question, or a published item: a source with its questions."""
    inner = [item]
    source = ""
    if isinstance(item, dict) and isinstance(item.get("questions"), list):
        inner, metadata = (
            item["questions"],
            (item.get("source") or {}).get("metadata") or {},
        )
        parts = (
            str(metadata[key])
            for key in ("code_source_file", "name")
            if key in metadata
        )
        source = "/".join(parts)
    for plain in inner:
        choices = plain["choices"]
        letter = str(plain["correct_answer"]).strip()
        if letter not in LETTERS:
            raise ValueError(f"correct_answer {letter!r:.40} is not a letter")
        yield {
            "question": str(plain["question"]),
            "choices": {key: str(choices[key]) for key in LETTERS},
            "correct_answer": letter,
            "kind": str(plain.get("kind", "")),
            "source": str(plain.get("source", source)),
        }


def answering_prompt(question: Mapping[str, Any]) -> str:
    """What a model is asked: the question, four choices, one letter in tags."""
    choices = {}
    for key, text in question["choices"].items():
        lettered = text[:1] == key and text[1:2] in {
            ".",
            ")",
            ":",
        }  # as published ones are
        choices[key.lower()] = text if lettered else f"{key}. {text}"
    return _PROMPT.format(question=question["question"], **choices)
