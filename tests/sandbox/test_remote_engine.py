"""A Docker engine at a TCP address and no bubblewrap: how it is on a Mac, as far as Linux can."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import bubblewrap, images
from sandbox.base import Mount, Outcome, SandboxConfig, SandboxError
from sandbox.factory import available, get_sandbox


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def _serve(listener: socket.socket, path: str) -> None:
    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            engine = socket.socket(socket.AF_UNIX)
            engine.connect(path)
            for pair in ((client, engine), (engine, client)):
                threading.Thread(target=_copy, args=pair, daemon=True).start()


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The engine of this machine behind a port of loopback; bubblewrap is not there."""
    path = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    engine = images.find("docker") if Path(path).exists() else None
    if engine is None or not images.exists(engine, "live"):
        pytest.skip("no Docker engine with the image of live at a socket")
    monkeypatch.setattr(bubblewrap, "problem", lambda: "bubblewrap needs Linux")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_serve, args=(listener, path), daemon=True).start()
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        monkeypatch.setenv("DOCKER_HOST", address)
        yield address
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.long
@pytest.mark.docker
async def test_code_runs_at_a_remote_engine(remote: str, tmp_path: Path) -> None:
    assert available() == ["docker"]
    (tmp_path / "POSCAR").write_text("Si")
    code = (
        "from pymatgen.core import Lattice\n"
        "def f():\n    return Lattice.cubic(2).volume, open('POSCAR').read()\n"
    )
    async with get_sandbox(SandboxConfig(env="live", workers=1)) as sandbox:
        mounts = [Mount(tmp_path / "POSCAR", "POSCAR")]
        done = await sandbox.run(code, "f", timeout=30, mounts=mounts)
    assert (done.outcome, done.tier) == (Outcome.OK, "docker")
    assert list(done.result) == [pytest.approx(8.0), "Si"]


def test_without_engine_and_bubblewrap_one_line_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bubblewrap, "problem", lambda: "bubblewrap needs Linux")
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nonexistent")
    with pytest.raises(SandboxError, match=r"no isolation available: .*bubblewrap needs Linux"):
        get_sandbox(SandboxConfig(env="live"))
