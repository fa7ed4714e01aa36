"""Who answers the questions of runs: this process, or whoever takes its place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from experiments.run.answering import Answered, Job, Models, Plan, open_answerer, open_models
from experiments.run.config import RunConfig
from experiments.run.store import Store


class CrewError(Exception):
    """Nobody is left to answer questions; the message says what happened."""


@dataclass(frozen=True)
class Team:
    """Those who answer the questions of one run; the first and the last may raise `CrewError`.

    Attributes
    ----------
    place
        Waits until somebody is free; returns how many questions to hand over at once.
    leave
        Gives the place back.
    answer
        Answers questions.
    """

    place: Callable[[], Awaitable[int]]
    leave: Callable[[], None]
    answer: Callable[[Sequence[Job]], Awaitable[Sequence[Answered]]]


class Crew(Protocol):
    """Who answers questions: this process (`Here`), or workers (`experiments.run.cluster`).

    Attributes
    ----------
    one_by_one
        Whether a run ends before the next begins; otherwise the next one begins as soon as no
        question of this one waits, so that a slow question leaves nobody idle.
    """

    one_by_one: bool

    def check(self, config: RunConfig) -> None:
        """Refuse with a `UsageError` what cannot work before anything is written."""
        ...

    def team(self, plan: Plan, store: Store) -> AbstractAsyncContextManager[Team]:
        """Those who answer the questions of a run that was checked."""
        ...


class Here:
    """Answers in this process."""

    one_by_one = True
    _models: Models

    def check(self, config: RunConfig) -> None:
        """See `Crew`."""
        self._models = open_models(config)

    @asynccontextmanager
    async def team(self, plan: Plan, store: Store) -> AsyncIterator[Team]:
        """See `Crew`."""
        free = asyncio.Semaphore(plan.config.concurrency)

        remember = partial(store.remember_spent, plan.config.writer)
        async with open_answerer(plan, self._models, remember) as answerer:
            store.remember_packages(answerer.packages)

            async def place() -> int:
                await free.acquire()
                return 1

            async def answer(jobs: Sequence[Job]) -> list[Answered]:
                return [await answerer.answer(job) for job in jobs]

            yield Team(place, free.release, answer)
