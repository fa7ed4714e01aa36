"""Who answers the questions of runs: this process, or whoever takes its place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
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

    ``place`` waits until somebody is free, ``leave`` gives the place back.
    """

    place: Callable[[], Awaitable[object]]
    leave: Callable[[], None]
    answer: Callable[[Job], Awaitable[Answered]]


class Crew(Protocol):
    """Who answers questions: this process (`Here`), or workers (`experiments.run.cluster`)."""

    def check(self, config: RunConfig) -> None:
        """Refuse with a `UsageError` what cannot work before anything is written."""
        ...

    def team(self, plan: Plan, store: Store) -> AbstractAsyncContextManager[Team]:
        """Those who answer the questions of a run that was checked."""
        ...


class Here:
    """Answers in this process."""

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
            yield Team(free.acquire, free.release, answerer.answer)
