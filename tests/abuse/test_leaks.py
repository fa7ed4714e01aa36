"""Nothing of a run is left for the next ones: marks in all that it is given, makes and says."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import pytest

from sandbox.base import Mount, Outcome, SandboxConfig
from sandbox.exchange import Inputs
from sandbox.factory import get_sandbox
from tests.support.sandboxes import FOLDER

LATER = 10  # runs that look for it
SEARCH = (FOLDER / "search.txt").read_text(encoding="utf-8")
MARKED = """
import os, sys, time
# {mark}-comment
KEPT = "{mark}-constant"
os.environ["KEPT"] = "{mark}-environment"
os.makedirs("/dev/shm/kept", exist_ok=True)
for folder in ("/tmp", "/dev/shm/kept", "out"):
    open(os.path.join(folder, "{mark}-name"), "w").write("{mark}-file")
print("{mark}-stdout")
print("{mark}-stderr", file=sys.stderr)
try:
    raise KeyError("{mark}-caught")
except KeyError:
    pass
def f():
    time.sleep(0.4)  # every worker gets one of these
    read = open("input.txt").read() + open("folder/nested/data.txt").read()
    return {{"value": ["{mark}-result", read], "{mark}-key": "{mark}-large" * 10_000}}
"""


def mark() -> str:
    return f"MARKER-{secrets.token_hex(8)}"


def inputs(folder: Path, name: str) -> list[Mount]:
    (folder / "folder/nested").mkdir(parents=True)
    (folder / "input.txt").write_text(f"{name}-input")
    (folder / "folder/nested/data.txt").write_text(f"{name}-data" * 1000)
    return [
        Mount(folder / "input.txt", "input.txt"),
        Mount(folder / "folder", "folder"),
    ]


@pytest.mark.parametrize("workers", [1, 4])
async def test_no_later_run_finds_a_mark(
    backend: str, workers: int, tmp_path: Path
) -> None:
    config = SandboxConfig(
        backend=backend, workers=workers, options={"warmup": "import numpy"}
    )
    keys: list[str] = []
    async with get_sandbox(config) as sandbox:

        async def leave(number: int) -> None:
            name, folder = mark(), tmp_path / str(number)
            mounts = inputs(folder, name)
            keys.extend(Inputs.read(mount.source).key for mount in mounts)
            code = MARKED.format(mark=name)
            ran = await sandbox.run(code, "f", timeout=20, mounts=mounts, collect=True)
            assert (ran.outcome, len(ran.files)) == (Outcome.OK, 1), ran.error
            assert ran.result["value"][1].startswith(f"{name}-input")
            order = "tests.sandbox.called", "late", [[f"{mark()}-argument", name]]
            called = await sandbox.call(*order, timeout=20)
            assert called.result[0].endswith("-argument"), called.error
            failed = await sandbox.run(
                f"{code}\ndef g():\n    raise ValueError('{name}-error')",
                "g",
                timeout=20,
                mounts=mounts,
                collect=True,
            )
            assert failed.outcome is Outcome.EXCEPTION

        async def look() -> None:
            ran = await sandbox.run(f"KEYS = {keys!r}\n{SEARCH}", "search", timeout=60)
            assert ran.outcome is Outcome.OK, ran.error
            assert ran.result == []

        await asyncio.gather(*map(leave, range(workers)))
        for _ in range(LATER):
            await asyncio.gather(*(look() for _ in range(workers)))


async def test_the_search_finds_what_is_there(backend: str) -> None:
    """In its own memory, in a file, in a descriptor."""
    config = SandboxConfig(backend=backend, workers=1, options={"warmup": False})
    own = f'KEYS = []\nKEPT = "{mark()}-own"\nopen("kept", "w").write(KEPT)\n'
    async with get_sandbox(config) as sandbox:
        ran = await sandbox.run(own + SEARCH, "search", timeout=60)
    places = {place for place, _ in ran.result}
    assert {"gc", "frame search: KEPT", "memory of self"} <= places, ran.error
    assert any(place.endswith("/kept") for place in places)
