"""Ctrl-C and TERM end everything within seconds; scripts end clean; few descriptors are enough."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
