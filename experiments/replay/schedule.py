"""In which order recorded functions run, and how long the rest will take.

What a function costs depends on its question: some take milliseconds, some half a minute. So
one function of each question runs first, and from then on the slowest question's next one: no
core waits at the end for a slow one that was left.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence

from experiments.replay.recorded import Recorded

#: Generations with the same question, code and name: they run once.
Group = tuple[Recorded, ...]


def groups(rows: Iterable[Recorded]) -> list[Group]:
    """Rows by what they run."""
    found: dict[tuple[str, str, str], list[Recorded]] = {}
    for row in rows:
        found.setdefault((row.question_id, row.code, row.entry), []).append(row)
    return [tuple(members) for members in found.values()]


class Schedule:
    """Hands out groups, slowest question first.

    Parameters
    ----------
    waiting
        Groups that have to run.
    known
        Question to the seconds that functions of it took earlier.
    """

    def __init__(self, waiting: Iterable[Group], known: Mapping[str, Sequence[float]]) -> None:
        self._waiting: dict[str, deque[Group]] = defaultdict(deque)
        for group in waiting:
            self._waiting[group[0].question_id].append(group)
        self._seconds = defaultdict(list, {name: list(values) for name, values in known.items()})
        self._begun = {name for name, values in known.items() if values}

    def next(self) -> Group | None:
        """The group to run now; ``None`` when all are handed out."""
        names = [name for name, groups in self._waiting.items() if groups]
        if not names:
            return None
        new = [name for name in names if name not in self._begun]
        name = new[0] if new else max(names, key=self._mean)
        self._begun.add(name)
        return self._waiting[name].popleft()

    def finished(self, group: Group, seconds: float) -> None:
        """Tell what a group took."""
        self._seconds[group[0].question_id].append(seconds)

    def left(self, workers: int) -> float:
        """Seconds until all that wait are through."""
        return sum(len(groups) * self._mean(name) for name, groups in self._waiting.items()) / (
            workers
        )

    def _mean(self, name: str) -> float:
        """Of the question; of all questions where nothing of it has ended yet."""
        values = self._seconds[name] or [v for some in self._seconds.values() for v in some]
        return sum(values) / len(values) if values else 0.0
