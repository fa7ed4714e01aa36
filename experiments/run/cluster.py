"""Who answers the questions of runs: this process, or workers of Dask (``launcher=dask``).

Dask moves a task when its worker dies; results come back as plain data, and only the process that
was started writes the run folder. So the same command resumes with any number of workers.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console

from experiments.record import Ending, Row
from experiments.run.answering import (
    Answered,
    Plan,
    Trial,
    broken,
    keep,
)
from experiments.run.config import LauncherConfig, RunConfig
from experiments.run.launcher import Executor, ExecutorError, Launcher, LocalLauncher
from experiments.run.store import Store
from foundation.errors import UsageError
from foundation.targets import built
from foundation.terminal import printable

if TYPE_CHECKING:  # an optional extra
    from distributed import Client, Future

#: Seconds between two looks at the workers.
LOOK = 1.0


@asynccontextmanager
async def open_launcher(
    configs: Sequence[RunConfig], console: Console
) -> AsyncIterator[Launcher]:
    """Those who answer the questions of runs, as ``launcher`` says."""
    config = configs[0].launcher
    if any(run.launcher != config for run in configs):
        raise UsageError("launcher: the runs of a sweep share one; choose it once")
    if config.target is not None:
        content = {"_target_": config.target, **config.options}
        yield built("launcher", content, Launcher)
        return
    if config.name == "local":
        yield LocalLauncher()
        return
    try:
        import distributed  # noqa: F401, PLC0415 - an optional extra
    except ImportError as error:
        raise UsageError(
            f"launcher=dask: needs Dask, which is not installed ({error}); "
            "to install it: `uv pip install distributed dask-jobqueue`"
        ) from error
    logging.getLogger("distributed").setLevel(
        logging.CRITICAL
    )  # said in our own words below
    threads = max(run.concurrency for run in configs)
    async with _cluster(config, threads) as client:
        launcher = DaskLauncher(client, config, console)
        watching = asyncio.create_task(launcher.watch())
        try:
            yield launcher
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching


@asynccontextmanager
async def _cluster(config: LauncherConfig, threads: int) -> AsyncIterator[Client]:
    """A client of the cluster that the launcher describes; ended with it when it is ours."""
    from distributed import Client, LocalCluster  # noqa: PLC0415 - an optional extra

    if config.address is not None:
        try:
            client = await Client(config.address, asynchronous=True, timeout=10)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise UsageError(
                f"launcher.address={config.address}: no scheduler answers ({error}); start one "
                "with `dask scheduler`, see docs/cluster.md"
            ) from error
        async with client:
            yield client
        return
    cluster = LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=config.workers,
        threads_per_worker=threads,
        processes=True,
        memory_limit=0,  # what needs memory runs in the sandbox, which has limits of its own
        dashboard_address=None,
        asynchronous=True,
        silence_logs=logging.CRITICAL,
    )
    async with cluster, Client(cluster, asynchronous=True) as client:  # type: ignore[no-untyped-call]
        yield client


@dataclass
class DaskLauncher(Launcher):
    """The workers of a cluster.

    ``threads`` are, by address of those that take work, how many questions each answers at once;
    ``unfit`` says of the others why they take none.
    """

    client: Client
    config: LauncherConfig
    console: Console
    threads: dict[str, int] = field(default_factory=dict)
    unfit: dict[str, str] = field(default_factory=dict)
    gone: str | None = None
    _taken: int = 0
    _seen: float = field(default_factory=time.monotonic)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def check(self, config: RunConfig) -> None:
        """See `Launcher`."""
        if config.writer != "facts":
            raise UsageError(
                f"writer={config.writer}: documentation is written by one process, not by many; "
                "write it first (`matsmith docs`, docs/documentation.md) and leave writer out"
            )
        for role, model in (("model", config.model), ("judge", config.judge)):
            if model is not None and model.record is not None:
                raise UsageError(
                    f"{role}.record: traffic is recorded with launcher=local only"
                )

    @asynccontextmanager
    async def executor(self, plan: Plan, store: Store) -> AsyncIterator[Executor]:
        """See `Launcher`."""
        same = {
            "seeds": (0,),
            "ids": (),
            "limit": None,
            "out": None,
        }  # who is asked what: per task
        plain = plan.config.model_copy(update=same).plain()
        asked = {
            "key": json.dumps([plain, plan.environments], sort_keys=True),
            "config": plain,
            "config_hash": plan.config_hash,
            "environments": list(plan.environments),
            "warm": plan.warm,
        }
        yield Executor(
            self._acquire, self._release, partial(self._answer, plan, store, asked)
        )

    async def watch(self) -> None:
        """Look which workers there are, for as long as this runs."""
        while True:
            try:
                async with asyncio.timeout(10 * LOOK):
                    threads = await self.client.nthreads()  # type: ignore[no-untyped-call]
            except Exception:  # noqa: BLE001 - of a connection that ends; that is seen below
                threads = {}
            self.threads = {a: n for a, n in threads.items() if a not in self.unfit}
            now = time.monotonic()
            if self.threads:
                self._seen = now
            if self.client.status == "closed":
                self.gone = "the scheduler of the cluster is gone"
            elif threads and not self.threads and now - self._seen > 10 * LOOK:
                reasons = sorted(set(self.unfit.values()))
                self.gone = f"no worker can take work: {'; '.join(reasons)}"
            elif now - self._seen > self.config.patience:
                self.gone = (
                    f"no worker for {self.config.patience:.0f} s (launcher.patience)"
                )
            else:  # the next run of a sweep may find one
                self.gone = None
            self._changed.set()
            await asyncio.sleep(LOOK)

    async def _acquire(self) -> None:
        while self._taken >= sum(self.threads.values()):
            await self._change()
        self._taken += 1

    def _release(self) -> None:
        self._taken -= 1
        self._changed.set()

    async def _change(self) -> None:
        """Wait for something to happen; raises `ExecutorError` when nobody is left."""
        if self.gone is not None:
            raise ExecutorError(self.gone)
        self._changed.clear()
        await self._changed.wait()

    def _refuse(self, worker: str, reason: str) -> None:
        """Give a worker no more work."""
        if worker not in self.unfit:
            self.unfit[worker] = reason
            self.threads.pop(worker, None)
            line = f"worker {worker} takes no work: {printable(reason)}"
            self.console.print(
                line, style="yellow", markup=False, highlight=False, soft_wrap=True
            )

    async def _answer(
        self, plan: Plan, store: Store, asked: Mapping[str, Any], trial: Trial
    ) -> Answered:
        """What a worker makes of a question, whichever it is and however often it moves."""
        from experiments.run.cluster_worker import answer  # noqa: PLC0415 - an optional extra

        asked = {**asked, "question": (trial.sample.question.id, trial.seed)}
        while True:
            while not self.threads or self.client.status != "running":
                await self._change()
            allowed = list(self.threads) if self.unfit else None
            try:
                future = self.client.submit(answer, asked, workers=allowed, pure=False)
                result = await self._wait(future, allowed)
            except ExecutorError:
                raise
            except Exception as error:  # noqa: BLE001 - of Dask, of a worker: never of an answer
                reason = f"no worker could answer: {type(error).__name__}: {error}"
                trajectory = broken(trial, reason)
                ending = Ending.of(trajectory.stop_reason, reason)
                return keep(plan, trial, trajectory, ending)
            if result is None:
                if self.gone is not None:
                    raise ExecutorError(self.gone)
                continue
            if "unfit" not in result:
                try:
                    store.remember_packages(result["packages"])
                    row, record, figures = result["answer"]
                    return Answered(Row(**row), record, figures)
                except (
                    UsageError
                ) as error:  # answers of other versions cannot share a table
                    result["unfit"] = str(error)
            self._refuse(result["worker"], result["unfit"])

    async def _wait(
        self, future: Future[Any], allowed: list[str] | None
    ) -> dict[str, Any] | None:
        """The result; ``None`` when everyone who was allowed to make it is gone, or it is lost."""
        from distributed.client import FutureCancelledError  # noqa: PLC0415 - an optional extra

        waiting = asyncio.ensure_future(future.result())
        try:
            while True:
                done, _ = await asyncio.wait({waiting}, timeout=LOOK)
                if done:
                    return dict(waiting.result())
                lost = allowed is not None and not self.threads.keys() & set(allowed)
                if lost or self.gone is not None:
                    return None
        except FutureCancelledError:  # the scheduler lost it
            await self._change()
            return None
        finally:
            waiting.cancel()
            future.release()  # type: ignore[no-untyped-call]
