"""Environments and images: pinned, built once, found again; those of others run nothing here."""

import logging
import re
import shutil
import subprocess
import sys

import pytest

from sandbox import bytecode, docker, environments
from sandbox.base import SandboxConfig, SandboxError
from sandbox.factory import get_sandbox
from tests.support.sandboxes import hostile_files, needs_bubblewrap
from tests.support.wheels import make_environment, make_sdist, make_wheel


def test_every_environment_is_pinned_by_hash_and_names_no_index():
    assert environments.names() == ["live", "mattools-2024"]
    for name in environments.names():
        text = environments.lock_file(name).read_text()
        pins = re.findall(r"^[a-z0-9][\w.-]*==\S+", text, re.MULTILINE)
        assert len(pins) > 50
        assert text.count("--hash=sha256:") >= len(pins)
        assert "://" not in text
        assert "index-url" not in text
        compile(environments.warmup(name), "warmup.py", "exec")
    assert environments.wanted_python("mattools-2024") == "3.11"


def test_what_is_installed_is_what_the_lock_file_says():
    text = environments.lock_file("live").read_text()
    # One package can stand there twice, for different versions of Python.
    pins = set(re.findall(r"^([a-z0-9][\w.-]*)==([^\s;]+)", text, re.MULTILINE))
    versions = environments.installed_versions("live")
    assert "pymatgen" in versions
    assert set(versions.items()) <= pins
    site = environments.site_packages("live")
    assert (site / "pymatgen").is_dir()
    assert site.is_relative_to(environments.folder("live"))


@pytest.fixture
def tiny(own_cache, tmp_path, monkeypatch):
    """An environment without packages, and a cache of its own."""
    monkeypatch.setattr(environments, "ENVS", tmp_path / "envs")
    return make_environment(tmp_path / "envs" / "tiny")


def test_building_twice_is_free_and_a_half_built_one_is_built_again(tiny):
    lines = []
    built = environments.build("tiny", say=lines.append)
    assert built.folder.name.startswith("tiny-")
    assert lines
    lines.clear()
    marker = built.folder / "marker"
    marker.write_text("")
    assert environments.build("tiny", say=lines.append) == built
    other = shutil.copytree(
        tiny, tiny.parents[1] / "elsewhere"
    )  # the same in another folder
    assert environments.build(str(other), say=lines.append).folder == built.folder
    assert not lines
    assert marker.exists()
    (built.folder / environments.STAMP).unlink()  # as after a kill during the build
    environments.build("tiny")
    assert not marker.exists()
    assert (built.folder / environments.STAMP).exists()
    (tiny / "requirements.lock").write_text("# changed\n")
    assert environments.folder("tiny") != built.folder


