"""Packages of the user's own: overlays, projects that are built, what stands in their way."""

import sys
import zipfile

import pytest

from docgen.library import read_library
from sandbox import environments, libraries, own
from sandbox.base import SandboxConfig, SandboxError
from sandbox.factory import get_sandbox
from tests.support.sandboxes import (
    BACKENDS,
    PROGRAMS,
    bare,
    hostile_files,
    needs_bubblewrap,
    reason_to_skip,
)
from tests.support.wheels import make_environment, make_wheel


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


@pytest.mark.parametrize("backend", [*BACKENDS, "unsafe"])
async def test_every_backend_shows_it_before_the_base(folder, backend):
    if backend != "unsafe" and (reason := reason_to_skip(backend)):
        pytest.skip(reason)
    warm = "import grove\ngrove.warm = True\n"
    env = libraries.overlay("grove", folder=folder, warmup=warm)
    assert environments.warmup(env) == f"{environments.warmup('live')}\n{warm}"
    config = bare(backend, warmup=warm).model_copy(
        update={"env": env}
    )  # without the base's own
    async with get_sandbox(config) as sandbox:
        done = await sandbox.run(PROGRAMS["overlay"], "f", timeout=30)
    assert done.error is None
    assert done.result == {
        "count": 7,
        "z": 26,
        "child": "7",
        "writable": backend == "unsafe",
        "first": True,
        "standard": True,
        "warm": True,
    }


def test_readers_see_one_folder_with_the_versions_of_the_base(folder):
    env = libraries.overlay("grove", folder=folder)
    write(
        folder, {"grove/__pycache__/__init__.cpython-311.pyc": "of some other Python"}
    )
    assert libraries.overlay("grove", folder=folder) == env
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
    changed = libraries.overlay("grove", folder=folder)
    assert changed != env
    versions = environments.installed_versions(changed)
    assert (
        versions[environments.OWN]
        != environments.installed_versions(env)[environments.OWN]
    )


def test_mistakes_say_what_is_wrong(folder, tmp_path):
    with pytest.raises(SandboxError, match=r"no environment 'absent'.* or a path"):
        libraries.overlay("grove", base="absent", folder=folder)
    with pytest.raises(SandboxError, match="matsmith environment"):
        environments.lock_file(str(tmp_path / "absent"))
    with pytest.raises(SandboxError, match="no package in there"):
        libraries.overlay("grove", folder=tmp_path / "nowhere")
    env = libraries.overlay(
        "grove", folder=write(tmp_path / "numpy", {"numpy/__init__.py": ""})
    )
    with pytest.raises(SandboxError, match="has a package of that name"):
        environments.build(env)
    assert not environments.folder(env).exists()
    described = write(tmp_path / "described", {"overlay.json": '{"base": "../live"}'})
    with pytest.raises(SandboxError, match=r"not .*base"):
        environments.lock_file(str(described))


@pytest.mark.parametrize("name", ["grove/secret.py", "other"])
def test_a_link_would_be_read_on_the_host_and_is_refused(folder, tmp_path, name):
    (folder / name).symlink_to(
        write(tmp_path / "elsewhere", {"private.py": "key = 1\n"})
    )
    with pytest.raises(SandboxError, match="no links"):
        libraries.overlay("grove", folder=folder)
    described = write(tmp_path / "described", {"overlay.json": '{"base": "live"}'})
    (described / "packages").symlink_to(folder)
    for reader in (environments.build, environments.own_packages):
        with pytest.raises(SandboxError, match="no links"):
            reader(str(described))


