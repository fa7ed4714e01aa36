"""Attacks: the table ``programs/attacks.yaml``, and those whose end needs more than a table."""

from __future__ import annotations

import errno
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

from sandbox import docker, environments
from sandbox.base import Outcome, SandboxConfig
from sandbox.factory import get_sandbox
from sandbox.inside.values import Members
from tests.support.paths import ROOT
from tests.support.sandboxes import HONEST, PROGRAMS, Lab, programs, reason_to_skip

pytestmark = pytest.mark.asyncio(loop_scope="session")
REPOSITORY = ROOT
ATTACKS, LEFTOVERS = programs("attacks"), programs("leftovers")
WRITES = """
import os
def attack():
    rest = memoryview({message})
    while rest:
        rest = rest[os.write(3, rest):]
    os._exit(0)
"""
BODY = "import ctypes, os, sys\ndef attack():\n    {body}\n"


@pytest.mark.parametrize("name", ATTACKS)
async def test_attack(lab: Lab, name: str) -> None:
    attack = ATTACKS[name]
    ends, timeout = map(Outcome, attack["ends"].split()), attack.get("timeout", 2.0)
    code = attack.get("code") or (WRITES if "message" in attack else BODY).format_map(
        attack
    )
    if "before" in attack:
        await lab.attack(attack["before"], Outcome.OK)
    done = await lab.attack(
        code, *ends, timeout=timeout, collect=attack.get("collect", False)
    )
    assert attack.get("said", "") in (done.error or "")
    assert attack.get("payload", "") in (done.payload or "")
    assert attack.get("seconds", 0) <= done.seconds <= attack.get("within", 300)
    assert attack.get("cpu", 0) <= (done.cpu_seconds or 0)
    if "result" in attack:
        assert json.loads(json.dumps(done.result)) == attack["result"]
    if "between" in attack:
        low, high = attack["between"]
        assert low < done.result < high
    if "message" in attack:  # nothing beside it either
        assert (done.caught, done.files) == ((), ())


# --- time, output, disk, and the fork server itself


