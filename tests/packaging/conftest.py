"""A wheel of the project, and an empty environment that holds it."""

import shutil
import sys

import pytest

from tests.support.installation import BELOW, run
from tests.support.paths import ROOT


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    caches = shutil.ignore_patterns("__pycache__", "data", "prebuilt")
    for name in ("matsmith", *BELOW):
        shutil.copytree(ROOT / name, folder / name, ignore=caches)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    run(
        sys.executable,
        "-m",
        "uv",
        "build",
        "--wheel",
        "--out-dir",
        "dist",
        folder=folder,
    )
    (built,) = folder.glob("dist/*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """The ``bin`` of a virtual environment that holds the wheel and what the lock file pins."""
    folder = tmp_path_factory.mktemp("installed")
    uv = (sys.executable, "-m", "uv")
    run(
        *uv,
        "venv",
        "--quiet",
        "--python",
        sys.executable,
        folder / "venv",
        folder=folder,
    )
    into = ("pip", "install", "--quiet", "--python", folder / "venv")
    lock = ROOT / "requirements.lock"
    run(*uv, *into, "--require-hashes", "--requirement", lock, folder=folder)
    other = folder / "other"
    (other / "agents").mkdir(parents=True)
    (other / "agents" / "__init__.py").write_text("class Agent: ...\n")
    (other / "pyproject.toml").write_text(
        '[project]\nname = "other-agents"\nversion = "1"\n'
    )
    run(*uv, *into, "--no-deps", wheel, other, folder=folder)
    return folder / "venv" / "bin"