@needs_bubblewrap
async def test_hostile_files_run_in_the_sandbox_only(own_cache, tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "ENVS", tmp_path / "envs")
    make_environment(
        tmp_path / "envs" / "small", make_wheel(tmp_path, "plain", {"plain.py": ""})
    )
    marker = tmp_path / "was-here"
    folder = write(tmp_path / "files", hostile_files(marker))
    write(folder, {"evil/nul.py": "\0", "evil/deep.py": "(" * 5000 + ")" * 5000})
    act = f"open({str(marker)!r}, 'a').close()"
    env = libraries.overlay(
        "evil",
        base="small",
        folder=folder,
        warmup=f"try:\n    {act}\nexcept OSError:\n    pass\n",
    )
    config = SandboxConfig(backend="bubblewrap", env=env, workers=1)
    async with get_sandbox(config) as sandbox:
        done = await sandbox.run("from evil import f", "f", timeout=30)
    assert done.result == {"here": 1}, done.error
    own = environments.source_folders(env)[0]
    assert list(own.glob("evil/__pycache__/__init__.*.pyc"))
    assert not marker.exists()
    assert sys.modules.keys().isdisjoint({"evil", "other"})


def test_mistakes_of_the_command_are_one_line(tmp_path, capsys):
    assert own.main([f"project={tmp_path}", f"out={tmp_path / 'env'}"]) == 2
    assert "no pyproject.toml" in capsys.readouterr().err
    (tmp_path / "pyproject.toml").write_text("[project\n")
    assert own.main([f"project={tmp_path}", f"out={tmp_path / 'env'}"]) == 2
    assert "pyproject.toml: cannot be read" in capsys.readouterr().err
    assert own.main([f"project={tmp_path / 'x'}", f"out={tmp_path / 'env'}"]) == 2
    assert "no such folder" in capsys.readouterr().err
    assert own.main(["project=x"]) == 2
    assert own.main(["project=x", "out=y", "colour=red"]) == 2
    assert "Traceback" not in capsys.readouterr().err


@needs_bubblewrap
def test_a_project_is_built_in_the_sandbox(own_cache, tmp_path, monkeypatch, capsys):
    """The backend is the project's own, so that nothing has to be fetched."""
    marker = tmp_path / "was-here"
    wheel = make_wheel(tmp_path / "ready", "mine", {"mine.py": ""})
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        '[project]\nname = "mine"\nversion = "1.0"\n[build-system]\nrequires = []\n'
        'build-backend = "backend"\nbackend-path = ["."]\n'
    )
    (project / "backend.py").write_text(
        "import shutil\nfrom pathlib import Path\n"
        f"def build_wheel(folder, *_):\n    try:\n        Path({str(marker)!r}).touch()\n"
        f"    except OSError:\n        pass\n    shutil.copy({wheel.name!r}, folder)\n"
        f"    return {wheel.name!r}\n"
    )
    (project / wheel.name).write_bytes(wheel.read_bytes())
    out = tmp_path / "env"
    assert own.main([f"project={project}", f"out={out}", "base=none"]) == 0, (
        capsys.readouterr().err
    )
    assert (out / "wheels" / wheel.name).read_bytes() == wheel.read_bytes()
    assert not marker.exists()
    assert environments.installed_versions(str(out)) == {"mine": "1.0"}
    # In front of a base that meets its requirements, nothing is installed ...
    monkeypatch.setattr(environments, "ENVS", tmp_path / "envs")
    other = make_wheel(tmp_path / "other", "other", {"other.py": ""})
    make_environment(tmp_path / "envs" / "roomy", other)
    assert own.main([f"project={project}", f"out={out}", "base=roomy"]) == 0
    assert "in front of roomy, which has what it needs" in capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == [
        "overlay.json",
        "packages",
        "warmup.py",
    ]
    versions = dict(environments.installed_versions(str(out)))
    assert versions.pop(environments.OWN)
    assert versions == {"mine": "1.0", "other": "1.0"}
    # ... and in front of another one, what stands against it is said.
    fork = make_wheel(tmp_path / "fork", "fork", {"mine.py": ""})
    make_environment(tmp_path / "envs" / "taken", fork, by="{name} @ file://{path}")
    (tmp_path / "envs" / "taken" / "requirements.in").write_text("")
    assert own.main([f"project={project}", f"out={out}", "base=taken"]) == 0
    printed = capsys.readouterr().out
    assert "not in front of taken: taken has a 'mine.py' too" in printed
    assert not (out / "overlay.json").exists()
    assert own.main([f"project={project}", f"out={out}", "base=absent"]) == 2
    assert "no environment 'absent'" in capsys.readouterr().err
    assert (out / "requirements.lock").exists()
    (project / "backend.py").write_text("raise RuntimeError('no \\x1b compiler')")
    assert own.main([f"project={project}", f"out={out}", "base=none"]) == 2
    assert (out / "requirements.lock").exists()  # what was there before
    error = capsys.readouterr().err
    assert "build=host" in error
    assert "\x1b" not in error
    assert own.main([f"project={project}", f"out={out}", "build=cloud"]) == 2


