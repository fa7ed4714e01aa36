"""Which backend is chosen, what it refuses, how sandboxes live and end."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sandbox import bubblewrap, environments, images
from sandbox.base import SandboxConfig, SandboxError
from sandbox.controls import CONTROLS, PROBE, failures
from sandbox.factory import ISOLATING, available, get_sandbox

REPOSITORY = Path(__file__).resolve().parents[2]
needs_bubblewrap = pytest.mark.skipif(
    bubblewrap.problem() is not None, reason=str(bubblewrap.problem())
)


def test_unknown_names_are_refused_with_the_choices() -> None:
    with pytest.raises(SandboxError, match="auto, docker, podman, bubblewrap, unsafe"):
        get_sandbox(SandboxConfig(backend="chroot"))
    with pytest.raises(SandboxError, match="live"):
        get_sandbox(SandboxConfig(env="nothing", backend="bubblewrap"))


def test_without_any_isolation_it_refuses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    if Path("/run/podman/podman.sock").exists():
        pytest.skip("a system podman answers")
    assert available() == []
    with pytest.raises(SandboxError, match="python -m sandbox install"):
        get_sandbox(SandboxConfig(backend="auto"))
    for name in ISOLATING:
        with pytest.raises(SandboxError):
            get_sandbox(SandboxConfig(backend=name))


@needs_bubblewrap
def test_auto_never_means_unsafe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert get_sandbox(SandboxConfig(backend="auto")).tier in {"bubblewrap", "podman"}


@pytest.mark.docker
def test_auto_prefers_an_engine_that_has_the_image() -> None:
    engine = images.find("docker")
    if engine is None or not images.exists(engine, "live"):
        pytest.skip("no docker engine with the image")
    assert get_sandbox(SandboxConfig()).tier == "docker"


async def test_unsafe_says_what_it_is_and_runs(caplog: pytest.LogCaptureFixture) -> None:
    async with get_sandbox(
        SandboxConfig(backend="unsafe", workers=1, options={"warmup": False})
    ) as sandbox:
        assert "isolates nothing" in caplog.text
        (worker,) = sandbox._idle
        scratch = worker._channel.scratch  # type: ignore[attr-defined]
        assert scratch.exists()
        done = await sandbox.run("import os\ndef f(): return os.getuid()", "f", timeout=30)
        assert done.result == os.getuid()
        assert done.tier == "unsafe"
        # The probe is no formality: without isolation it finds what is open.
        found = await sandbox.run(PROBE, "probe", timeout=30)
        assert len(failures(found)) >= 4
        assert set(found.result) == set(CONTROLS)
    assert not scratch.exists()


@needs_bubblewrap
async def test_a_control_that_does_not_hold_stops_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a root that is left writable the first run is refused."""
    command = bubblewrap.Bubblewrap._command

    def writable(*arguments: object) -> list[str]:
        words = command(*arguments)  # type: ignore[arg-type]
        index = len(words) - 1 - words[::-1].index("--remount-ro")  # the last one is "/"
        return words[:index] + words[index + 2 :]

    monkeypatch.setattr(bubblewrap.Bubblewrap, "_command", writable)
    sandbox = get_sandbox(SandboxConfig(backend="bubblewrap", workers=1))
    with pytest.raises(SandboxError, match="file_system: / is writable"):
        await sandbox.run("print(1)", "", timeout=5)
    await sandbox.close()


@needs_bubblewrap
async def test_two_sandboxes_in_one_process_and_closing_twice() -> None:
    config = SandboxConfig(backend="bubblewrap", workers=1, options={"warmup": False})
    answers, verification = get_sandbox(config), get_sandbox(config)
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


@needs_bubblewrap
async def test_strict_uses_a_fresh_worker_for_every_run() -> None:
    config = SandboxConfig(
        backend="bubblewrap", workers=1, options={"strict": True, "warmup": False}
    )
    async with get_sandbox(config) as sandbox:
        assert (await sandbox.run("def f(): return 1", "f", timeout=60)).result == 1
        assert sandbox._idle == []


