"""What runs on a worker of Dask: one warm answerer per configuration, asked by many tasks.

A task is plain data: a configuration, the hash that it has for the driver, ids and seeds. The
worker loads the questions itself, and has to come to the same hash. It has an event loop of its
own, in a thread of its own: nothing that takes long here keeps the worker from saying it is alive.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from distributed import Worker, get_worker
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.utils import sync

from experiments.run.answering import Answerer, Job, Plan, open_answerer, open_models
from experiments.run.config import validate
from experiments.run.setup import build_benchmark, load_samples
from experiments.run.summary import samples_digest
from experiments.samples import Sample
from matsmith.core.errors import UsageError
from retrieval.base import RetrievalError
from sandbox.base import SandboxError

#: Name of the plugin.
NAME = "matsmith"
#: Configurations that a worker keeps warm: those of several runs may alternate.
WARM = 3

#: The first task of a worker makes its site.
_FIRST = threading.Lock()
_LOG = logging.getLogger(__name__)
Asked = Mapping[str, Any]


class Unfit(Exception):  # noqa: N818 -- what a worker is, not an error of the run
    """A worker that cannot answer the questions of a configuration; the message says why."""


@dataclass
class _Warm:
    """An answerer and its questions."""

    answerer: Answerer
    samples: Mapping[str, Sample]
    stack: AsyncExitStack


class Site(WorkerPlugin):
    """What a worker process keeps between tasks."""

    name = NAME

    def setup(self, worker: Worker) -> None:
        """Start the event loop of the answers."""
        del worker
        self._loop = asyncio.new_event_loop()
        self._warm: dict[str, asyncio.Task[_Warm]] = {}
        self._users: Counter[str] = Counter()
        threading.Thread(target=self._loop.run_forever, name=NAME, daemon=True).start()

    async def teardown(self, worker: Worker) -> None:
        """Stop the sandboxes."""
        del worker
        closing = asyncio.run_coroutine_threadsafe(self._close(list(self._warm)), self._loop)
        await asyncio.wrap_future(closing)
        self._loop.call_soon_threadsafe(self._loop.stop)

    def ask(self, asked: Asked) -> dict[str, Any]:
        """Answer in the event loop of the answers; called in a thread of the worker."""
        return asyncio.run_coroutine_threadsafe(self._answer(asked), self._loop).result()

    async def _answer(self, asked: Asked) -> dict[str, Any]:
        self._users[asked["key"]] += 1
        try:
            try:
                warm = await self._open(asked)
            except (UsageError, SandboxError, RetrievalError, Unfit, OSError) as error:
                _LOG.error("takes no work of %s: %s", asked["config_hash"], error)
                return {"unfit": str(error)}
            name, seed = asked["question"]
            answered = await warm.answerer.answer(Job(warm.samples[name], seed))
        finally:
            self._users[asked["key"]] -= 1
        return {
            "packages": {name: dict(v) for name, v in warm.answerer.packages.items()},
            "answer": (answered.row.model_dump(), answered.trajectory, answered.figures),
        }

    async def _open(self, asked: Asked) -> _Warm:
        """The answerer of a configuration; the first task that needs it builds it for all."""
        key = asked["key"]
        if key not in self._warm:
            self._warm[key] = asyncio.create_task(self._build(asked))
        task = self._warm[key]
        try:
            return await asyncio.shield(task)
        except BaseException:
            if self._warm.get(key) is task:
                del self._warm[key]  # the next task tries again
            raise

    async def _build(self, asked: Asked) -> _Warm:
        idle = [key for key, task in self._warm.items() if task.done() and not self._users[key]]
        await self._close(idle[: max(0, len(self._warm) - WARM)])
        config = validate(asked["config"])
        benchmark = await asyncio.to_thread(build_benchmark, config)
        samples = await asyncio.to_thread(load_samples, benchmark, config)
        if config.hash(samples_digest(samples)) != asked["config_hash"]:
            raise Unfit(
                f"benchmark={config.benchmark.name}: has other questions or another version of "
                "matsmith than the machine that the run was started on"
            )
        models = open_models(config, concurrency=asked["threads"])
        stack = AsyncExitStack()
        plan = Plan(
            config,
            asked["config_hash"],
            benchmark,
            asked["environments"],
            partial(_LOG.info, "Environment %s: %s"),
            warm=asked["warm"],
        )
        answerer = await stack.enter_async_context(open_answerer(plan, models))
        return _Warm(answerer, {sample.question.id: sample for sample in samples}, stack)

    async def _close(self, keys: Sequence[str]) -> None:
        for task in [self._warm.pop(key) for key in keys]:
            try:
                await (await task).stack.aclose()
            except Exception as error:  # noqa: BLE001 -- it is leaving: nothing depends on it
                _LOG.warning("while closing: %s", error)


def answer(asked: Asked) -> dict[str, Any]:
    """The task: answer a question (id and seed) on the worker that it runs on.

    Returns ``answer`` (row, trajectory, figures) and ``packages``, or ``unfit``: why this worker
    cannot answer; always ``worker``.
    """
    worker = get_worker()
    with _FIRST:
        if NAME not in worker.plugins:
            sync(worker.loop, worker.plugin_add, Site(), NAME, catch_errors=False)
    site = worker.plugins[NAME]
    assert isinstance(site, Site)
    return {**site.ask({**asked, "threads": worker.state.nthreads}), "worker": worker.address}
