"""The seam of launchers: who answers the questions of runs."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from experiments.run.answering import (
    Answered,
    Models,
    Plan,
    Trial,
    open_answerer,
    open_models,
)
from experiments.run.config import RunConfig
from experiments.run.store import Store


class ExecutorError(Exception):
    """Nobody is left to answer questions; the message says what happened."""


@dataclass(frozen=True)
class Executor:
    """Those who answer the questions of one run; the first and the last may raise `ExecutorError`.

    ``acquire`` waits until somebody is free; ``release`` frees the place.
    """

    acquire: Callable[[], Awaitable[object]]
    release: Callable[[], None]
    answer: Callable[[Trial], Awaitable[Answered]]


class Launcher(ABC):
    """Which processes and machines answer; made once for all runs of a command."""

    @abstractmethod
    def check(self, config: RunConfig) -> None:
        """Refuse with a `UsageError` what cannot work before anything is written."""

    @abstractmethod
    def executor(
        self, plan: Plan, store: Store
    ) -> AbstractAsyncContextManager[Executor]:
        """Those who answer the questions of a run that was checked."""


class LocalLauncher(Launcher):
    """Answers in this process."""

    _models: Models

    def check(self, config: RunConfig) -> None:
        """See `Launcher`."""
        self._models = open_models(config)

    @asynccontextmanager
    async def executor(self, plan: Plan, store: Store) -> AsyncIterator[Executor]:
        """See `Launcher`."""
        free = asyncio.Semaphore(plan.config.concurrency)
        remember = partial(store.remember_spent, plan.config.writer)
        async with open_answerer(plan, self._models, remember) as answerer:
            store.remember_packages(answerer.packages)
            yield Executor(free.acquire, free.release, answerer.answer)
