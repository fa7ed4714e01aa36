"""The seccomp filter, instruction by instruction; a worker as the host sees it."""

import ast
import asyncio
import gc
import io
import itertools
import struct
import sys
import time
from pathlib import Path

import pytest

from sandbox import launcher, shipping, worker
from sandbox.base import Outcome, RunRequest, SandboxConfig
from sandbox.inside.decoding import MAX_NODES
from sandbox.inside.tagged import frame
from sandbox.server import seccomp

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x50000
READ, OPENAT, EXIT = {0: (0, 63), 1: (257, 56), 2: (231, 94)}.values()


def decide(machine, number, argument=0, audit=None, *, flags=0, counted=True):
    """What the kernel would answer: a classic BPF interpreter for the five operations used."""
    program = seccomp.seccomp_program(machine, shipping.CALLS, counted=counted)
    instructions = list(struct.iter_unpack("HBBI", program))
    audit = seccomp.MACHINES[machine][0] if audit is None else audit
    data = struct.pack("<IIQ6Q", number, audit, 0, argument, 0, 0, flags, 0, 0)
    accumulator = position = 0
    while True:
        code, if_true, if_false, value = instructions[position]
        position += 1
        if code == 0x20:
            accumulator = struct.unpack_from("<I", data, value)[0]
        elif code == 0x06:
            return int(value)
        else:
            test = {
                0x15: accumulator == value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }[code]
            position += if_true if test else if_false


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter(machine):
    column = seccomp.MACHINES[machine][1]
    for name, numbers in shipping.CALLS["refused"].items():
        if numbers[column] is not None:
            assert decide(machine, numbers[column]) == ERRNO | 1, name
    for name, numbers in shipping.CALLS["absent"].items():
        assert decide(machine, numbers[column]) == ERRNO | 38, name
    for call in (
        shipping.CALLS["looked_at"]["socket"],
        shipping.CALLS["looked_at"]["socketpair"],
    ):
        assert decide(machine, call[column], 1) == ALLOW
        for family in (0, 2, 10, 16, 17, 38, 40, 44):
            assert decide(machine, call[column], family) == ERRNO | 13
    clone = shipping.CALLS["looked_at"]["clone"][column]
    assert decide(machine, clone, 17) == ALLOW
    assert decide(machine, clone, 0x3D0F00) == ALLOW  # as pthread_create calls it
    for bit in (17, 25, 26, 27, 28, 29, 30):
        assert decide(machine, clone, (1 << bit) | 17) == ERRNO | 1
    for numbers in (READ, OPENAT, EXIT):
        assert decide(machine, numbers[column]) == ALLOW


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_calls_newer_than_the_filter_do_not_exist(machine):
    for number in (
        457,
        458,
        467,
        470,
        512,
        547,
        1000,
        0x3FFFFFFF,
        0x40000000,
        0xFFFFFFFF,
    ):
        assert (
            decide(machine, number) == ERRNO | 38
        )  # statmount, listmount, open_tree_attr, ...
    for number in (seccomp.MACHINES[machine][2], 400, seccomp.SHARED - 1):
        assert decide(machine, number) == ERRNO | 38  # of neither machine
    assert decide(machine, seccomp.SHARED) == ALLOW
    known = [*shipping.CALLS["refused"].values(), *shipping.CALLS["absent"].values()]
    assert (
        max(number for numbers in known for number in numbers if number)
        < seccomp.UNKNOWN
    )


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_shared_anonymous_memory_needs_someone_who_counts(machine):
    mmap = shipping.CALLS["looked_at"]["mmap"][seccomp.MACHINES[machine][1]]
    private, shared, validated, anonymous = 2, 1, 3, 0x20
    for kind in (shared, validated):
        assert (
            decide(machine, mmap, flags=kind | anonymous, counted=False) == ERRNO | 12
        )
        assert decide(machine, mmap, flags=kind | anonymous) == ALLOW
        assert decide(machine, mmap, flags=kind, counted=False) == ALLOW
    assert (
        decide(machine, mmap, flags=private | anonymous | 0x4000, counted=False)
        == ALLOW
    )


def test_other_machines_are_killed_or_refused():
    assert decide("x86_64", 0, audit=0x40000003) == KILL  # 32-bit calls
    assert decide("x86_64", 0x40000000 + 41, 2) == ERRNO | 38  # x32 calls
    with pytest.raises(RuntimeError, match="riscv64"):
        seccomp.seccomp_program("riscv64", shipping.CALLS)


@pytest.mark.parametrize("name", ["launcher", *shipping.WITHIN])
def test_what_runs_inside_imports_the_standard_library_only(name):
    source = shipping.WITHIN.get(name) or Path(launcher.__file__).read_text()
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module)]
        for other in names:
            ours = other.startswith(("sandbox.inside", "sandbox.server"))
            assert ours or other.partition(".")[0] in {
                *sys.stdlib_module_names,
                "numpy",
                "sympy",
            }


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
    count = (
        MAX_NODES // (array.count(b",") + array.count(b"[") + array.count(b"{") + 1) - 1
    )
    header = {
        "reason": None,
        "status": 0,
        "seconds": 1.0,
        "cpu_seconds": 1.0,
        "clean": True,
    }
    message = b"ok\n[" + b",".join([array] * count) + b"]"
    answer = frame(header | {"error": None}, b"", b"", message)
    started_worker = worker.Worker(Answering(answer), "none", SandboxConfig(), {})
    started = time.monotonic()
    running = asyncio.create_task(started_worker.run(RunRequest(b"", "f")))
    ticks = [started]
    while not running.done():
        await asyncio.sleep(0.01)
        ticks.append(time.monotonic())
    done = await running
    assert done.outcome is Outcome.OK
    assert len(done.result) == count
    longest = max(later - earlier for earlier, later in itertools.pairwise(ticks))
    assert (
        longest < (ticks[-1] - started) / 2
    )  # on the loop itself it would be all of it
