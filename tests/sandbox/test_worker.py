"""A worker as the event loop sees it."""

import asyncio
import gc
import io
import itertools
import time

import pytest

from sandbox.base import Job, Outcome, SandboxConfig
from sandbox.inside.tagged import MAX_NODES, frame
from sandbox.worker import Worker


class Answering:
    """A channel to a fork server that answers every request with the same bytes."""

    def __init__(self, answer):
        self._answer = io.BytesIO(answer)

    async def read(self, size):
        """See `sandbox.worker.Channel`."""
        return self._answer.read(size)

    async def write(self, data):
        """See `sandbox.worker.Channel`."""

    async def close(self):
        """See `sandbox.worker.Channel`."""
        return ""


@pytest.fixture
def without_the_heap_of_other_tests():
    """A collection that walks through what earlier tests left would stop all threads."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("without_the_heap_of_other_tests")
async def test_reading_the_largest_answer_does_not_stop_the_event_loop():
    array = b'{"$":"array","dtype":"|u1","shape":[1],"raw":"AA=="}'
    count = MAX_NODES // (array.count(b",") + array.count(b"[") + array.count(b"{") + 1) - 1
    header = {"reason": None, "status": 0, "seconds": 1.0, "cpu_seconds": 1.0, "clean": True}
    message = b"ok\n[" + b",".join([array] * count) + b"]"
    answer = frame(header | {"error": None}, b"", b"", message)
    worker = Worker(Answering(answer), "none", SandboxConfig(), {})
    started = time.monotonic()
    running = asyncio.create_task(worker.run(Job(b"", "f")))
    ticks = [started]
    while not running.done():
        await asyncio.sleep(0.01)
        ticks.append(time.monotonic())
    done = await running
    assert done.outcome is Outcome.OK
    assert len(done.result) == count
    longest = max(later - earlier for earlier, later in itertools.pairwise(ticks))
    assert longest < (ticks[-1] - started) / 2  # on the loop itself it would be all of it