@needs_bubblewrap
async def test_a_sandbox_without_warm_up_imports_nothing_beforehand() -> None:
    code = "import sys\ndef f(): return 'pymatgen.core' in sys.modules, 'numpy' in sys.modules"
    for options, loaded in (({}, True), ({"warmup": False}, False)):
        config = SandboxConfig(backend="bubblewrap", workers=1, options=options)
        async with get_sandbox(config) as sandbox:
            done = await sandbox.run(code, "f", timeout=60)
        assert done.result == (loaded, loaded)


@needs_bubblewrap
async def test_the_hash_seed_of_a_worker_can_be_chosen() -> None:
    code = "def f(): return hash('pymatgen')"
    seen = set()
    for seed in (1, 2, 1):
        options = {"hash_seed": seed, "warmup": False}
        config = SandboxConfig(backend="bubblewrap", workers=1, options=options)
        async with get_sandbox(config) as sandbox:
            seen.add((seed, (await sandbox.run(code, "f", timeout=60)).result))
    assert len(seen) == 2
    assert len({value for _, value in seen}) == 2


@needs_bubblewrap
async def test_executions_repeat_the_order_of_sets() -> None:
    code = "def f(): return list({'halide', 'oxide', 'nitride', 'sulfide', 'carbide', 'boride'})"
    seen: dict[tuple[str, ...], list[dict[str, int]]] = {}
    choices: list[dict[str, int]] = [{}, {}, {"hash_seed": 3}]
    for options in choices:
        config = SandboxConfig(
            backend="bubblewrap", workers=1, options={**options, "warmup": False}
        )
        async with get_sandbox(config) as sandbox:
            order = tuple((await sandbox.run(code, "f", timeout=60)).result)
        seen.setdefault(order, []).append(options)
    assert list(seen.values()) == [[{}, {}], [{"hash_seed": 3}]]


@needs_bubblewrap
async def test_a_warmup_that_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "warmup", lambda name: "import not_installed_here")
    sandbox = get_sandbox(SandboxConfig(backend="bubblewrap", workers=1))
    with pytest.raises(SandboxError, match="not_installed_here"):
        await sandbox.run("", "", timeout=5)


@needs_bubblewrap
def test_an_unprivileged_user_gets_the_same_sandbox(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """As root, once more as a user that owns nothing, with the system's own Python."""
    python = Path("/usr/bin/python3")
    if os.geteuid() != 0:
        pytest.skip("needs root to become somebody else; the other tests run as a user anyway")
    version = "{}.{}".format(*sys.version_info)
    if not python.exists() or not python.resolve().name.endswith(version):
        pytest.skip(f"no system Python {version}")
    program = f"""
import asyncio, os, sys
sys.path[:0] = [{str(REPOSITORY)!r}, {str(Path(environments.__file__).parents[1])!r}]
os.setgroups([]); os.setresgid(4242, 4242, 4242); os.setresuid(4242, 4242, 4242)
from sandbox import environments
from sandbox.base import SandboxConfig
from sandbox.factory import get_sandbox
ready = environments.Environment("live", environments.Path(sys.argv[1]), environments.Path("/usr"),
                                 "/usr", "python{version}")
environments.build = lambda name, **_: ready
async def main():
    async with get_sandbox(SandboxConfig(backend="bubblewrap", workers=1)) as sandbox:
        done = await sandbox.run("import pymatgen.core\\ndef f(): return 'right'", "f", timeout=60)
        print(os.getuid(), done.result, done.tier)
asyncio.run(main())
"""
    built = environments.build("live").folder
    # The environment as that user would have built it: the same packages, its own pyvenv.cfg.
    folder = tmp_path_factory.mktemp("user", numbered=True)
    temporary = Path(tempfile.gettempdir())
    for path in (folder, *(p for p in folder.parents if p.is_relative_to(temporary))):
        if path != temporary:
            path.chmod(0o755)
    (folder / "lib").mkdir()
    (folder / environments.INSIDE).write_text(
        "home = /usr/bin\ninclude-system-site-packages = false\n"
    )
    packages = [path for path in sys.path if path.endswith("site-packages")]
    # Mounted, not linked: the cache may stand in a home that nobody else enters.
    mount = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, "sh", built / "lib", folder / "lib",
         python, "-c", program, folder],
        capture_output=True, text=True, timeout=120, cwd="/", check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(packages)},
    )  # fmt: skip
    assert done.stdout == "4242 right bubblewrap\n", done.stderr
