"""Environments and images: pinned, built once, found again."""

import re
import shutil
import subprocess
import sys

import pytest

from sandbox import docker, environments
from sandbox.base import SandboxConfig, SandboxError
from sandbox.factory import get_sandbox
from tests.sandbox.conftest import needs_bubblewrap


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
def tiny(tmp_path, monkeypatch):
    """An environment without packages, and a cache of its own."""
    folder = tmp_path / "envs" / "tiny"
    folder.mkdir(parents=True)
    (folder / "requirements.lock").write_text("")
    (folder / "warmup.py").write_text("import json\n")
    monkeypatch.setattr(environments, "ENVS", tmp_path / "envs")
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    return folder


def test_building_twice_is_free_and_a_half_built_one_is_built_again(tiny):
    lines = []
    built = environments.build("tiny", say=lines.append)
    assert built.folder.name.startswith("tiny-")
    assert lines
    lines.clear()
    marker = built.folder / "marker"
    marker.write_text("")
    assert environments.build("tiny", say=lines.append) == built
    other = shutil.copytree(tiny, tiny.parents[1] / "elsewhere")  # the same in another folder
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
    with pytest.raises(SandboxError, match=r"needs Python 3\.7.*uv python install 3\.7"):
        environments.build("tiny")


@needs_bubblewrap
async def test_only_the_environment_is_importable(tiny):
    code = """
import importlib.util, sys
def f():
    names = ("numpy", "pip", "setuptools", "sandbox", "uv", "pytest")
    return [name for name in names if importlib.util.find_spec(name)], sys.prefix
"""
    async with get_sandbox(SandboxConfig(backend="bubblewrap", env="tiny", workers=1)) as sandbox:
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
