"""Ctrl-C and TERM end everything within seconds; scripts end clean; few descriptors are enough."""

import asyncio
import gc
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from sandbox import environments, libraries, stoppable
from sandbox.bubblewrap import ProcessChannel
from tests.support.endpoint import Endpoint
from tests.support.paths import ROOT
from tests.support.sandboxes import (
    BACKENDS,
    descendants,
    needs_bubblewrap,
    reason_to_skip,
)
from tests.support.scripted import code_reply

SECONDS = 5.0
SLEEPS = "import time\nprint('building', flush=True)\ntime.sleep(600)\n"


def write_project(root, **files):
    (root / "src/sleepy").mkdir(parents=True)
    (root / "src/sleepy/__init__.py").write_text(files.get("package", "x = 1\n"))
    backend = files.get("backend")
    lines = [
        '[project]\nname = "sleepy"\nversion = "1"\n[build-system]\nrequires = []\n'
    ]
    lines += ['build-backend = "backend"\nbackend-path = ["."]\n']
    (root / "backend.py").write_text(backend)
    (root / "pyproject.toml").write_text("".join(lines))
    return root


def start(tmp_path, *words):
    """A command with a folder of its own for temporary files, and a copy of no cache."""
    (tmp_path / "tmp").mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Whoever started the tests in the background has let them ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


def running(pids):
    """Those that have not ended: a zombie has."""
    found = set()
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "ZX":
            found.add(pid)
    return found


def wait_for_run(process, tmp_path):
    """Until code runs in a worker: a process whose working directory is that of a run."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, process.stdout.read()
        for pid in descendants(process.pid):
            try:
                folder = Path(f"/proc/{pid}/cwd").readlink()
                if folder.name in {"run", "source"}:
                    time.sleep(1.0)
                    return
            except OSError:
                continue
        time.sleep(0.1)
    raise AssertionError("nothing ran")


HANGS_WHILE_BUILT = f"{SLEEPS}def build_wheel(*_):\n    pass\n"
BUILDS = """
import zipfile
def build_wheel(folder, *_):
    with zipfile.ZipFile(f"{folder}/sleepy-1-py3-none-any.whl", "w") as wheel:
        wheel.write("src/sleepy/__init__.py", "sleepy/__init__.py")
        for name, lines in {
            "METADATA": ["Metadata-Version: 2.1", "Name: sleepy", "Version: 1"],
            "WHEEL": ["Wheel-Version: 1.0", "Root-Is-Purelib: true", "Tag: py3-none-any"],
            "RECORD": [],
        }.items():
            wheel.writestr(f"sleepy-1.dist-info/{name}", "\\n".join([*lines, ""]))
    return "sleepy-1-py3-none-any.whl"
"""


DOCUMENTED = """
def double(x):
    \"\"\"Twice the number.

    Examples
    --------
    >>> from sleepy import double
    >>> double(2)
    4
    \"\"\"
    return 2 * x
