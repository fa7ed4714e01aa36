"""Makes a sandbox environment that holds a package of the user's own.

``python -m sandbox.own project=DIR out=FOLDER [base=live]``: builds a wheel of the project in
``DIR`` (a ``pyproject.toml``) and pins it with everything it needs, by hash, in
``FOLDER/requirements.lock``. Use it as ``env=./FOLDER`` wherever an environment is asked for.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from sandbox import environments
from sandbox.base import SandboxError

USAGE = """\
python -m sandbox.own project=DIR out=FOLDER [base=live]

Builds a wheel of the Python project in DIR and writes FOLDER/requirements.lock: the wheel and all
that it needs, pinned by hash. base=NAME adds the packages of that environment, in its versions.
Then: python -m sandbox build env=./FOLDER
"""
#: Wheels carry times; a fixed one makes the same source the same wheel, and the same environment.
_EPOCH = "315532800"
_UNWANTED = shutil.ignore_patterns(".git", ".venv", "venv", "build", "dist", "*.egg-info")


def make(project: Path, out: Path, *, base: str | None = None) -> str:
    """Write the environment of ``project`` to ``out``; returns the wheel's file name.

    Parameters
    ----------
    project
        Folder with a ``pyproject.toml``.
    out
        Folder to write; what an earlier call wrote there is replaced.
    base
        Environment whose packages are wanted as well.

    Raises
    ------
    SandboxError
        When the project cannot be built, or no versions fit together.
    """
    if not (project / "pyproject.toml").is_file():
        raise SandboxError(f"project={project}: no pyproject.toml there")
    name = _distribution(project)
    out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(out / "wheels", ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:  # building leaves things beside the sources
        copy = Path(shutil.copytree(project, Path(temporary) / "project", ignore=_UNWANTED))
        _uv(["build", "--quiet", "--wheel", "--out-dir", str(out.resolve() / "wheels"), "."], copy)
    built = sorted((out / "wheels").glob("*.whl"))
    if len(built) != 1:
        raise SandboxError(f"project={project}: building {name} gave {len(built)} wheels")
    wanted, constraints, warmup = [f"./wheels/{built[0].name}"], [], ""
    if base is not None:
        lock = environments.lock_file(base)
        wanted += (lock.parent / "requirements.in").read_text().split("\n")
        constraints = ["--constraint", str(lock)]
        warmup = environments.warmup(base)
        if (python := environments.wanted_python(base)) is not None:
            (out / "python").write_text(python + "\n")
    (out / "requirements.in").write_text("\n".join(wanted).strip() + "\n")
    (out / "requirements.lock").unlink(missing_ok=True)
    resolve = ["pip", "compile", "--quiet", "--generate-hashes", "--no-emit-index-url"]
    resolve += ["--no-header", *constraints, "requirements.in", "--output-file"]
    _uv([*resolve, "requirements.lock"], out)
    (out / "warmup.py").write_text(warmup or '"""Nothing is imported ahead of a run."""\n')
    return built[0].name


def _distribution(project: Path) -> str:
    try:
        content = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
        return str(content["project"]["name"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SandboxError(f"{project / 'pyproject.toml'}: no project.name ({error!r})") from None


def _uv(arguments: list[str], folder: Path) -> None:
    variables = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    done = subprocess.run(  # noqa: S603 - fixed program
        [sys.executable, "-m", "uv", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**variables, "SOURCE_DATE_EPOCH": _EPOCH},
    )
    if done.returncode != 0:
        lines = "\n".join(done.stderr.strip().splitlines()[-12:])
        raise SandboxError(f"uv {' '.join(arguments[:2])} failed in {folder}:\n{lines}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (2 for a user's mistake)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if {"-h", "--help"} & set(words):
        print(USAGE, end="")
        return 0
    given = dict(word.partition("=")[::2] for word in words)
    try:
        if not given.get("project") or not given.get("out") or set(given) - {
            "project", "out", "base"
        }:  # fmt: skip
            raise SandboxError(f"project=DIR and out=FOLDER, please\n{USAGE}")  # noqa: TRY301
        out = Path(given["out"])
        wheel = make(Path(given["project"]), out, base=given.get("base"))
    except SandboxError as error:
        sys.stderr.write(f"sandbox.own: {error}\n")
        return 2
    print(f"{out}: {wheel} and what it needs; use it as env={_as_name(out)}")
    return 0


def _as_name(out: Path) -> str:
    """A path that is seen to be one: it has a slash."""
    text = str(out)
    return text if "/" in text else f"./{text}"


if __name__ == "__main__":
    sys.exit(main())
