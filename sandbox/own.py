"""Makes a sandbox environment that holds a package of the user's own.

``python -m sandbox.own project=DIR out=FOLDER [base=live]``: builds a wheel of the project in
``DIR`` (a ``pyproject.toml``) and pins it with everything it needs, by hash, in
``FOLDER/requirements.lock``. Use it as ``env=./FOLDER`` wherever an environment is asked for.

A build runs code of the project and of its build tools: it happens in the sandbox, in an
environment that holds these tools, unless ``build=host`` is given.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox import environments
from sandbox.base import Mount, Outcome, SandboxConfig, SandboxError
from sandbox.factory import get_sandbox
from sandbox.terminal import printable

USAGE = """\
python -m sandbox.own project=DIR out=FOLDER [base=live] [build=host]

Builds a wheel of the Python project in DIR and writes FOLDER/requirements.lock: the wheel and all
that it needs, pinned by hash. base=NAME adds the packages of that environment, in its versions.
The build runs in the sandbox; build=host runs it as you (for projects that need a compiler's
headers or the network). Packages that it needs must have wheels.
Then: python -m sandbox build env=./FOLDER
"""
#: Wheels carry times; a fixed one makes the same source the same wheel, and the same environment.
_EPOCH = "315532800"
_SECONDS = 600.0
_MOST_TOOLS = 50
_WHEEL = re.compile(r"[\w.+!-]+\.whl")
#: Runs inside: PEP 517, in the build's own environment.
_BUILDER = f"""
import importlib, os, shutil, sys
def build(backend, paths, known):
    os.environ["SOURCE_DATE_EPOCH"] = "{_EPOCH}"
    shutil.copytree("project", "source")
    os.chdir("source")
    sys.path[:0] = [os.path.abspath(path) for path in paths]
    module, _, name = backend.partition(":")
    hooks = importlib.import_module(module)
    for part in filter(None, name.split(".")):
        hooks = getattr(hooks, part)
    ask = getattr(hooks, "get_requires_for_build_wheel", lambda: [])
    more = [one for one in ask() if one not in known]
    if more:
        return {{"more": more}}
    os.mkdir("../wheels")
    wheel = hooks.build_wheel("../wheels")
    with open("../wheels/" + wheel, "rb") as file:
        return {{"name": wheel, "wheel": file.read()}}
"""
_UNWANTED = shutil.ignore_patterns(".git", ".venv", "venv", "build", "dist", "*.egg-info")


def make(project: Path, out: Path, *, base: str | None = None, on_host: bool = False) -> str:
    """Write the environment of ``project`` to ``out``; returns the wheel's file name.

    Parameters
    ----------
    project
        Folder with a ``pyproject.toml``.
    out
        Folder to write; what an earlier call wrote there is replaced.
    base
        Environment whose packages are wanted as well.
    on_host
        Build outside of the sandbox, with all rights of the user.

    Raises
    ------
    SandboxError
        When the project cannot be built, or no versions fit together.
    """
    if not (project / "pyproject.toml").is_file():
        raise SandboxError(f"project={project}: no pyproject.toml there")
    name, system = _project(project)
    out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(out / "wheels", ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:  # building leaves things beside the sources
        copy = Path(shutil.copytree(project, Path(temporary) / "project", ignore=_UNWANTED))
        wheels = out.resolve() / "wheels"
        if on_host:
            _uv(["build", "--quiet", "--wheel", "--out-dir", str(wheels), "."], copy)
        else:
            file, data = asyncio.run(_build_inside(copy, system, Path(temporary) / "tools"))
            wheels.mkdir()
            (wheels / file).write_bytes(data)
    built = sorted((out / "wheels").glob("*.whl"))
    if len(built) != 1:
        raise SandboxError(f"project={project}: building {name} gave {len(built)} wheels")
    wanted, warmup = [f"./wheels/{built[0].name}"], ""
    constraints = ["--only-binary", ":all:"]
    if base is not None:
        lock = environments.lock_file(base)
        wanted += (lock.parent / "requirements.in").read_text().split("\n")
        constraints = [*environments.build_options(base), "--constraint", str(lock)]
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


def _project(project: Path) -> tuple[str, Mapping[str, Any]]:
    """Name and ``build-system`` of a ``pyproject.toml``."""
    try:
        content = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
        return str(content["project"]["name"]), dict(content.get("build-system", {}))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SandboxError(f"{project / 'pyproject.toml'}: no project.name ({error!r})") from None


async def _build_inside(project: Path, system: Mapping[str, Any], tools: Path) -> tuple[str, bytes]:
    """Call the project's build backend in a sandbox, with the tools that it asks for."""
    requires = [str(one) for one in system.get("requires", ["setuptools>=70.1"])]
    backend = str(system.get("build-backend", "setuptools.build_meta:__legacy__"))
    paths = [str(path) for path in system.get("backend-path", [])]
    while True:
        _tools(tools, requires)
        config = SandboxConfig(
            env=str(tools), workers=1, memory_mb=4096, disk_mb=1024, options={"warmup": False}
        )
        async with get_sandbox(config) as sandbox:
            call = f"build({backend!r}, {paths!r}, {requires!r})"
            done = await sandbox.run(
                f"{_BUILDER}\ndef main():\n    return {call}\n",
                "main",
                timeout=_SECONDS,
                mounts=[Mount(project, "project")],
            )
        found = done.result
        if done.outcome is not Outcome.OK or not isinstance(found, dict):
            raise SandboxError(
                f"project={project.name}: the build in the sandbox ended with {done.outcome}:"
                f"\n{printable((done.error or done.stderr)[-2000:])}\nIf it needs something"
                " that the sandbox lacks and you trust it, use build=host"
            )
        match found:
            case {"more": [*more]} if len(requires) < _MOST_TOOLS:
                requires += [str(one) for one in more]
            case {"name": str(name), "wheel": bytes(wheel)} if _WHEEL.fullmatch(name):
                return name, wheel
            case _:
                raise SandboxError(f"project={project.name}: the build gave no wheel")


def _tools(folder: Path, requires: Sequence[str]) -> None:
    """Write the environment of a build's tools."""
    folder.mkdir(exist_ok=True)
    (folder / "requirements.in").write_text("\n".join(requires) + "\n")
    (folder / "warmup.py").write_text("")
    (folder / "requirements.lock").unlink(missing_ok=True)
    resolve = ["pip", "compile", "--quiet", "--generate-hashes", "--no-emit-index-url"]
    resolve += ["--no-header", "--no-annotate", "--only-binary", ":all:"]
    _uv([*resolve, "requirements.in", "--output-file", "requirements.lock"], folder)


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
            "project", "out", "base", "build"
        }:  # fmt: skip
            raise SandboxError(f"project=DIR and out=FOLDER, please\n{USAGE}")  # noqa: TRY301
        out = Path(given["out"])
        if given.get("build", "host") != "host":
            raise SandboxError(f"build={given['build']}: only build=host can be given")  # noqa: TRY301
        on_host = "build" in given
        wheel = make(Path(given["project"]), out, base=given.get("base"), on_host=on_host)
    except SandboxError as error:
        sys.stderr.write(f"sandbox.own: {printable(error)}\n")
        return 2
    print(f"{out}: {wheel} and what it needs; use it as env={_as_name(out)}")
    return 0


def _as_name(out: Path) -> str:
    """A path that is seen to be one: it has a slash."""
    text = str(out)
    return text if "/" in text else f"./{text}"


if __name__ == "__main__":
    sys.exit(main())
