"""What runs on a worker of Dask: one warm answerer per configuration, asked by many tasks.

A task is plain data: a configuration, the hash that it has for the driver, ids and seeds. The
worker loads the questions itself, and has to come to the same hash. Tasks are coroutines: they
share the event loop of their worker.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from distributed import Worker, get_worker
from distributed.diagnostics.plugin import WorkerPlugin

from experiments.run.answering import Answerer, Plan, Trial, open_answerer, open_models
from experiments.run.config import validate
from experiments.run.setup import build_benchmark, load_samples
from experiments.run.summary import samples_digest
from experiments.samples import Sample
from foundation.errors import UsageError
from retrieval.base import RetrievalError
from sandbox.base import SandboxError

#: Configurations that a worker keeps warm: those of several runs may alternate.
WARM = 3
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


_warm: dict[str, asyncio.Task[_Warm]] = {}
_users: Counter[str] = Counter()


class Closing(WorkerPlugin):
    """Stops the sandboxes of a worker that ends."""

    name = "matsmith"

    async def teardown(self, worker: Worker) -> None:
        """See Dask."""
        del worker
        await _close(list(_warm))


async def answer(asked: Asked) -> dict[str, Any]:
    """The task: answer a question (id and seed) on the worker that it runs on.

    Returns ``answer`` (row, record, figures) and ``packages``, or ``unfit``: why this worker
    cannot answer; always ``worker``.
    """
    worker = get_worker()
    if Closing.name not in worker.plugins:
        await worker.plugin_add(Closing(), Closing.name)
    _users[asked["key"]] += 1
    try:
        warm = await _open({**asked, "threads": worker.state.nthreads})
        name, seed = asked["question"]
        answered = await warm.answerer.answer(Trial(warm.samples[name], seed))
    except Unfit as error:
        _LOG.error("takes no work of %s: %s", asked["config_hash"], error)
        return {"unfit": str(error), "worker": worker.address}
    finally:
        _users[asked["key"]] -= 1
    return {
        "packages": {name: dict(v) for name, v in warm.answerer.packages.items()},
        "answer": (answered.row.model_dump(), answered.record, answered.figures),
        "worker": worker.address,
    }


async def _open(asked: Asked) -> _Warm:
    """The answerer of a configuration; the first task that needs it builds it for all."""
    key = asked["key"]
    if key not in _warm:
        _warm[key] = asyncio.create_task(_build(asked))
    task = _warm[key]
    try:
        return await asyncio.shield(task)
    except BaseException as error:
        if _warm.get(key) is task:
            del _warm[key]  # the next task tries again
        if isinstance(error, UsageError | SandboxError | RetrievalError | OSError):
            raise Unfit(str(error)) from error
        raise


async def _build(asked: Asked) -> _Warm:
    idle = [key for key, task in _warm.items() if task.done() and not _users[key]]
    await _close(idle[: max(0, len(_warm) - WARM)])
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


async def _close(keys: Sequence[str]) -> None:
    for task in [_warm.pop(key) for key in keys]:
        try:
            await (await task).stack.aclose()
        except Exception as error:  # noqa: BLE001 -- it is leaving: nothing depends on it
            _LOG.warning("while closing: %s", error)
