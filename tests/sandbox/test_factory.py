"""Which backend is chosen, what it refuses, how sandboxes live and end; ``matsmith sandbox``."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import docker as sdk
import pytest

from sandbox import __main__ as program
from sandbox import bubblewrap, docker, environments
from sandbox.base import Outcome, SandboxConfig, SandboxError
from sandbox.factory import ISOLATING, available, get_sandbox
from sandbox.pool import failures
from tests.support.paths import ROOT
from tests.support.sandboxes import PROGRAMS, bare, needs_bubblewrap, reason_to_skip

REPOSITORY = ROOT


def test_without_any_isolation_it_refuses(monkeypatch, tmp_path):
    for name in ("PATH", "XDG_RUNTIME_DIR", "DOCKER_CONFIG"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    if Path("/run/podman/podman.sock").exists():
        pytest.skip("a system podman answers")
    assert available() == []
    with pytest.raises(SandboxError, match="matsmith sandbox install"):
        get_sandbox(SandboxConfig(backend="auto"))
    for name in ISOLATING:
        with pytest.raises(SandboxError):
            get_sandbox(SandboxConfig(backend=name))


@needs_bubblewrap
def test_auto_never_means_unsafe(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    assert get_sandbox(SandboxConfig(backend="auto")).confinement in {
        "bubblewrap",
        "podman",
    }


@pytest.mark.docker
def test_auto_prefers_an_engine_that_has_the_image():
    if reason := reason_to_skip("docker"):
        pytest.skip(reason)
    assert get_sandbox(SandboxConfig()).confinement == "docker"


async def test_unsafe_says_what_it_is_and_runs(caplog):
    async with get_sandbox(bare(backend="unsafe")) as sandbox:
        assert "isolates nothing" in caplog.text
        code = "import os\ndef f(): return [os.getuid(), os.environ['MPLCONFIGDIR']]"
        done = await sandbox.run(code, "f", timeout=30)
        user, scratch = done.result
        assert user == os.getuid()
        assert os.access(scratch, os.F_OK)
        assert done.confinement == "unsafe"
        # The probe is no formality: without isolation it finds what is open.
        found = await sandbox.call("sandbox.inside.probe", "probe", timeout=30)
        assert len(failures(found)) >= 4
        assert len(found.result) == 9
    assert not os.access(scratch, os.F_OK)


def test_a_runtime_that_podman_would_ignore_is_refused():
    engine = docker.Engine(
        "podman", sdk.DockerClient("tcp://localhost:1", version="1.41")
    )
    with pytest.raises(SandboxError, match=r"containers\.conf"):
        docker.Docker(engine, SandboxConfig(options={"runtime": "runsc"}))


@needs_bubblewrap
async def test_a_control_that_does_not_hold_stops_everything(monkeypatch):
    """With a root that is left writable the first run is refused."""
    command = bubblewrap.Bubblewrap._command

    def writable(*arguments):
        words = command(*arguments)
        index = (
            len(words) - 1 - words[::-1].index("--remount-ro")
        )  # the last one is "/"
        return words[:index] + words[index + 2 :]

    monkeypatch.setattr(bubblewrap.Bubblewrap, "_command", writable)
    with pytest.raises(SandboxError, match="file_system: / is writable"):
        await get_sandbox(bare()).run("print(1)", "", timeout=5)


@needs_bubblewrap
async def test_two_sandboxes_in_one_process_and_closing_twice():
    answers, verification = get_sandbox(bare()), get_sandbox(bare())
    one, two = await asyncio.gather(
        answers.run("def f(): return 1", "f", timeout=60),
        verification.run("def f(): return 2", "f", timeout=60),
    )
    assert (one.result, two.result) == (1, 2)
    await answers.close()
    await answers.close()
    with pytest.raises(SandboxError, match="closed"):
        await answers.run("", "", timeout=5)
    assert (await verification.run("def f(): return 3", "f", timeout=60)).result == 3
    await verification.close()
    closing = get_sandbox(bare())
    run = asyncio.create_task(closing.run("", "", timeout=60))
    await asyncio.sleep(0.05)
    await closing.close()  # while its worker is starting
    assert (await run).outcome is Outcome.OK
    assert closing.idle == []


@needs_bubblewrap
@pytest.mark.parametrize(
    ("options", "warm"),
    [({}, True), ({"warmup": False}, False), ({"strict": True}, True)],
)
async def test_what_a_worker_imports_beforehand_and_how_long_it_stays(
    options, warm, monkeypatch
):
    monkeypatch.setattr(environments, "warmup", lambda name: "import wave")
    code = "import sys\ndef f(): return 'wave' in sys.modules"
    config = SandboxConfig(backend="bubblewrap", workers=1, options=options)
    async with get_sandbox(config) as sandbox:
        assert (await sandbox.run(code, "f", timeout=60)).result is warm
        assert len(sandbox.idle) == (0 if "strict" in options else 1)
    with pytest.raises(SandboxError, match="not_installed_here"):
        await get_sandbox(bare(warmup="import not_installed_here")).run(
            "", "", timeout=5
        )


@needs_bubblewrap
async def test_executions_repeat_the_order_of_sets_and_its_seed_can_be_chosen():
    code = "def f(): return list({'halide', 'oxide', 'nitride', 'sulfide', 'carbide', 'boride'})"
    seen = {}
    for options in ({}, {}, {"hash_seed": 3}):
        async with get_sandbox(bare(**options)) as sandbox:
            order = tuple((await sandbox.run(code, "f", timeout=60)).result)
        seen.setdefault(order, []).append(options)
    assert list(seen.values()) == [[{}, {}], [{"hash_seed": 3}]]


@needs_bubblewrap
def test_an_unprivileged_user_gets_the_same_sandbox():
    """As root, once more as a user that owns nothing, with the system's own Python."""
    python = Path("/usr/bin/python3")
    if os.geteuid() != 0:
        pytest.skip(
            "needs root to become somebody else; the other tests run as a user anyway"
        )
    version = "{}.{}".format(*sys.version_info)
    if not python.exists() or not python.resolve().name.endswith(version):
        pytest.skip(f"no system Python {version}")
    packages = [path for path in sys.path if path.endswith("site-packages")]
    with (
        tempfile.TemporaryDirectory() as made
    ):  # an environment as that user would have built it
        folder = Path(made)
        folder.chmod(0o755)
        (folder / f"lib/python{version}/site-packages").mkdir(parents=True)
        (folder / environments.INSIDE).write_text(
            "home = /usr/bin\ninclude-system-site-packages = false\n"
        )
        done = subprocess.run(
            [
                python,
                "-c",
                PROGRAMS["unprivileged"],
                folder,
                f"python{version}",
                REPOSITORY,
            ],
            capture_output=True,
            text=True,
            timeout=120,
            cwd="/",
            check=False,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(packages)},
        )
    assert done.stdout == "4242 False bubblewrap\n", done.stderr


