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
from experiments.scorers.grading import CIRCULAR, ROTATED, ChoiceScorer
from foundation.configuration import data_of

_PROMPT = str(data_of(__file__))
LETTERS = ("A", "B", "C", "D")
#: Questions about pymatgen 2026.10.24 that a language model wrote of its code and docstrings.
SAMPLE = Path(__file__).with_name("qa_sample.json")


def mattools_qa(
    path: Path | None = None,
    packages: Sequence[str] = ("pymatgen",),
    environment: str = "live",
    permute: int = 1,
    name: str = "mattools_qa",
) -> Task:
    """Questions numbered from 0; ``conf/benchmark/mattools_qa.yaml`` explains the keys."""
    if not 1 <= permute <= len(LETTERS):
        raise ReleaseError(
            f"permute={permute}: a question has {len(LETTERS)} orders of its choices"
        )
    file = Path(path or SAMPLE)
    samples = [
        _sample(number, rotated(question, by), by, environment, rotations=permute)
        for number, question in enumerate(read_questions(file))
        for by in range(permute)
    ]
    if not samples:
        raise ReleaseError(f"{file}: contains no question")
    scorer = ChoiceScorer()
    if permute > 1:
        scorer = ChoiceScorer(metrics=(*scorer.metrics, CIRCULAR))
    return Task(samples, scorer, packages, name)


def _sample(
    number: int,
    content: Mapping[str, Any],
    by: int,
    environment: str,
    *,
    rotations: int,
) -> Sample:
    name = f"{number}-{by}" if by else str(number)
    source = content["source"]
    labels = {
        "kind": content["kind"],
        "area": "/".join(source.rpartition("/")[0].split("/")[:2]),
        ROTATED: str(number) if rotations > 1 else "",
    }
    right = content["correct_answer"]
    return Sample(
        Question(name, answering_prompt(content), answer=Letters()),
        environment=environment,
        labels={label: text for label, text in labels.items() if text},
        target=right,
        # The orders of one question are not independent, and those of one symbol neither.
        cluster=source or (str(number) if rotations > 1 else ""),
        reference=right,
    )


def rotated(question: Mapping[str, Any], by: int) -> dict[str, Any]:
    """The same question with every choice ``by`` letters further on."""
    texts = [_unlettered(key, question["choices"][key]) for key in LETTERS]
    moved = dict(zip(LETTERS, texts[-by:] + texts[:-by], strict=True))
    right = LETTERS.index(question["correct_answer"]) + by
    return {
        **question,
        "choices": moved if by else question["choices"],
        "correct_answer": LETTERS[right % len(LETTERS)],
    }


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
    choices = {
        key.lower(): text if _is_lettered(key, text) else f"{key}. {text}"
        for key, text in question["choices"].items()
    }
    return _PROMPT.format(question=question["question"], **choices)


def _is_lettered(key: str, text: str) -> bool:
    """Whether a choice brings its own letter, as published ones do."""
    return text[:1] == key and text[1:2] in {".", ")", ":"}


def _unlettered(key: str, text: str) -> str:
    return text[2:].lstrip() if _is_lettered(key, text) else text
