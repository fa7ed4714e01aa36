"""An environment with a folder of packages in front: nothing installed, nothing run on the host."""

import sys

import pytest

from docgen.library import read_library
from sandbox import environments
from sandbox.base import SandboxConfig, SandboxError
from sandbox.factory import get_sandbox
from tests.abuse.conftest import BACKENDS, reason_to_skip
from tests.sandbox.conftest import bare, needs_bubblewrap
from tests.sandbox.test_hostile_environments import hostile_files
from tests.sandbox.wheels import make_environment, make_wheel

BACKENDS_AND_UNSAFE = [*BACKENDS, "unsafe"]
CODE = """
import importlib.util, os, subprocess, sys
import grove
from pymatgen.core import Element

def f():
    child = subprocess.run([sys.executable, "-c", "import grove; print(grove.count())"],
                           capture_output=True, text=True)
    try:
        open(os.path.join(os.path.dirname(grove.__file__), "new.py"), "w").close()
        writable = True
    except OSError:
        writable = False
    folders = [path for path in sys.path if path.endswith("-packages")]
    first = sys.path.index(os.path.dirname(os.path.dirname(grove.__file__)))
    import json
    return {"count": grove.count(), "z": Element("Fe").Z, "child": child.stdout.strip(),
            "writable": writable, "first": first < sys.path.index(folders[0]),
            "standard": hasattr(json, "dumps"), "warm": grove.warm}
"""


@pytest.fixture
def folder(tmp_path):
    return write(
        tmp_path / "files",
        {
            "grove/__init__.py": '"""Trees."""\nwarm = False\ndef count():\n    """How many."""\n'
            "    return 7\n",
            "json.py": "raise RuntimeError('the standard library comes first')\n",
        },
    )


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("backend", BACKENDS_AND_UNSAFE)
async def test_every_backend_shows_it_before_the_base(folder, backend):
    if backend != "unsafe" and (reason := reason_to_skip(backend)):
        pytest.skip(reason)
    warm = "import grove\ngrove.warm = True\n"
    env = environments.overlay("grove", folder=folder, warmup=warm)
    assert environments.warmup(env) == f"{environments.warmup('live')}\n{warm}"
    config = bare(backend, warmup=warm).model_copy(update={"env": env})  # without the base's own
    async with get_sandbox(config) as sandbox:
        done = await sandbox.run(CODE, "f", timeout=30)
    assert done.error is None
    assert done.result == {
        "count": 7, "z": 26, "child": "7", "writable": backend == "unsafe", "first": True,
        "standard": True, "warm": True,
    }  # fmt: skip


def test_readers_see_one_folder_with_the_versions_of_the_base(folder):
    env = environments.overlay("grove", folder=folder)
    write(folder, {"grove/__pycache__/__init__.cpython-311.pyc": "of some other Python"})
    assert environments.overlay("grove", folder=folder) == env
    own, *rest = environments.source_folders(env)
    assert rest == [environments.site_packages("live")]
    assert sorted(path.name for path in own.iterdir()) == ["grove", "json.py"]
    site = environments.site_packages(env)
    symbols = read_library(["grove", "pymatgen.core.units"], site).symbols
    assert {"grove.count", "pymatgen.core.units.Unit"} <= set(symbols)
    versions = dict(environments.installed_versions(env))
    assert len(versions.pop(environments.OWN)) == 12
    assert versions == environments.installed_versions("live")
    write(folder, {"grove/more.py": "x = 1\n"})
    changed = environments.overlay("grove", folder=folder)
    assert changed != env
    versions = environments.installed_versions(changed)
    assert versions[environments.OWN] != environments.installed_versions(env)[environments.OWN]


def test_mistakes_say_what_is_wrong(folder, tmp_path):
    with pytest.raises(SandboxError, match=r"no environment 'absent'.* or a path"):
        environments.overlay("grove", base="absent", folder=folder)
    with pytest.raises(SandboxError, match="matsmith environment"):
        environments.lock_file(str(tmp_path / "absent"))
    with pytest.raises(SandboxError, match="no package in there"):
        environments.overlay("grove", folder=tmp_path / "nowhere")
    env = environments.overlay("grove", folder=write(tmp_path / "numpy", {"numpy/__init__.py": ""}))
    with pytest.raises(SandboxError, match="has a package of that name"):
        environments.build(env)
    assert not environments.folder(env).exists()
    described = write(tmp_path / "described", {"overlay.json": '{"base": "../live"}'})
    with pytest.raises(SandboxError, match=r"not .*base"):
        environments.lock_file(str(described))


@pytest.mark.parametrize("name", ["grove/secret.py", "other"])
def test_a_link_would_be_read_on_the_host_and_is_refused(folder, tmp_path, name):
    (folder / name).symlink_to(write(tmp_path / "elsewhere", {"private.py": "key = 1\n"}))
    with pytest.raises(SandboxError, match="no links"):
        environments.overlay("grove", folder=folder)
    described = write(tmp_path / "described", {"overlay.json": '{"base": "live"}'})
    (described / "packages").symlink_to(folder)
    with pytest.raises(SandboxError, match="no links"):
        environments.build(str(described))


@needs_bubblewrap
async def test_hostile_files_run_in_the_sandbox_only(tmp_path, monkeypatch):
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(environments, "ENVS", tmp_path / "envs")
    make_environment(tmp_path / "envs" / "small", make_wheel(tmp_path, "plain", {"plain.py": ""}))
    marker = tmp_path / "was-here"
    folder = write(tmp_path / "files", hostile_files(marker))
    write(folder, {"evil/nul.py": "\0", "evil/deep.py": "(" * 5000 + ")" * 5000})
    act = f"open({str(marker)!r}, 'a').close()"
    env = environments.overlay(
        "evil", base="small", folder=folder, warmup=f"try:\n    {act}\nexcept OSError:\n    pass\n"
    )
    config = SandboxConfig(backend="bubblewrap", env=env, workers=1)
    async with get_sandbox(config) as sandbox:
        done = await sandbox.run("from evil import f", "f", timeout=30)
    assert done.result == {"here": 1}, done.error
    own = environments.source_folders(env)[0]
    assert list(own.glob("evil/__pycache__/__init__.*.pyc"))
    assert not marker.exists()
    assert sys.modules.keys().isdisjoint({"evil", "other"})
