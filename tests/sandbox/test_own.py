"""Environments for a package of the user's own."""

from sandbox import environments
from sandbox.own import main
from tests.sandbox.conftest import needs_bubblewrap
from tests.sandbox.wheels import make_environment, make_wheel


def test_mistakes_are_one_line(tmp_path, capsys):
    assert main([f"project={tmp_path}", f"out={tmp_path / 'env'}"]) == 2
    assert "no pyproject.toml" in capsys.readouterr().err
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    assert main([f"project={tmp_path}", f"out={tmp_path / 'env'}"]) == 2
    assert "no project.name" in capsys.readouterr().err
    assert main(["project=x"]) == 2
    assert main(["project=x", "out=y", "colour=red"]) == 2
    assert "Traceback" not in capsys.readouterr().err


@needs_bubblewrap
def test_a_project_is_built_in_the_sandbox(tmp_path, monkeypatch, capsys):
    """The backend is the project's own, so that nothing has to be fetched."""
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
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
    assert main([f"project={project}", f"out={out}", "base=none"]) == 0, capsys.readouterr().err
    assert (out / "wheels" / wheel.name).read_bytes() == wheel.read_bytes()
    assert not marker.exists()
    assert environments.installed_versions(str(out)) == {"mine": "1.0"}
    # In front of a base that meets its requirements, nothing is installed ...
    monkeypatch.setattr(environments, "ENVS", tmp_path / "envs")
    other = make_wheel(tmp_path / "other", "other", {"other.py": ""})
    make_environment(tmp_path / "envs" / "roomy", other)
    assert main([f"project={project}", f"out={out}", "base=roomy"]) == 0
    assert "in front of roomy, which has what it needs" in capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == ["overlay.json", "packages", "warmup.py"]
    versions = dict(environments.installed_versions(str(out)))
    assert versions.pop(environments.OWN)
    assert versions == {"mine": "1.0", "other": "1.0"}
    # ... and in front of another one, what stands against it is said.
    fork = make_wheel(tmp_path / "fork", "fork", {"mine.py": ""})
    make_environment(tmp_path / "envs" / "taken", fork, by="{name} @ file://{path}")
    (tmp_path / "envs" / "taken" / "requirements.in").write_text("")
    assert main([f"project={project}", f"out={out}", "base=taken"]) == 0
    printed = capsys.readouterr().out
    assert "not in front of taken: taken has a 'mine.py' too" in printed
    assert not (out / "overlay.json").exists()
    assert main([f"project={project}", f"out={out}", "base=absent"]) == 2
    assert "no environment 'absent'" in capsys.readouterr().err
    assert (out / "requirements.lock").exists()
    (project / "backend.py").write_text("raise RuntimeError('no \\x1b compiler')")
    assert main([f"project={project}", f"out={out}", "base=none"]) == 2
    assert (out / "requirements.lock").exists()  # what was there before
    error = capsys.readouterr().err
    assert "build=host" in error
    assert "\x1b" not in error
    assert main([f"project={project}", f"out={out}", "build=cloud"]) == 2
