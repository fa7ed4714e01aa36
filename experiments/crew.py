"""Who answers the questions of runs: this process, or whoever takes its place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from agents.budget import Meter
from experiments.answering import (
    Answered,
    Answerer,
    Job,
    Models,
    open_answerer,
    open_models,
)
from experiments.config import RunConfig
from experiments.samples import Benchmark
from experiments.store import Store


class CrewError(Exception):
    """Nobody is left to answer questions; the message says what happened."""


@dataclass(frozen=True)
class Plan:
    """What a crew has to know of a run.

    Attributes
    ----------
    environments
        Sandbox environments of the questions.
    meter
        Of the whole run.
    say
        Told what is being built: the environment, and a line about it.
    warm
        Whether sandboxes import what answers will need: where some answer is code.
    """

    config: RunConfig
    config_hash: str
    benchmark: Benchmark
    environments: Sequence[str]
    store: Store
    meter: Meter
    say: Callable[[str, str], None]
    warm: bool = True


class Team(Protocol):
    """Those who answer the questions of one run."""

    async def place(self) -> int:
        """Wait until somebody is free; returns how many questions to hand over at once."""
        ...

    def leave(self) -> None:
        """Give the place back."""
        ...

    async def answer(self, jobs: Sequence[Job]) -> Sequence[Answered]:
        """Answer questions.

        Raises
        ------
        CrewError
            When nobody can.
        """
        ...


class Crew(Protocol):
    """Who answers questions: this process (`Here`), or workers (`experiments.cluster`).

    Attributes
    ----------
    one_by_one
        Whether a run ends before the next begins; otherwise the next one begins as soon as no
        question of this one waits, so that a slow question leaves nobody idle.
    """

    one_by_one: bool

    def check(self, config: RunConfig) -> None:
        """Refuse what cannot work before anything is written.

        Raises
        ------
        UsageError
            Says what to change.
        """
        ...

    def team(self, plan: Plan) -> AbstractAsyncContextManager[Team]:
        """Those who answer the questions of a run that was checked."""
        ...


class Here:
    """Answers in this process."""

    one_by_one = True

    def __init__(self) -> None:
        self._models: Models | None = None

    def check(self, config: RunConfig) -> None:
        """See `Crew`."""
        self._models = open_models(config)

    @asynccontextmanager
    async def team(self, plan: Plan) -> AsyncIterator[Team]:
        """See `Crew`."""
        config, store = plan.config, plan.store
        opened = open_answerer(
            config,
            plan.config_hash,
            plan.benchmark,
            plan.environments,
            models=self._models or open_models(config),
            meter=plan.meter,
            say=plan.say,
            remember=lambda spent: store.remember_spent(config.writer, spent),
            warm=plan.warm,
        )
        async with opened as answerer:
            store.remember_packages(answerer.packages)
            yield _Together(answerer, asyncio.Semaphore(config.concurrency))


@dataclass(frozen=True)
class _Together:
    answerer: Answerer
    free: asyncio.Semaphore

    async def place(self) -> int:
        await self.free.acquire()
        return 1

    def leave(self) -> None:
        self.free.release()

    async def answer(self, jobs: Sequence[Job]) -> list[Answered]:
        return [await self.answerer.answer(job) for job in jobs]