@pytest.fixture(scope="module")
def live():
    return environments.build("live")


def obstacles(folder, base, *headers, files=()):
    wheel = make_wheel(
        folder, "grove", dict.fromkeys(("grove/__init__.py", *files), ""), *headers
    )
    own.unpack(wheel, folder / "files")
    return own.obstacles(wheel, folder / "files", base)


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ([], None),
        (
            [
                "Requires-Dist: NumPy>=1",
                "Requires-Dist: pymatgen",
                "Requires-Python: >=3.11.5,<4",
            ],
            None,
        ),
        (["Requires-Dist: no-such-thing; sys_platform == 'win32'"], None),
        (["Requires-Dist: no-such-thing; extra == 'dev'", "Provides-Extra: dev"], None),
        (["Requires-Dist: no-such-thing>=2"], "grove==1.0 depends on no-such-thing>=2"),
        (["Requires-Dist: numpy<1"], "grove==1.0 depends on numpy<1"),
        (["Requires-Dist: numpy @ https://127.0.0.1/numpy.whl"], "numpy"),
        (["Requires-Dist: numpy((("], "parse"),
        (["Requires-Dist: pymatgen[optional]"], "pymatgen[optional]"),
        (["Requires-Python: >=4"], "Python"),
    ],
)
def test_requirements_that_the_base_meets_and_others(headers, reason, tmp_path, live):
    found = obstacles(tmp_path, live, *headers)
    assert len(found) == (reason is not None)
    for line in found:
        assert line.startswith("live does not have what it needs: ")
        assert reason in line
        assert "\n" not in line


def test_what_an_installation_would_do_otherwise(tmp_path, live):
    found = obstacles(
        tmp_path, live, files=("numpy/more.py", "hook.pth", "grove-1.0.data/x")
    )
    for words in ("live has a 'numpy' too", "'hook.pth'", "'grove-1.0.data'"):
        assert any(words in item for item in found), words
    wheel = (tmp_path / "grove-1.0-py3-none-any.whl").rename(
        tmp_path / "grove-1.0-cp39-cp39-any.whl"
    )
    found = own.obstacles(wheel, tmp_path / "files", live)
    assert "compiled parts" in found[0]
    assert "no wheels with a matching Python" in found[-1]


def test_an_archive_cannot_leave_its_folder_or_fill_the_disk(tmp_path, monkeypatch):
    wheel = tmp_path / "grove-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("../outside.py", "x = 1\n")
        link = zipfile.ZipInfo("grove/link.py")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    own.unpack(wheel, tmp_path / "files")
    assert not (tmp_path / "outside.py").exists()
    assert not (tmp_path / "files/grove/link.py").is_symlink()
    entry, whole = b"PK\1\2\x14\3\x14\0", wheel.read_bytes()
    for content, limit, said in (
        (whole, 10, "MB unpacked"),
        (
            whole.replace(entry + b"\0", entry + b"\1"),
            own.MOST_UNPACKED,
            "is encrypted",
        ),
        (b"not an archive", 10, "cannot be unpacked"),
    ):
        wheel.write_bytes(content)
        monkeypatch.setattr(own, "MOST_UNPACKED", limit)
        with pytest.raises(SandboxError, match=said):
            own.unpack(wheel, tmp_path / "again")
