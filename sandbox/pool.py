"""The sandbox itself: warm workers, a queue before them, retries when a worker fails."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import lru_cache, partial
from typing import Self

from foundation.program import command_line
from foundation.terminal import printable
from sandbox.base import (
    Execution,
    FunctionCall,
    Outcome,
    RunRequest,
    Sandbox,
    SandboxConfig,
    SandboxError,
    Verifier,
    Workers,
)
from sandbox.ending import SIGKILLED
from sandbox.exchange import Inputs, check_targets, signature
from sandbox.inside import probe
from sandbox.shipping import order_of
from sandbox.worker import Backend, Placed, Worker, WorkerError, WorkerStartError

log = logging.getLogger(__name__)
RECYCLE_AFTER = (
    2000  # runs; a container shares more state between runs than namespaces do
)
CANARY = "def sing():\n    return list(map(str, range(3)))"
CANARY_RESULT = ["0", "1", "2"]
_CLOSED = "the sandbox is closed; get a new one from get_sandbox"
KEPT_INPUTS = 64  # mounts whose files stay in memory


def failures(execution: Execution) -> list[str]:
    """What the probe found broken, one line each; empty when every control holds."""
    if execution.outcome is not Outcome.OK:
        return [f"the probe ended as {execution.outcome}: {execution.error}"]
    answers = execution.result
    if not isinstance(answers, dict) or set(answers) != {
        each.__name__ for each in probe.CONTROLS
    }:
        return ["the probe's answer is not its own"]
    return [
        f"{name}: {reason}" for name, reason in answers.items() if reason is not None
    ]


class Pool(Workers):
    """Warm workers of one backend, of its own. Use within one event loop.

    Workers start when they are first needed. The first one proves its controls (see
    `sandbox.inside.probe`) before any code runs.
    """

    def __init__(self, backend: Backend, config: SandboxConfig, warmup: str) -> None:
        self._backend = backend
        self.confinement = backend.confinement
        self._config = config
        self._warmup = warmup
        self._recycle_after = 1 if config.options.get("strict") else RECYCLE_AFTER
        self._slots = asyncio.Semaphore(config.workers)
        self.idle: list[Worker] = []
        self.busy: set[Worker] = set()
        self._proof = asyncio.Lock()
        self._proven = False
        self._closed = False
        self.memory_counted = (
            False  # of a run, by the kernel (a cgroup), in the newest worker
        )
        # By path and signature: a file that has changed is read again.
        self._read = lru_cache(KEPT_INPUTS)(lambda source, _: Inputs.read(source))

    async def __aenter__(self) -> Self:
        """Start the first worker, so that what is missing is said before work begins."""
        self.idle.append(await self._start())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def execute(self, request: RunRequest) -> Execution:
        """See :class:`sandbox.base.Workers`."""
        targets = check_targets(request.mounts, collect=request.collect)
        inputs = [
            self._read(mount.source, signature(mount.source))
            for mount in request.mounts
        ]
        placed = list(zip(inputs, targets, strict=True))
        # Raises here, where no worker is to blame, if the code cannot be sent.
        request = replace(request, code=order_of(request.code))
        async with self._slots:
            try:
                done = await self._once(request, placed)
            except WorkerError as error:
                if self._closed:
                    raise SandboxError(_CLOSED) from error
                log.warning(
                    "a %s worker failed, trying again: %s",
                    self.confinement,
                    printable(error),
                )
            else:
                if (done.outcome, done.error) != (Outcome.KILLED, SIGKILLED):
                    return done
                # Code cannot send itself this signal in its namespace (in a container it may,
                # once): the kernel did, short of memory, or a person.
                log.warning("a run was killed from outside, trying again")
            try:
                return await self._once(request, placed)
            except WorkerError as error:
                return await self._blame(error)

    async def _blame(self, fault: WorkerError) -> Execution:
        """Two workers died with the same code: it is to blame if a third runs known-good code."""
        self._proven = False  # the third one proves its controls, too
        try:
            canary = await self._once(RunRequest(CANARY.encode(), "sing"), fresh=True)
        except WorkerError as error:
            fault, alive = error, False
        else:
            alive = canary.outcome is Outcome.OK and canary.result == CANARY_RESULT
        if not alive:
            cure = command_line(f"sandbox selftest backend={self.confinement}")
            raise SandboxError(
                f"two {self.confinement} workers failed on the same code, a third on known-good"
                f" code: {fault}. Run `{cure}` to see which control fails."
            ) from fault
        return Execution(
            Outcome.KILLED,
            error=f"two workers died running this code, a third ran other code normally: {fault}",
            confinement=self.confinement,
        )

    async def close(self) -> None:
        """See :class:`sandbox.base.Sandbox`."""
        self._closed = True
        workers = [*self.idle, *self.busy]
        self.idle.clear()
        self.busy.clear()
        await asyncio.gather(*(worker.close() for worker in workers))

    async def _once(
        self, request: RunRequest, inputs: Placed = (), *, fresh: bool = False
    ) -> Execution:
        if self._closed:
            raise SandboxError(_CLOSED)
        if fresh and self.idle:
            await self.idle.pop().close()
        worker = await self._start() if fresh or not self.idle else self.idle.pop()
        if not worker.fits(inputs):
            await worker.close()
            worker = await self._start()
        self.busy.add(worker)
        reusable = False
        try:
            execution = await worker.run(request, inputs)
            worn = worker.runs >= self._recycle_after or worker.leaves_traces
            # The pool may have been closed while this worker was starting.
            reusable = not worn and not self._closed
        finally:  # also when this task is cancelled: the state of the worker is unknown then
            self.busy.discard(worker)
            if reusable:
                self.idle.append(worker)
            else:
                log.debug("a worker ends: %s", await worker.close())
        return execution

    async def _start(self) -> Worker:
        start = partial(Worker.start, self._backend, self._config, self._warmup)
        try:
            worker = await start()
        except WorkerStartError as error:
            log.warning("%s; trying again", printable(error))
            worker = await start()
        self.memory_counted = worker.startup["memory_counted"] is True
        try:
            async with self._proof:
                if not self._proven and self._backend.jail != "none":
                    await self._prove(worker)
                self._proven = True
        except BaseException:
            await worker.close()
            raise
        return worker

    async def _prove(self, worker: Worker) -> None:
        try:
            broken = failures(
                await worker.run(
                    RunRequest(FunctionCall(probe.__name__, "probe"), None)
                )
            )
        except WorkerError as error:
            broken = [str(error)]
        if broken:
            raise SandboxError(
                f"the {self.confinement} sandbox failed its probe: {'; '.join(broken)}. Nothing"
                " was run. Use another backend, or see docs/sandbox.md."
            )


class PooledSandbox(Pool, Sandbox):
    """Runs untrusted code on warm workers."""


class PooledVerifier(Pool, Verifier):
    """Compares answers with expected values on warm workers."""
