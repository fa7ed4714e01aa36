"""An environment from somebody else runs nothing on the host, however it is built."""

import logging

import pytest

from sandbox import bubblewrap, environments
from sandbox.base import SandboxConfig, SandboxError
from sandbox.factory import get_sandbox
from tests.sandbox.conftest import needs_bubblewrap
from tests.sandbox.wheels import make_environment, make_sdist, make_wheel


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))


def hostile_files(marker):
    """Everything in a wheel that some interpreter might start by itself."""
    act = f"import os; open({str(marker)!r}, 'a').close()"
    return {
        "evil.pth": act + "\n",
        "sitecustomize.py": act + "\n",
        "usercustomize.py": act + "\n",
        "evil/__init__.py": "def f():\n    return {'here': 1}\n",
        "evil-1.0.data/data/lib/python3.11/site-packages/other.pth": act + "\n",
    }


@needs_bubblewrap
async def test_a_wheel_runs_in_the_sandbox_only(tmp_path, caplog):
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
def test_sources_that_cannot_be_compiled_do_not_stop_the_others(tmp_path):
    files = {
        "good/__init__.py": "def f():\n    return 1\n",
        "good/old.py": "print 'Python 2'\n",
        "good/deep.py": "(" * 5000 + ")" * 5000,
        "good/nul.py": "\0",
    }
    env = str(make_environment(tmp_path / "env", make_wheel(tmp_path, "good", files)))
    built = bubblewrap.Bubblewrap(SandboxConfig(env=env)).prepare()
    compiled = {path.name.split(".")[0] for path in built.folder.rglob("good/__pycache__/*.pyc")}
    assert compiled == {"__init__"}


@pytest.mark.parametrize("by", ["{path}", "{name} @ file://{path}", "{name}==1.0"])
def test_a_source_distribution_is_refused(tmp_path, by):
    marker = tmp_path / "was-here"
    setup = (
        f"open({str(marker)!r}, 'w').close()\nfrom setuptools import setup\nsetup(name='evil')\n"
    )
    source = make_sdist(tmp_path / "sources", "evil", setup)
    env = make_environment(tmp_path / "env", source, by=by)
    with pytest.raises(SandboxError):
        environments.build(str(env))
    assert not marker.exists()


@pytest.mark.parametrize(
    "line", ["--no-binary :all:", "--index-url http://127.0.0.1:1/simple", "-e ./evil", "./evil",
             "-r other.txt", "--find-links ./wheels", "evil @ git+file:///evil"],
)  # fmt: skip
def test_a_lock_file_holds_pins_only(tmp_path, line):
    env = make_environment(tmp_path / "env")
    (env / "requirements.lock").write_text(line + "\n")
    with pytest.raises(SandboxError, match="neither name==version nor a wheel"):
        environments.build(str(env))


def test_the_folder_chooses_no_program_and_no_settings(tmp_path):
    marker = tmp_path / "was-here"
    env = make_environment(tmp_path / "env", make_wheel(tmp_path, "plain", {"plain.py": ""}))
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


def test_only_sources_that_matsmith_pins_itself_are_built(tmp_path):
    refuse = ["--only-binary", ":all:"]
    allowed = [*refuse, "--no-binary", "bibtexparser"]
    assert environments.build_options("live") == [*allowed, "--no-binary", "rouge-score"]
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
