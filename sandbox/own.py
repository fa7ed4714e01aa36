"""Makes a sandbox environment that holds a package of the user's own.

``python -m sandbox.own project=DIR out=FOLDER [base=live]``: builds a wheel of the project in
``DIR`` (a ``pyproject.toml``). When the base meets all its requirements, the wheel's files become
an overlay on it (``sandbox.overlays``). Otherwise the wheel is pinned with everything it needs, by
hash, in ``FOLDER/requirements.lock``. Use it as ``env=./FOLDER`` wherever an environment is asked
for.

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sandbox import environments, fitting, overlays
from sandbox.base import Mount, Outcome, SandboxConfig, SandboxError
from sandbox.command import run
from sandbox.factory import get_sandbox
from sandbox.terminal import printable

ABOUT = """\
Builds a wheel of the Python project in DIR. If the environment `base` meets all its requirements,
the wheel's files go to FOLDER/packages, in front of that environment, and nothing is installed.
Otherwise FOLDER/requirements.lock pins the wheel and all that it needs by hash, with base=NAME also
the packages of that environment, in its versions; base=none asks for this without looking.
The build runs in the sandbox; build=host runs it as you (for projects that need a compiler's
headers or the network). Packages that it needs must have wheels.
Then: python -m sandbox build env=./FOLDER"""
BASE = "live"
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


@dataclass(frozen=True)
class Made:
    """What became of a project.

    Attributes
    ----------
    wheel
        File name of its wheel.
    base
        The environment that was looked at, ``None`` for none.
    obstacles
        Why that one does not do, and everything gets installed; empty for an overlay.
    """

    wheel: str
    base: str | None
    obstacles: tuple[str, ...]


def make(
    project: Path,
    out: Path,
    *,
    base: str | None = None,
    on_host: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Made:
    """Write the environment of ``project`` to ``out``.

    Parameters
    ----------
    project
        Folder with a ``pyproject.toml``.
    out
        Folder to write; what an earlier call wrote there is replaced.
    base
        Environment to lie in front of (``BASE`` when not given); one that is given, and does not
        meet the requirements, is installed as well. ``none``: look at none.
    on_host
        Build outside of the sandbox, with all rights of the user.
    say
        Called with each line of progress.

    Raises
    ------
    SandboxError
        When the project cannot be built, or no versions fit together.
    """
    if not (project / "pyproject.toml").is_file():
        raise SandboxError(f"project={project}: no pyproject.toml there")
    name, system = _project(project)
    looked_at = None if base == "none" else base or BASE
    if looked_at is not None:
        environments.lock_file(looked_at)  # unknown: now, not after the build
    with tempfile.TemporaryDirectory() as temporary:  # building leaves things beside the sources
        wheels = Path(temporary) / "wheels"
        copy = Path(shutil.copytree(project, Path(temporary) / "project", ignore=_UNWANTED))
        say(f"building a wheel of {name}")
        if on_host:
            _uv(["build", "--quiet", "--wheel", "--out-dir", str(wheels), "."], copy)
        else:
            file, data = asyncio.run(_build_inside(copy, system, Path(temporary) / "tools"))
            wheels.mkdir()
            (wheels / file).write_bytes(data)
        built = sorted(wheels.glob("*.whl"))
        if len(built) != 1:
            raise SandboxError(f"project={project}: building {name} gave {len(built)} wheels")
        _clear(out)
        found: list[str] = []
        if looked_at is not None:
            found = _overlay(built[0], looked_at, out, Path(temporary) / "files", say)
        if looked_at is None or found:
            say("choosing versions")
            shutil.copytree(wheels, out / "wheels")
            _pin(f"./wheels/{built[0].name}", None if base == "none" else base, out)
    return Made(built[0].name, looked_at, tuple(found))


def _clear(out: Path) -> None:
    """Remove what an earlier call wrote: it could have been the other kind."""
    out.mkdir(parents=True, exist_ok=True)
    for name in (overlays.DESCRIPTION, "requirements.lock", "requirements.in", "python"):
        (out / name).unlink(missing_ok=True)
    for name in ("wheels", overlays.PACKAGES):
        shutil.rmtree(out / name, ignore_errors=True)


def _overlay(
    wheel: Path, base: str, out: Path, files: Path, say: Callable[[str], None]
) -> list[str]:
    """Make ``out`` an overlay on ``base``; returns what stands against it, if anything does."""
    if base not in environments.names():
        return [f"{base} does not come with matsmith"]
    installed = environments.build(base, say=say)
    fitting.unpack(wheel, files)
    found = fitting.obstacles(wheel.name, files, installed)
    if not found:
        overlays.write(base, files, out, warmup='"""Imported ahead of a run: nothing more."""\n')
    return found


def _pin(wheel: str, base: str | None, out: Path) -> None:
    """Write the lock file that holds the wheel, what it needs, and the packages of ``base``."""
    wanted, warmup = [wheel], ""
    constraints = ["--only-binary", ":all:"]
    if base is not None:
        lock = environments.lock_file(base)
        wanted += (lock.parent / "requirements.in").read_text().split("\n")
        constraints = [*environments.build_options(base), "--constraint", str(lock)]
        warmup = environments.warmup(base)
        if (python := environments.wanted_python(base)) is not None:
            (out / "python").write_text(python + "\n")
    (out / "requirements.in").write_text("\n".join(wanted).strip() + "\n")
    resolve = ["pip", "compile", "--quiet", "--generate-hashes", "--no-emit-index-url"]
    resolve += ["--no-header", *constraints, "requirements.in", "--output-file"]
    _uv([*resolve, "requirements.lock"], out)
    (out / "warmup.py").write_text(warmup or '"""Nothing is imported ahead of a run."""\n')


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


class Options(BaseModel):
    """Arguments of ``python -m sandbox.own``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    project: Path = Field(description="folder with a pyproject.toml")
    out: Path = Field(description="folder to write")
    base: str | None = Field(None, description="environment whose packages it may use")
    build: Literal["sandbox", "host"] = Field("sandbox", description="where its build runs")


def _action(options: Options) -> int:
    out, on_host = options.out, options.build == "host"
    made = make(options.project, out, base=options.base, on_host=on_host, say=_say)
    if made.base is None or made.obstacles:
        print(f"{out}: {made.wheel} and what it needs, installed when it is first used")
        for reason in made.obstacles:
            print(f"  not in front of {made.base}: {reason}")
    else:
        print(f"{out}: {made.wheel} in front of {made.base}, which has what it needs")
    print(f"Use it as env={_as_name(out)}")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (see `sandbox.command`)."""
    return run("python -m sandbox.own", ABOUT, Options, _action, arguments)


def _say(line: str) -> None:
    sys.stderr.write(f"{printable(line)}\n")


def _as_name(out: Path) -> str:
    """A path that is seen to be one: it has a slash."""
    text = str(out)
    return text if "/" in text else f"./{text}"


if __name__ == "__main__":
    sys.exit(main())
