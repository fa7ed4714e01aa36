"""What one run can see of another and of the host, where that needs more than a table."""

from __future__ import annotations

import errno
import math
from pathlib import Path

import numpy as np
import pytest

from sandbox import environments
from sandbox.base import Outcome
from sandbox.inside.values import Members
from tests.abuse.conftest import PROGRAMS, Lab

pytestmark = pytest.mark.asyncio(loop_scope="session")
REPOSITORY = Path(__file__).resolve().parents[2]


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
    assert value[True] == Members(((1, 2),), frozen=True)  # tuples are never hashed
    assert value["complex"] == 1 + 2j
    assert value["single"] == np.float32(0.1)
    assert type(value["single"]) is np.float32
    assert value["bytes"] == b"\x00\xff"
    assert value["big"] == 10**5000
    assert value["dollar"] == {"$": "tuple"}


async def test_34_nothing_of_the_host_is_readable(lab: Lab) -> None:
    forbidden = [
        "/etc/shadow", "/root/.ssh", "/var/run/docker.sock", "/run/docker.sock", "/var/log",
        "/run/podman/podman.sock", "/proc/kcore", "/dev/mem", "/dev/sda", "/dev/vda", "/boot",
        str(REPOSITORY), str(REPOSITORY / ".git"), str(Path.home() / ".ssh"),
    ]  # fmt: skip
    code = PROGRAMS["34 readable"].replace("PATHS", repr(forbidden))
    readable = (await lab.attack(code, Outcome.OK)).result
    # A base image brings log and boot folders of its own; never the host's.
    assert set(readable) <= ({"/var/log", "/boot"} if lab.sandbox.tier != "bubblewrap" else set())


async def test_35_no_variable_of_the_host_in_any_environ(lab: Lab, marked_environment: str) -> None:
    readable, hits, variables = (await lab.attack(PROGRAMS["35 variables"], Outcome.OK)).result
    assert readable >= 2  # its own, so that the search can find something at all
    assert hits == []
    assert variables == []


async def test_36_doors_of_the_kernel_are_shut(lab: Lab) -> None:
    answers = (await lab.attack(PROGRAMS["36 doors"], Outcome.OK)).result
    assert answers.pop("clone3") == (-1, errno.ENOSYS)
    assert len(answers) == 29
    assert {name: answer for name, answer in answers.items() if answer != (-1, errno.EPERM)} == {}


async def test_88_no_mount_shows_a_path_of_the_host(lab: Lab) -> None:
    if lab.sandbox.tier != "bubblewrap":
        pytest.skip("an engine's storage shows where the engine, not the user, keeps its layers")
    text, writable = (await lab.attack(PROGRAMS["88 mounts"], Outcome.OK)).result
    environment = environments.build("live")
    for folder in (environment.folder, environment.prefix, environments.cache_folder()):
        assert str(folder) not in text
    assert "/env/lib" in text
    assert writable == []