"""


def interrupted(tmp_path, number, *words, built=False):
    """Send a signal once code runs in the sandbox: all ends in time, and nothing is left."""
    process = start(tmp_path, *words)
    if built:
        for line in process.stdout:  # the builds before it have ended then
            if line.startswith("installing the pinned packages"):
                break
    wait_for_run(process, tmp_path)
    below = descendants(process.pid)
    assert below
    process.send_signal(number)
    began = time.monotonic()
    try:
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    seconds = time.monotonic() - began
    assert seconds < SECONDS, said
    assert process.returncode in {130, 143}, said
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    time.sleep(0.5)
    assert running(below) == set()
    assert list((tmp_path / "tmp").iterdir()) == []


SIGNALS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])


@pytest.mark.long
@needs_bubblewrap
@SIGNALS
@pytest.mark.parametrize("command", ["environment", "learn"])
def test_a_build_that_hangs_ends_with_its_command(own_cache, tmp_path, number, command):
    project = write_project(tmp_path / "project", backend=HANGS_WHILE_BUILT)
    words = ["-m", "matsmith", command]
    if command == "learn":
        words += [str(project), "base=none"]
    else:
        words += [f"project={project}", f"out={tmp_path / 'env'}"]
    interrupted(tmp_path, number, *words)


@pytest.mark.long
@needs_bubblewrap
@SIGNALS
def test_an_import_that_hangs_ends_with_its_command(own_cache, tmp_path, number):
    package = f"{SLEEPS}{DOCUMENTED}"
    project = write_project(tmp_path / "project", backend=BUILDS, package=package)
    words = ["-m", "matsmith", "learn", str(project), "base=none"]
    words += [f"skill={tmp_path / 'skill'}"]
    interrupted(tmp_path, number, *words, built=True)


@pytest.mark.long
@needs_bubblewrap
@SIGNALS
@pytest.mark.parametrize("stage", ["build", "import"])
def test_a_refresh_that_hangs_leaves_what_was_learnt(
    own_cache, tmp_path, number, stage
):
    root = tmp_path / "project"
    write_project(root, backend=BUILDS, package=DOCUMENTED)
    learn = start(tmp_path, "-m", "matsmith", "learn", str(root), "base=none")
    said, _ = learn.communicate(timeout=120)
    assert learn.returncode == 0, said
    before = libraries.learnt("sleepy")
    if stage == "build":
        (root / "backend.py").write_text(HANGS_WHILE_BUILT)
    else:
        (root / "src/sleepy/__init__.py").write_text(f"{SLEEPS}{DOCUMENTED}")
    words = ["-m", "matsmith", "library", "refresh", "sleepy"]
    interrupted(tmp_path, number, *words, built=stage == "import")
    assert libraries.learnt("sleepy") == before
    assert libraries.learnt("sleepy").changed
    folders = [path.name for path in before.folder.parent.iterdir() if path.is_dir()]
    assert folders == ["sleepy"]


# --- work that is cancelled at any of its steps


@pytest.fixture
def remarks(monkeypatch):
    """What Python would print of objects and tasks that nobody has looked after."""
    remarks = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: remarks.append(str(told)))
    with monkeypatch.context() as patch:
        handler = asyncio.BaseEventLoop.default_exception_handler
        patch.setattr(
            asyncio.BaseEventLoop,
            handler.__name__,
            lambda _, told: remarks.append(str(told)),
        )
        yield remarks


async def cancelled_at(step, work):
    task = asyncio.create_task(work)
    for _ in range(step):
        await asyncio.sleep(0)
    task.cancel()
    return (await asyncio.gather(task, return_exceptions=True))[0]


@pytest.mark.parametrize("step", [1, 2, 3])
def test_the_pipes_of_a_process_are_closed_also_where_closing_is_cancelled(
    remarks, step
):
    async def work():
        command = ["/bin/sleep", "600"]
        channel = await ProcessChannel.open(command, {}, Path("/"), lambda: None)
        await cancelled_at(step, channel.close())

    asyncio.run(work())
    gc.collect()
    assert remarks == []


def test_work_in_a_thread_that_stops_by_itself_is_looked_after(remarks):
    async def stops():
        while True:
            stoppable.check()
            time.sleep(0.001)  # noqa: ASYNC251 -- as a program that is waited for

    async def stop():
        await cancelled_at(30, stoppable.in_thread(lambda: stoppable.run(stops())))

    asyncio.run(stop())
    gc.collect()
    assert remarks == []


# --- set-up

#: What `matsmith sandbox install` starts, all that is found in PATH.
PROGRAMS = {
    "apt-get": "/bin/sleep 600 & /bin/sleep 600",
    "sudo": 'shift; exec "$@"',
    "true": "exit 0",
}


@SIGNALS
def test_an_installation_that_hangs_ends_with_its_command(
    tmp_path, monkeypatch, number
):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, line in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    process = start(tmp_path, "-m", "sandbox", "install")
    while len(below := descendants(process.pid)) < 3:  # a shell and what it started
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.05)
    process.send_signal(number)
    began = time.monotonic()
    said, _ = process.communicate(timeout=60)
    assert time.monotonic() - began < SECONDS
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number]
    assert "Traceback" not in said
    time.sleep(0.5)
    assert running(below) == set()
    assert list((tmp_path / "tmp").iterdir()) == []


LEAVES = """
import tempfile
from pathlib import Path
Path(tempfile.gettempdir(), "left").touch()
"""


def test_what_uv_and_a_build_leave_among_temporary_files_is_removed(
    tmp_path, monkeypatch
):
    project = write_project(tmp_path / "project", backend=f"{LEAVES}{BUILDS}")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    environments.uv(["build", "--wheel", "--out-dir", str(tmp_path / "out")], project)
    assert list((tmp_path / "out").glob("*.whl"))
    assert list((tmp_path / "tmp").iterdir()) == []


# --- scripts that close nothing

SCRIPT = """
import matsmith
sandbox = matsmith.Sandbox("sandbox.backend=BACKEND")
print(sandbox.run("def f():\\n    return 1", "f").result)
"""
ASKS = """
import matsmith
settings = ["model=openai", "model.name=m", "model.base_url=URL", "model.cache=false"]
answer = matsmith.ask("Add.", *settings, "system=single", "retrieval=none")
print(int(answer["sum"]))
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_script_that_closes_nothing_ends_clean(tmp_path, backend):
    if reason := reason_to_skip(backend):
        pytest.skip(reason)
    process = start(tmp_path, "-c", SCRIPT.replace("BACKEND", backend))
    said, _ = process.communicate(timeout=300)
    assert (said, process.returncode) == ("1\n", 0)
    assert list((tmp_path / "tmp").iterdir()) == []


@needs_bubblewrap
def test_a_script_that_asks_ends_clean(tmp_path, httpserver):
    Endpoint(httpserver).play(code_reply("return {'sum': 7.0}"))
    script = ASKS.replace("URL", httpserver.url_for("/v1"))
    process = start(tmp_path, "-c", script)
    said, _ = process.communicate(timeout=300)
    assert (said, process.returncode) == ("7\n", 0)


# --- few descriptors

FEW = """
import asyncio, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
from foundation.errors import ActionableError
from sandbox.base import SandboxConfig
from sandbox.factory import get_sandbox
CODE = "import time\\ndef f():\\n    time.sleep(2)\\n    return 1"
async def main():
    config = SandboxConfig(backend="bubblewrap", workers=WORKERS, options={"warmup": False})
    async with get_sandbox(config) as sandbox:
        runs = (sandbox.run(CODE, "f", timeout=20) for _ in range(WORKERS))
        print(sum(done.result for done in await asyncio.gather(*runs)))
try:
    asyncio.run(main())
except ActionableError as error:
    print(error)
"""


@pytest.mark.long
@needs_bubblewrap
@pytest.mark.parametrize(
    ("limit", "workers", "ends"),
    [(64, 2, r"2\n"), (64, 24, r"too many open files.*64.*ulimit -n 1024.*\n")],
)
def test_few_descriptors_are_enough_or_named(tmp_path, limit, workers, ends):
    script = FEW.replace("FILES", str(limit)).replace("WORKERS", str(workers))
    process = start(tmp_path, "-c", script)
    said, _ = process.communicate(timeout=300)
    assert re.fullmatch(ends, said), said
