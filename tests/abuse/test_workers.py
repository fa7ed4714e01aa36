"""Cases 38 to 40: workers and hosts that die, workers side by side."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest

from sandbox import docker
from sandbox.base import Outcome, SandboxConfig, SandboxError
from sandbox.docker import LABEL, ContainerChannel
from sandbox.factory import get_sandbox
from sandbox.pool import CANARY, PooledSandbox
from sandbox.worker import Worker
from tests.support.paths import ROOT
from tests.support.sandboxes import PROGRAMS, descendants, needs_bubblewrap, server_pid

ROOT = str(ROOT)

HOST = PROGRAMS["38 host"]


def slow(result: object, seconds: float = 1.5) -> str:
    """A program whose ``f`` sleeps."""
    return f"import time\ndef f():\n    time.sleep({seconds})\n    return {result!r}"


def bare(backend: str, workers: int) -> SandboxConfig:
    """Workers that start at once: what is tested here needs no library."""
    return SandboxConfig(backend=backend, workers=workers, options={"warmup": False})


def alive(pids: set[int]) -> set[int]:
    """Those that still run (a zombie does not)."""
    running = set()
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in {"Z", "X"}:
            running.add(pid)
    return running


def mounts() -> int:
    """How many there are on the host, besides those of containers, which come and go with any test
    beside this one and are looked for by their label."""
    lines = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    return sum(
        kind not in {"overlay", "nsfs"} and "/shm" not in at
        for _, at, kind, *_ in lines
    )


async def until(condition, seconds: float = 60.0) -> None:  # type: ignore[no-untyped-def]
    """Wait for a condition; fails when it never comes."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        await asyncio.sleep(0.05)


def containers(backend: str, host: int) -> list[object]:
    """Besides those that were never started, which are swept later."""
    found = docker.require(backend).client.containers.list(
        all=True, filters={"label": f"{LABEL}={host}"}, ignore_removed=True
    )
    return [item for item in found if item.status != "created"]


