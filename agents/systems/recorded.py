"""``system=recorded``: answers that exist already, from a file or from a run, scored again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.answer import CodeAnswer
from agents.answer_formats import Reading
from agents.base import INFRASTRUCTURE, StopReason
from agents.episode import Episode, System
from foundation.errors import UsageError


@dataclass(frozen=True)
class Recording:
    """What somebody answered: the reply as text, or the value itself.

    ``code`` is the final one of a run, which need not be in its last reply.
    """

    answer: Any
    code: str | None = None
    entry: str | None = None


def read_answers(path: Path) -> dict[tuple[str, int], Recording]:
    """Read ``{"id": ..., "answer": ...}`` lines, or the trajectories of a run folder.

    Lines may have ``code`` and ``entry`` as well, where the final code is known.

    They are found by question and seed; several lines about one question are its seeds, in their
    order. What cannot be read is a `UsageError`.
    """
    if path.is_dir():
        return _of_run(path)
    if not path.is_file():
        name = str(path).replace("\n", "\\n")
        raise UsageError(f"answers={name}: no such file or run folder")
    recordings: dict[tuple[str, int], Recording] = {}
    lines_of: Counter[str] = Counter()
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            read = json.loads(line)
            name = str(read["id"])
            answer = read["answer"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UsageError(
                f'answers={path}, line {number}: must be JSON like {{"id": "move-1", "answer": '
                '"the whole reply"}'
            ) from None
        recordings[name, lines_of[name]] = Recording(
            answer, read.get("code"), read.get("entry")
        )
        lines_of[name] += 1
    if not recordings:
        raise UsageError(f"answers={path}: no answers in it")
    return recordings


def _of_run(folder: Path) -> dict[tuple[str, int], Recording]:
    recordings = {}
    for path in sorted(folder.glob("trajectories/*.json")):
        try:
            record = json.loads(path.read_bytes())
            if _completed(record):
                answer = record["answer"] or record["value"]
                recording = Recording(answer, record["code"], record["entry"])
                recordings[str(record["question"]["id"]), int(record["seed"])] = (
                    recording
                )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{path}: cannot be read ({error!r})") from error
    if not recordings:
        raise UsageError(
            f"answers={folder}: is not a run folder with answers (no trajectories)"
        )
    return recordings


def _completed(record: Mapping[str, Any]) -> bool:
    """Whether a record, perhaps of an earlier version, has an answer that counts."""
    if "ending" in record:
        return bool(record["ending"]["kind"] == "completed")
    return record["stop_reason"] not in {*INFRASTRUCTURE, "budget"}


@dataclass
class Recorded(System):
    """Gives recorded answers.

    Parameters
    ----------
    answers
        File or run folder, see :func:`read_answers`.
    digest
        Of its content: other answers are another run.
    """

    name = "recorded"
    uses_retrieval = False
    writes_code = False
    executes = False
    llm = True

    answers: str = ""
    digest: str = ""

    def __post_init__(self) -> None:
        self._answers = read_answers(Path(self.answers))

    async def _steps(self, episode: Episode) -> StopReason:
        key = (episode.question.id, episode.seed)
        if key not in self._answers:
            raise LookupError(
                f"{key[0]}, seed {key[1]}: no answer was recorded"
            )  # unknown
        recorded = self._answers[key]
        if recorded.code is not None and recorded.entry is not None:
            episode.reply = str(recorded.answer or "")
            episode.answer = CodeAnswer(recorded.code, recorded.entry, "strict")
        elif isinstance(recorded.answer, str):
            episode.reply = recorded.answer
            episode.read()
        elif recorded.answer is not None:
            episode.reply = json.dumps(recorded.answer)
            episode.answer = Reading(recorded.answer, "strict")
        return "answered" if episode.answer is not None else "format_error"
