"""The sandbox itself: warm workers, a queue before them, retries when a worker fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from sandbox.base import Execution, Mount, Outcome, SandboxConfig, SandboxError
from sandbox.controls import PROBE, failures
from sandbox.inputs import Inputs, check_targets, signature
from sandbox.terminal import printable
from sandbox.worker import Backend, Worker, WorkerError

log = logging.getLogger(__name__)
RECYCLE_AFTER = 2000  # runs; a container shares more state between runs than namespaces do
CANARY = "def sing():\n    return list(map(str, range(3)))"
CANARY_RESULT = ["0", "1", "2"]
KEPT_INPUTS = 64  # mounts whose files stay in memory


class PooledSandbox:
    """Runs code on warm workers of one backend. Use within one event loop.

    Notes
    -----
    Workers start when they are first needed. The first one proves its controls (see
    ``sandbox.controls``) before any code runs.
    """

    def __init__(self, backend: Backend, config: SandboxConfig, warmup: str) -> None:
        self._backend = backend
        self._config = config
        self._warmup = warmup
        self._recycle_after = 1 if config.options.get("strict") else RECYCLE_AFTER
        self._slots = asyncio.Semaphore(config.workers)
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._proof = asyncio.Lock()
        self._proven = False
        self._closed = False
        self._inputs: dict[Path, tuple[object, Inputs]] = {}

    @property
    def tier(self) -> str:
        """See :class:`sandbox.base.Sandbox`."""
        return self._backend.tier

    @property
    def memory_counted(self) -> bool:
        """Whether the kernel counts the memory of a run (a cgroup), or the fork server does.

        Known of workers that wait for work: false when there is none.
        """
        return any(worker.startup["memory_counted"] is True for worker in self._idle)

    async def __aenter__(self) -> Self:
        """Start the first worker, so that what is missing is said before work begins."""
        self._idle.append(await self._start())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def run(
        self,
        code: str,
        entry: str,
        *,
        timeout: float,
        mounts: Sequence[Mount] = (),
        collect: bool = False,
    ) -> Execution:
        """See :class:`sandbox.base.Sandbox`."""
        targets = check_targets(mounts, collect=collect)
        inputs = [
            (self._read(mount.source), target)
            for mount, target in zip(mounts, targets, strict=True)
        ]
        async with self._slots:
            try:
                return await self._once(code, entry, timeout, inputs, collect)
            except WorkerError as error:
                log.warning("a %s worker failed, trying again: %s", self.tier, printable(error))
            try:
                return await self._once(code, entry, timeout, inputs, collect)
            except WorkerError as error:
                return await self._blame(error)

    async def _blame(self, fault: WorkerError) -> Execution:
        """Two workers died with the same code: its doing when a fresh one runs good code."""
        try:
            canary = await self._once(CANARY, "sing", 30.0, [])
        except WorkerError as error:
            fault, alive = error, False
        else:
            alive = canary.outcome is Outcome.OK and canary.result == CANARY_RESULT
        if not alive:
            raise SandboxError(
                f"two {self.tier} workers failed on the same code, and a third on known-good"
                f" code: {fault}. Run `python -m sandbox selftest backend={self.tier}` to see"
                " which control fails."
            ) from fault
        return Execution(
            Outcome.KILLED,
            error=f"two workers died running this code, a third ran other code normally: {fault}",
            tier=self.tier,
        )

    async def close(self) -> None:
        """See :class:`sandbox.base.Sandbox`."""
        self._closed = True
        workers = [*self._idle, *self._busy]
        self._idle.clear()
        self._busy.clear()
        await asyncio.gather(*(worker.close() for worker in workers))

    async def _once(
        self,
        code: str,
        entry: str,
        timeout: float,
        inputs: Sequence[tuple[Inputs, str]],
        collect: bool = False,
    ) -> Execution:
        if self._closed:
            raise SandboxError("the sandbox is closed; get a new one from get_sandbox")
        worker = self._idle.pop() if self._idle else await self._start()
        if not worker.fits(inputs):
            await worker.close()
            worker = await self._start()
        self._busy.add(worker)
        kept = False
        try:
            execution = await worker.run(code, entry, timeout, inputs, collect=collect)
            worn = worker.runs >= self._recycle_after or not worker.clean
            kept = not worn and worker in self._busy
        finally:  # also when this task is cancelled: the state of the worker is unknown then
            self._busy.discard(worker)
            if kept:
                self._idle.append(worker)
            else:
                last_words = await worker.close()
                if last_words:
                    log.debug("last output of a worker: %s", last_words)
        return execution

    async def _start(self) -> Worker:
        worker = await Worker.start(self._backend, self._config, self._warmup)
        if self._backend.jail == "none":
            return worker
        async with self._proof:
            if not self._proven:
                try:
                    execution = await worker.run(PROBE, "probe", 30.0, [])
                    broken = failures(execution)
                except BaseException as error:
                    await worker.close()
                    if isinstance(error, WorkerError):
                        raise SandboxError(f"the {self.tier} self-test failed: {error}") from error
                    raise
                if broken:
                    await worker.close()
                    raise SandboxError(
                        f"the {self.tier} sandbox failed its probe: {'; '.join(broken)}. Nothing"
                        " was run. Use another backend, or see docs/sandbox.md."
                    )
                self._proven = True
        return worker

    def _read(self, source: Path) -> Inputs:
        state = signature(source)
        if source not in self._inputs or self._inputs[source][0] != state:
            if len(self._inputs) >= KEPT_INPUTS:
                self._inputs.clear()
            self._inputs[source] = state, Inputs.read(source)
        return self._inputs[source][1]