async def test_code_that_sleeps_ends_at_its_wall_time(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    (worker,) = lab.sandbox.idle
    short = worker._config.model_copy(update={"wall_seconds": 0.5})
    monkeypatch.setattr(worker, "_config", short)
    code = "import time\ndef attack():\n    time.sleep(600)"
    done = await lab.attack(code, Outcome.TIMEOUT, timeout=0.25)
    assert done.seconds >= short.wall(0.25) == 1.5
    assert "used up its wall time" in (done.error or "")
    assert done.cpu_seconds is not None
    assert done.cpu_seconds < 0.25


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_10_a_flood_of_output_is_cut(lab: Lab, stream: str) -> None:
    code = f"""import sys
def attack():
    while True:
        sys.{stream}.write("flood " * 10_000)
"""
    done = await lab.attack(code, Outcome.OUTPUT_FLOOD, timeout=60.0)
    assert len(getattr(done, stream)) == 64 * 1024
    assert getattr(done, stream).startswith("flood flood")


async def test_32_disk_and_inodes_are_bounded_wherever_one_can_write(lab: Lab) -> None:
    done = await lab.attack(PROGRAMS["32 fill"], Outcome.OK, timeout=60.0)
    filled, files, sparse = done.result
    assert {"/tmp/run"} <= set(filled) <= {"/tmp", "/tmp/run", "/dev/shm"}
    assert all(0 < size <= 16 << 20 for size in filled.values())
    if (
        lab.sandbox.confinement != "podman"
    ):  # its tmpfs takes no limit on inodes: memory bounds them
        assert all(0 < number <= 4096 for number in files.values())
    assert sparse is None


@pytest.mark.parametrize(
    "fork", ["pid = os.fork()", "pid = 0"], ids=["forked", "direct"]
)
@pytest.mark.parametrize(
    "call", PROGRAMS["41 calls"].values(), ids=PROGRAMS["41 calls"].keys()
)
async def test_signals_do_not_reach_the_server(lab: Lab, call: str, fork: str) -> None:
    code = PROGRAMS["41 signals"].replace("FORK", fork).replace("CALL", call)
    await lab.attack(code, *Outcome, timeout=1.0)


def niceness(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[16])


async def test_44_slowing_the_server_down(lab: Lab) -> None:
    """Priorities, limits and affinities of the parent, the group and the user."""
    done = await lab.attack(PROGRAMS["44 slow"], Outcome.OK)
    assert set(done.result) <= {"group", "user"}  # its own
    assert {niceness(pid) for pid in lab.servers()} == {
        os.getpriority(os.PRIO_PROCESS, 0)
    }


async def test_46_code_that_fills_the_disk_by_itself(lab: Lab) -> None:
    """The source is kept as main.py: longer than the disk, it is not kept, but it runs."""
    code = "def attack():\n    return 'ran'\n" + "# " + "x" * (20 << 20)
    assert (await lab.attack(code, Outcome.OK, timeout=30.0)).result == "ran"


# --- what one run can see of another and of the host


async def test_29_random_numbers_differ_between_runs(lab: Lab) -> None:
    first = (await lab.attack(PROGRAMS["29 random"], Outcome.OK)).result
    second = (await lab.attack(PROGRAMS["29 random"], Outcome.OK)).result
    assert all(a != b for a, b in zip(first, second, strict=True))


async def test_31_values_that_json_lacks_come_back_exactly(lab: Lab) -> None:
    value = (await lab.attack(PROGRAMS["31 values"], Outcome.OK)).result
    assert math.isnan(value[1, "a"])
    assert value[2] == -math.inf
    assert value["array"].dtype == np.int16
    assert value["array"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert value[None] == {1, 2}
    assert isinstance(value[True], Members)  # tuples are never hashed
    assert (list(value[True]), value[True].frozen) == ([(1, 2)], True)
    assert value["complex"] == 1 + 2j
    assert value["single"] == np.float32(0.1)
    assert type(value["single"]) is np.float32
    assert value["bytes"] == b"\x00\xff"
    assert value["big"] == 10**5000
    assert value["dollar"] == {"$": "tuple"}


async def test_34_nothing_of_the_host_is_readable(lab: Lab) -> None:
    forbidden = [
        "/etc/shadow",
        "/root/.ssh",
        "/var/run/docker.sock",
        "/run/docker.sock",
        "/var/log",
        "/run/podman/podman.sock",
        "/proc/kcore",
        "/dev/mem",
        "/dev/sda",
        "/dev/vda",
        "/boot",
        str(REPOSITORY),
        str(REPOSITORY / ".git"),
        str(Path.home() / ".ssh"),
    ]
    code = PROGRAMS["34 readable"].replace("PATHS", repr(forbidden))
    readable = (await lab.attack(code, Outcome.OK)).result
    # A base image brings log and boot folders of its own; never the host's.
    assert set(readable) <= (
        {"/var/log", "/boot"} if lab.sandbox.confinement != "bubblewrap" else set()
    )


async def test_35_no_variable_of_the_host_in_any_environ(
    lab: Lab, marked_environment: str
) -> None:
    readable, hits, variables = (
        await lab.attack(PROGRAMS["35 variables"], Outcome.OK)
    ).result
    assert readable >= 2  # its own, so that the search can find something at all
    assert hits == []
    assert variables == []


async def test_36_doors_of_the_kernel_are_shut(lab: Lab) -> None:
    answers = (await lab.attack(PROGRAMS["36 doors"], Outcome.OK)).result
    assert answers.pop("clone3") == (-1, errno.ENOSYS)
    assert len(answers) == 29
    assert {
        name: answer for name, answer in answers.items() if answer != (-1, errno.EPERM)
    } == {}


async def test_88_no_mount_shows_a_path_of_the_host(lab: Lab) -> None:
    if lab.sandbox.confinement != "bubblewrap":
        pytest.skip(
            "an engine's storage shows where the engine, not the user, keeps its layers"
        )
    text, writable = (await lab.attack(PROGRAMS["88 mounts"], Outcome.OK)).result
    environment = environments.build("live")
    for folder in (environment.folder, environment.prefix, environments.cache_folder()):
        assert str(folder) not in text
    assert "/env/lib" in text
    assert writable == []


# --- what the kernel keeps when every process of a run is gone


@pytest.mark.parametrize("name", LEFTOVERS["left"])
async def test_nothing_in_the_kernel_outlives_a_run(lab: Lab, name: str) -> None:
    before = await lab.sandbox.run(LEFTOVERS["find"], "find", timeout=10)
    assert before.outcome is Outcome.OK, before.error
    assert before.result["names"] == []
    for _ in range(4):
        code = f"{LEFTOVERS['keep']}\n{LEFTOVERS['left'][name]}"
        await lab.attack(code, Outcome.OK, timeout=5)
    after = await lab.sandbox.run(LEFTOVERS["find"], "find", timeout=10)
    assert after.outcome is Outcome.OK, after.error
    assert after.result == before.result


async def test_sockets_of_the_libraries_are_no_leftovers() -> None:
    warmup = "import socket\nkept = socket.socketpair()\n"
    config = SandboxConfig(backend="bubblewrap", workers=1, options={"warmup": warmup})
    if reason := reason_to_skip("bubblewrap"):
        pytest.skip(reason)
    async with get_sandbox(config) as sandbox:
        workers = []
        for _ in range(3):
            assert (await sandbox.run("", "", timeout=10)).outcome is Outcome.OK
            workers += sandbox.idle
        assert len(workers) == 3
        assert len(set(workers)) == 1  # none was replaced


@pytest.mark.docker
async def test_89_gvisor_holds_what_the_engines_own_runtime_holds() -> None:
    """The same controls and limits with gVisor (`runsc`), where it is there."""
    if reason := reason_to_skip("docker"):
        pytest.skip(reason)
    if "runsc" not in docker.require("docker").client.info().get("Runtimes", {}):
        pytest.skip(
            "docker has no runtime runsc: install gVisor, and name it to the engine"
        )
    options = {"runtime": "runsc", "strict": True}
    config = SandboxConfig(backend="docker", workers=1, memory_mb=512, options=options)
    async with get_sandbox(
        config
    ) as sandbox:  # its controls are proven before the first run
        kernel = "def f():\n    return open('/proc/version').read()"
        assert "gVisor" in str((await sandbox.run(kernel, "f", timeout=30)).result)
        for code, outcome in {
            "while True: pass": Outcome.TIMEOUT,
            "kept = []\nwhile True: kept.append(bytearray(1 << 24))": Outcome.MEMORY,
            "while True: print('x' * 65536)": Outcome.OUTPUT_FLOOD,
            "open('/dev/shm/left', 'w').close()": Outcome.OK,
        }.items():
            timeout = 1.0 if outcome is Outcome.TIMEOUT else 30.0
            done = await sandbox.run(code, "", timeout=timeout)
            assert done.outcome is outcome, done.error
        after = await sandbox.run(HONEST, "honest", timeout=30)
        assert after.outcome is Outcome.OK, after.error
        assert "left" not in after.result["scratch"]
