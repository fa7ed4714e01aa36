"""In which order recorded functions run, and how long the rest will take.

What a function costs depends on its question: some take milliseconds, some minutes. So a few
functions of each question run first, and from then on the one that is expected to take longest:
no core waits at the end for a slow one that was left.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, variance

from experiments.benchmarks.mattools.replay.recorded import Recorded

#: Generations with the same question, code and name: they run once.
Group = tuple[Recorded, ...]

#: Functions of each question that run before any other: one alone may have failed at once.
PILOTS = 3


def groups(rows: Iterable[Recorded]) -> list[Group]:
    """Rows by what they run."""
    found: dict[tuple[str, str, str], list[Recorded]] = {}
    for row in rows:
        found.setdefault((row.question_id, row.code, row.entry), []).append(row)
    return [tuple(members) for members in found.values()]


class Schedule:
    """Hands out groups: `PILOTS` of each question, then the slowest question first.

    ``known`` are the seconds that functions of a question took earlier.
    """

    def __init__(self, waiting: Iterable[Group], known: Mapping[str, Sequence[float]]) -> None:
        by_question: dict[str, list[Group]] = defaultdict(list)
        for group in waiting:
            by_question[group[0].question_id].append(group)
        self._waiting = {name: _spread(groups) for name, groups in by_question.items()}
        self._seconds = defaultdict(list, {name: list(values) for name, values in known.items()})
        self._begun = defaultdict(int, {name: len(values) for name, values in known.items()})

    def next(self) -> Group | None:
        """The group to run now; ``None`` when all are handed out."""
        names = [name for name, groups in self._waiting.items() if groups]
        if not names:
            return None
        new = min(names, key=lambda name: self._begun[name])
        name = new if self._begun[new] < PILOTS else max(names, key=self._mean)
        self._begun[name] += 1
        return self._waiting[name].popleft()

    def finished(self, group: Group, seconds: float) -> None:
        """Tell what a group took."""
        self._seconds[group[0].question_id].append(seconds)

    def left(self, workers: int) -> tuple[float, float] | None:
        """Between how many and how many seconds the rest will take (95 %).

        ``None`` until the pilots of every question that still waits have ended: what nothing is
        known about may be the slowest.
        """
        waiting = {name: len(groups) for name, groups in self._waiting.items() if groups}
        if any(len(self._seconds[name]) < PILOTS for name in waiting):
            return None
        middle = sum(count * self._mean(name) for name, count in waiting.items())
        # Of the mean that was found, and of the sum of those that wait.
        spread = 1.96 * math.sqrt(
            sum(
                variance(self._seconds[name]) * count * (1 + count / len(self._seconds[name]))
                for name, count in waiting.items()
            )
        )
        return max(0.0, middle - spread) / workers, (middle + spread) / workers

    def _mean(self, name: str) -> float:
        return fmean(self._seconds[name]) if self._seconds[name] else math.inf


def _spread(groups: Sequence[Group]) -> deque[Group]:
    """The pilots in front, from all over the recording: neighbours are of one model."""
    last = len(groups) - 1
    pilots = sorted({round(at * last / (PILOTS - 1)) for at in range(PILOTS)})
    rest = [group for number, group in enumerate(groups) if number not in pilots]
    return deque([*(groups[number] for number in pilots), *rest])