def test_two_builders_at_once(tiny):
    program = "from sandbox import environments; import sys; from pathlib import Path;"
    program += "environments.ENVS = Path(sys.argv[1]); print(environments.build('tiny').folder)"
    command = [sys.executable, "-c", program, str(tiny.parent)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    outputs = [process.communicate()[0] for process in running]
    assert len(set(outputs)) == 1
    assert [process.returncode for process in running] == [0, 0, 0]


def test_what_cannot_be_installed_is_one_clear_error(tiny, monkeypatch):
    (tiny / "requirements.lock").write_text(
        "no-such-package-of-ours==1.0 --hash=sha256:" + "0" * 64 + "\n"
    )
    with pytest.raises(SandboxError, match="no-such-package-of-ours"):
        environments.build("tiny")
    assert not (environments.folder("tiny") / environments.STAMP).exists()
    (tiny / "python").write_text("3.7\n")
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    with pytest.raises(
        SandboxError, match=r"needs Python 3\.7.*uv python install 3\.7"
    ):
        environments.build("tiny")


@needs_bubblewrap
async def test_only_the_environment_is_importable(tiny):
    code = """
import importlib.util, sys
def f():
    names = ("numpy", "pip", "setuptools", "sandbox", "uv", "pytest")
    return [name for name in names if importlib.util.find_spec(name)], sys.prefix
"""
    async with get_sandbox(
        SandboxConfig(backend="bubblewrap", env="tiny", workers=1)
    ) as sandbox:
        done = await sandbox.run(code, "f", timeout=30)
    assert done.result == ([], "/env")


@pytest.mark.long
@needs_bubblewrap
async def test_the_published_environment_works():
    code = """
import numpy, pydefect, vise, dscribe.descriptors
from importlib.metadata import version
def f():
    from pymatgen.analysis.defects.core import Vacancy
    from pymatgen.core import Lattice, Structure
    s = Structure(Lattice.cubic(3), ["Po"], [[0, 0, 0]])
    return Vacancy(s, s[0]).name, version("pymatgen"), version("pymatgen-analysis-defects")
"""
    config = SandboxConfig(backend="bubblewrap", env="mattools-2024", workers=1)
    async with get_sandbox(config) as sandbox:
        done = await sandbox.run(code, "f", timeout=60)
    assert done.result == ("v_Po", "2024.8.9", "2024.7.19"), done.error


def test_the_build_context_holds_three_files_and_nothing_of_the_project(tmp_path):
    docker.write_context("live", tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["Dockerfile", "certificates.pem", "requirements.lock"]
    env = make_environment(
        tmp_path / "env", make_wheel(tmp_path / "env/wheels", "plain", {})
    )
    (env / "wheels/home").symlink_to(tmp_path)
    (tmp_path / "context").mkdir()
    docker.write_context(str(env), tmp_path / "context")
    wheels = (tmp_path / "context/wheels").iterdir()
    assert [path.name for path in wheels] == ["plain-1.0-py3-none-any.whl"]
    assert docker.tag("live") != docker.tag("mattools-2024")
    assert docker.tag("live") == docker.tag("live")


@pytest.mark.docker
@pytest.mark.long
def test_an_image_that_cannot_be_built_says_what_to_do(tiny):
    engine = docker.find("docker")
    if engine is None:
        pytest.skip("no docker engine answers")
    with pytest.raises(SandboxError, match="base-image"):
        docker.build(engine, "tiny", base="localhost:1/no-such-base:0")
    assert not docker.exists(engine, "tiny")


@needs_bubblewrap
async def test_a_wheel_runs_in_the_sandbox_only(own_cache, tmp_path, caplog):
    marker = tmp_path / "was-here"
    wheel = make_wheel(tmp_path / "wheels", "evil", hostile_files(marker))
    env = str(make_environment(tmp_path / "env", wheel))
    with caplog.at_level(logging.WARNING):
        environments.build(env)
    assert "does not come with matsmith" in caplog.text
    assert environments.installed_versions(env) == {"evil": "1.0"}
    assert (environments.site_packages(env) / "evil.pth").exists()
    assert not marker.exists()
    config = SandboxConfig(backend="bubblewrap", env=env, workers=1)
    async with get_sandbox(config) as sandbox:
        done = await sandbox.run("from evil import f", "f", timeout=30)
    assert done.result == {"here": 1}, done.error
    assert not marker.exists()
    assert list(environments.site_packages(env).glob("evil/__pycache__/__init__.*.pyc"))


@needs_bubblewrap
def test_sources_that_cannot_be_compiled_do_not_stop_the_others(own_cache, tmp_path):
    files = {
        "good/__init__.py": "def f():\n    return 1\n",
        "good/old.py": "print 'Python 2'\n",
        "good/deep.py": "(" * 5000 + ")" * 5000,
        "good/nul.py": "\0",
    }
    env = str(make_environment(tmp_path / "env", make_wheel(tmp_path, "good", files)))
    built = bytecode.prepare(SandboxConfig(env=env))
    compiled = {
        path.name.split(".")[0] for path in built.folder.rglob("good/__pycache__/*.pyc")
    }
    assert compiled == {"__init__"}


@pytest.mark.parametrize("by", ["{path}", "{name} @ file://{path}", "{name}==1.0"])
def test_a_source_distribution_is_refused(own_cache, tmp_path, by):
    marker = tmp_path / "was-here"
    setup = (
        f"open({str(marker)!r}, 'w').close()\n"
        "from setuptools import setup\nsetup(name='evil')\n"
    )
    source = make_sdist(tmp_path / "sources", "evil", setup)
    env = make_environment(tmp_path / "env", source, by=by)
    with pytest.raises(SandboxError):
        environments.build(str(env))
    assert not marker.exists()


@pytest.mark.parametrize(
    "line",
    [
        "--no-binary :all:",
        "--index-url http://127.0.0.1:1/simple",
        "-e ./evil",
        "./evil",
        "-r other.txt",
        "--find-links ./wheels",
        "evil @ git+file:///evil",
    ],
)
def test_a_lock_file_holds_pins_only(own_cache, tmp_path, line):
    env = make_environment(tmp_path / "env")
    (env / "requirements.lock").write_text(line + "\n")
    with pytest.raises(SandboxError, match="neither name==version nor a wheel"):
        environments.build(str(env))


def test_the_folder_chooses_no_program_and_no_settings(own_cache, tmp_path):
    marker = tmp_path / "was-here"
    env = make_environment(
        tmp_path / "env", make_wheel(tmp_path, "plain", {"plain.py": ""})
    )
    program = env / "python3.11"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    for text in (str(program), "./python3.11", "python3.11"):
        (env / "python").write_text(text)
        with pytest.raises(SandboxError, match="no Python version"):
            environments.build(str(env))
    (env / "python").unlink()
    (env / "uv.toml").write_text("this would be an error")
    environments.build(str(env))
    assert not marker.exists()
    (env / "warmup.py").unlink()  # a folder that was made by hand
    assert environments.warmup(str(env)) == ""


def test_only_sources_that_matsmith_pins_itself_are_built(tmp_path):
    refuse = ["--only-binary", ":all:"]
    allowed = [*refuse, "--no-binary", "bibtexparser"]
    assert environments.build_options("live") == [
        *allowed,
        "--no-binary",
        "rouge-score",
    ]
    text = environments.lock_file("live").read_text()
    start = text.index("bibtexparser==")
    pin = text[start : text.index("\n", text.index("--hash", start))].rstrip("\\ ")
    env = make_environment(tmp_path / "env")
    for line, options in (
        (pin, allowed),
        (f"{pin} --hash=sha256:{'0' * 64}", refuse),
        ("other==1 --hash=sha256:00", refuse),
    ):
        (env / "requirements.lock").write_text(line + "\n")
        assert environments.build_options(str(env)) == options