async def test_38_a_container_that_was_never_started_is_removed_by_the_next_host(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if backend == "bubblewrap":
        pytest.skip("nothing stays on disk there")
    monkeypatch.setattr("sandbox.docker.STALE_SECONDS", 1)
    engine = docker.require(backend)
    every = engine.client.containers
    made = every.create(docker.build(engine, "live"), "true", labels={LABEL: "1"}).id
    await asyncio.sleep(2.5)
    async with get_sandbox(bare(backend, 1)):
        assert not every.list(all=True, filters={"id": made})


KILLS = 20


async def start_host(backend: str, script: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, backend, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )


async def kill_host(host: asyncio.subprocess.Process, backend: str) -> None:
    """Kill it: nothing of it stays."""
    below = descendants(host.pid)
    host.send_signal(signal.SIGKILL)
    await host.wait()
    await until(lambda: not alive(below), 60)
    if backend != "bubblewrap":
        await until(lambda: not containers(backend, host.pid), 60)


@pytest.mark.long
@pytest.mark.timeout(1200)
async def test_38_hosts_killed_at_any_moment_leave_nothing(backend: str) -> None:
    chance = random.Random(38)
    mounts_before = mounts()
    for _ in range(KILLS):
        host = await start_host(backend, HOST)
        await asyncio.sleep(
            chance.uniform(0.2, 3.0)
        )  # importing, starting, proving, running
        await kill_host(host, backend)
    await until(lambda: mounts() <= mounts_before)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("victim", ["worker", "server"])
async def test_39_workers_killed_at_any_moment_lose_no_answer(
    backend: str, victim: str
) -> None:
    chance = random.Random(39)
    async with get_sandbox(bare(backend, 2)) as sandbox:
        for number in range(KILLS):
            run = asyncio.gather(
                *(sandbox.run(slow(n, 0.4), "f", timeout=30) for n in range(4))
            )
            await until(lambda: sandbox.busy)
            await asyncio.sleep(chance.uniform(0.0, 0.8))
            busy = sorted(sandbox.busy, key=id)
            if busy:
                kill(busy[number % len(busy)], victim)
            done = await run
            assert [(item.outcome, item.result) for item in done] == [
                (Outcome.OK, n) for n in range(4)
            ]


@pytest.mark.parametrize("busy", [True, False], ids=["running", "idle"])
async def test_38_a_killed_host_leaves_nothing(backend: str, busy: bool) -> None:
    idle = HOST.replace('sandbox.run(CODE, "", timeout=600)', "asyncio.sleep(600)")
    assert idle != HOST
    mounts_before = mounts()
    host = await start_host(backend, HOST if busy else idle)
    assert host.stdout is not None
    assert await asyncio.wait_for(host.stdout.readline(), 60) == b"ready\n"
    await asyncio.sleep(0.5)  # well inside the run
    if backend == "bubblewrap":
        assert len(descendants(host.pid)) >= (5 if busy else 3)
    else:
        assert len(containers(backend, host.pid)) == 1
    await kill_host(host, backend)
    await until(lambda: mounts() <= mounts_before)


def kill(worker: Worker, victim: str) -> None:
    """Kill the fork server itself, or what it runs in, from outside."""
    channel = worker.channel
    if isinstance(channel, ContainerChannel):
        if victim == "server":
            os.kill(server_pid(channel), signal.SIGKILL)
        else:
            channel.container.kill()
        return
    if victim == "worker":
        os.kill(channel.process.pid, signal.SIGKILL)
        return
    below = descendants(channel.process.pid)
    servers = [
        pid
        for pid in below
        if b"-P" in (line := words(pid)) and b"--new-session" not in line
    ]
    place = ["server", "zygote"].index(victim)  # by age, before the run itself
    os.kill(sorted(servers)[place], signal.SIGKILL)


def words(pid: int) -> list[bytes]:
    """The command line of a process; none of one that has just ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


@pytest.mark.parametrize("victim", ["server", "zygote"])
async def test_39_a_worker_killed_during_a_run_is_replaced(
    backend: str, victim: str, caplog: pytest.LogCaptureFixture
) -> None:
    if victim == "zygote" and backend != "bubblewrap":
        pytest.skip("the processes are the engine's")
    async with get_sandbox(bare(backend, 1)) as sandbox:
        (first,) = sandbox.idle
        run = asyncio.create_task(sandbox.run(slow("right"), "f", timeout=30))
        await asyncio.sleep(0.5)
        kill(*sandbox.busy, victim)
        done = await run
        assert done.outcome is Outcome.OK
        assert done.result == "right"
        assert sandbox.idle != [first]
        assert "trying again" in caplog.text


@needs_bubblewrap
@pytest.mark.parametrize("generation", [0, 1, -1])
async def test_39_a_worker_killed_while_it_starts_is_started_again(
    generation: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The process that the host started, its child, and the last: bwrap, server or zygote."""
    sleeps = "import time; time.sleep(3)"
    config = SandboxConfig(backend="bubblewrap", workers=1, options={"warmup": sleeps})
    before = descendants(os.getpid())

    def started() -> list[int]:
        return sorted(descendants(os.getpid()) - before)

    async def kill() -> None:
        await until(lambda: len(started()) > 3)
        await asyncio.sleep(0.5)
        os.kill(started()[generation], signal.SIGKILL)

    killer = asyncio.create_task(kill())
    async with get_sandbox(config) as sandbox:
        await killer
        done = await sandbox.run(CANARY, "sing", timeout=10)
    assert done.outcome is Outcome.OK
    assert caplog.text.count("trying again") == 1
    assert alive(set(started())) == set()


@pytest.mark.parametrize("deaths", [2, 3])
async def test_39_a_canary_tells_code_from_sandbox(
    backend: str, deaths: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers die: the code is to blame when a third one runs other code, else the sandbox."""
    late = CANARY.replace(
        "def sing():", "def sing():\n    import time; time.sleep(1.5)"
    )
    assert late != CANARY
    monkeypatch.setattr("sandbox.pool.CANARY", late)
    async with get_sandbox(bare(backend, 1)) as sandbox:
        run = asyncio.create_task(sandbox.run(slow("right"), "f", timeout=30))
        for _ in range(deaths):
            await until(lambda: sandbox.busy)
            await asyncio.sleep(0.3)
            kill(*sandbox.busy, "server")
            await until(lambda: not sandbox.busy)
        if deaths == 2:
            done = await run
            assert done.outcome is Outcome.KILLED
            assert "two workers" in (done.error or "")
        else:
            with pytest.raises(SandboxError, match=r"two .* workers failed .* a third"):
                await run
        healthy = await sandbox.run("def f():\n    return 1", "f", timeout=30)
        assert healthy.result == 1


async def test_40_workers_side_by_side_never_see_each_other(backend: str) -> None:
    victim, spy = PROGRAMS["40 victim"], PROGRAMS["40 spy"]
    async with get_sandbox(bare(backend, 2)) as sandbox:
        await asyncio.gather(*(sandbox.run("pass", "", timeout=30) for _ in range(2)))
        one, two = await asyncio.gather(
            sandbox.run(victim, "f", timeout=60), sandbox.run(spy, "f", timeout=60)
        )
        assert one.outcome is Outcome.OK, one.error
        assert "secret-of-victim" in one.result[1]
        assert two.outcome is Outcome.OK, two.error
        spied = [name for name in two.result if name not in {"self", "thread-self"}]
        assert spied == []


async def test_87_limits_of_the_host_that_are_smaller_hold(backend: str) -> None:
    if backend != "bubblewrap":
        pytest.skip("containers are started by the engine")
    host = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAMS["87 limits"],
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    said, _ = await host.communicate()
    assert said.decode().strip() == str((16 << 30, 16 << 30))


async def kill_runs(sandbox: PooledSandbox, times: int) -> None:
    """Kill the next runs of the only worker from outside, as the memory of a host does."""
    (worker,) = sandbox.busy or sandbox.idle
    channel = worker.channel
    known = descendants(
        channel.process.pid
    )  # before any run: the next one may start at once
    for _ in range(times):
        await until(lambda seen=known: descendants(channel.process.pid) - seen)
        killed = descendants(channel.process.pid) - known
        for pid in killed:
            with contextlib.suppress(ProcessLookupError):  # ended meanwhile
                os.kill(pid, signal.SIGKILL)
        await until(lambda gone=killed: not descendants(channel.process.pid) & gone)
        known |= killed


@pytest.mark.parametrize(("kills", "outcome"), [(1, Outcome.OK), (2, Outcome.KILLED)])
async def test_86_a_run_that_is_killed_from_outside_is_repeated_once(
    backend: str, kills: int, outcome: Outcome
) -> None:
    if backend != "bubblewrap":
        pytest.skip("the processes are the engine's")
    async with get_sandbox(bare(backend, 1)) as sandbox:
        await sandbox.run(CANARY, "sing", timeout=20)
        killing = asyncio.create_task(kill_runs(sandbox, kills))
        await asyncio.sleep(0.2)
        done = await sandbox.run(slow(7), "f", timeout=20)
        await killing
        assert done.outcome is outcome, done.error
        assert done.result == (7 if outcome is Outcome.OK else None)
        after = await sandbox.run(CANARY, "sing", timeout=20)
        assert after.outcome is Outcome.OK


async def test_86_eighteen_kills_of_children_change_no_verdict(backend: str) -> None:
    """Of answers, and of a verifier (a call): each is killed once, and ends as it would."""
    if backend != "bubblewrap":
        pytest.skip("the processes are the engine's")

    async def some(numbers: range) -> None:
        async with get_sandbox(bare(backend, 1)) as sandbox:
            await sandbox.run(CANARY, "sing", timeout=20)
            for number in numbers:
                killing = asyncio.create_task(kill_runs(sandbox, 1))
                while (
                    not killing.done()
                ):  # on a busy machine one may end before it is seen
                    await asyncio.sleep(0.05)
                    if number % 2:
                        done = await sandbox.run(slow(number, 0.4), "f", timeout=20)
                    else:
                        call = "tests.sandbox.called", "late", [number]
                        done = await sandbox.call(*call, timeout=20)
                    assert (done.outcome, done.result) == (Outcome.OK, number), (
                        done.error
                    )
                await killing

    await asyncio.gather(*(some(range(first, first + 6)) for first in (0, 6, 12)))