def test_a_folder_without_a_controller_is_refused_and_what_a_killed_host_left_removed(
    tmp_path,
):
    gone, alive = tmp_path / "matsmith-999999999-0", tmp_path / "matsmith-1-0"
    for folder in (gone, alive):
        folder.mkdir()
    for parent in (tmp_path, tmp_path / "missing"):
        with pytest.raises(SandboxError, match="cgroup with a memory limit"):
            bubblewrap.make_cgroup(1 << 30, str(parent))
    assert sorted(tmp_path.iterdir()) == [alive]


@needs_bubblewrap
async def test_memory_is_counted_by_the_kernel_where_a_cgroup_can_be_had():
    group = bubblewrap.make_cgroup(1 << 30)
    if group is None:
        pytest.skip("no cgroup can be had here")
    bubblewrap.remove_cgroup(group)
    assert not group.exists()
    async with get_sandbox(bare().model_copy(update={"memory_mb": 256})) as sandbox:
        assert sandbox.memory_counted
        assert (
            await sandbox.run(PROGRAMS["hungry"], "f", timeout=30)
        ).outcome is Outcome.MEMORY
        assert (await sandbox.run("def f(): return 1", "f", timeout=30)).result == 1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["dance"], "install, build, selftest"),
        (["build", "env=nothing"], "there are: live"),
        (["selftest", "timeout=soon"], "timeout=soon: input should be a valid number"),
        (["selftest", "colour=red"], "colour"),
        (["selftest", "backend=unsafe"], "no controls"),
        (["selftest", "backend=chroot"], "auto, docker, podman, bubblewrap"),
        pytest.param(
            ["selftest", "backend=bubblewrap", "options.cgroup=/nowhere"],
            "in /nowhere",
            marks=needs_bubblewrap,
        ),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(words, text, capsys):
    assert program.main(words) == 2
    printed = capsys.readouterr()
    assert text in " ".join(printed.err.split())
    assert "Traceback" not in printed.err
    assert printed.out == ""


@needs_bubblewrap
@pytest.mark.long
def test_selftest_as_json_and_as_a_table(monkeypatch, capsys):
    assert program.main(["selftest", "backend=bubblewrap", "json=true"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is True
    assert report["backend"] == "bubblewrap"
    names = [check["name"] for check in report["checks"]]
    assert len(names) == len(set(names)) == 18
    assert all(check["ok"] for check in report["checks"])

    async def told(_):
        return report

    monkeypatch.setattr(program, "selftest", told)
    assert program.main(["selftest"]) == 0
    assert "holds" in capsys.readouterr().out


@needs_bubblewrap
def test_install_does_nothing_where_isolation_works(capsys):
    assert program.main(["install"]) == 0
    assert "nothing to install" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("programs", "user", "said"),
    [
        (
            {"apt-get": "exit 0", "sudo": "exit 1"},
            1000,
            r"run this once: sudo apt-get install .*bubblewrap",
        ),
        ({"dnf": "echo 'no such mirror' >&2; exit 7"}, 0, "no such mirror"),
        ({}, 0, "no known package manager"),
    ],
)
def test_what_cannot_be_installed_says_why(programs, user, said, tmp_path, monkeypatch):
    for name, body in programs.items():
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    with pytest.raises(SandboxError, match=said):
        program.install_bubblewrap()
