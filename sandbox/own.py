"""Makes a sandbox environment that holds a package of your own.

Builds a wheel of the Python project in a folder. If the environment `base` meets all its
requirements, the wheel's files go to OUT/packages, in front of that environment, and nothing is
installed. Otherwise OUT/requirements.lock pins the wheel and all that it needs by hash, with
base=NAME also the packages of that environment, in its versions; base=none asks for this without
looking. Use it as env=./OUT wherever an environment is asked for.

The build runs code of the project and of its build tools: in the sandbox, in an environment that
holds these tools; build=host runs it as you (for projects that need a compiler's headers or the
network). Packages that it needs must have wheels.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from foundation.command import Command
from foundation.terminal import printable
from sandbox import build_backend, environments, libraries, stoppable
from sandbox.base import Mount, Outcome, SandboxConfig, SandboxError
from sandbox.copying import copy_folder
from sandbox.factory import get_sandbox
from sandbox.projects import UNKNOWN_VERSION, Project, read_project

BASE = "live"
#: Wheels carry times; a fixed one makes the same source the same wheel, and the same environment.
_EPOCH = "315532800"
_SECONDS = 600.0
_MOST_TOOLS = 50
_WHEEL = re.compile(r"[\w.+!-]{1,200}\.whl")
MOST_UNPACKED = 512 << 20  # bytes of an unpacked wheel
#: The first requirement that uv finds unmet, or else the first cause that it names.
_CAUSES = (
    re.compile(r"\S+ depends on .+?(?=, | and |$)"),
    re.compile(
        r"(?<=(?:cause|error): )(?!No solution|Failed to read).+?(?=,? we can| cause:| hint:|$)"
    ),
)


def make(
    project: Path,
    out: Path,
    *,
    base: str | None = None,
    on_host: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Write the environment of ``project`` to ``out``, replacing what an earlier call wrote.

    Returns what became of it, and why ``base`` does not do, where it does not.

    ``base`` is ``BASE`` when not given; one that is given, and does not meet the requirements, is
    installed as well. ``on_host`` builds outside of the sandbox, with all rights of the user.
    """
    looked_at = None if base == "none" else base or BASE
    if looked_at is not None:
        environments.lock_file(looked_at)  # unknown: now, not after the build
    with tempfile.TemporaryDirectory() as temporary:
        wheel = build_wheel(project, Path(temporary), on_host=on_host, say=say)
        return install(wheel, out, base=base, say=say)


def build_wheel(
    project: Path,
    folder: Path,
    *,
    on_host: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Path:
    """Build the wheel of a project in a copy of its sources, below ``folder``."""
    about = read_project(project)
    wheels, copy = folder / "wheels", folder / "project"
    folder.mkdir(parents=True, exist_ok=True)
    copy_folder(project, copy, environments.unwanted)
    say(f"building a wheel of {about.name or project.name}")
    if on_host:
        command = ["build", "--quiet", "--wheel", "--out-dir", str(wheels), "."]
        environments.uv(command, copy, SOURCE_DATE_EPOCH=_EPOCH)
    else:
        if about.tag_version is not None:
            say(f"where git would be asked, its version is {about.tag_version}")
        file, data = stoppable.run(_build_inside(about, copy, folder / "tools"))
        wheels.mkdir()
        (wheels / file).write_bytes(data)
    built = sorted(wheels.glob("*.whl"))
    if len(built) != 1:
        raise SandboxError(f"project={project}: the build gave {len(built)} wheels")
    return built[0]


def install(
    wheel: Path,
    out: Path,
    *,
    base: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Write the environment of a wheel to ``out``; see `make`."""
    looked_at = None if base == "none" else base or BASE
    _clear(out)
    reasons: list[str] = []
    if looked_at in environments.names():
        installed = environments.build(looked_at, say=say)
        files = wheel.parent.with_name("files")
        unpack(wheel, files)
        reasons = obstacles(wheel, files, installed)
        if not reasons:
            libraries.write_overlay(looked_at, files, out)
            return [
                f"{out}: {wheel.name} in front of {looked_at}, which has what it needs"
            ]
    elif looked_at is not None:
        reasons = [f"{looked_at} does not come with matsmith"]
    say("choosing versions")
    (out / "wheels").mkdir()
    shutil.copyfile(wheel, out / "wheels" / wheel.name)
    _pin([f"./wheels/{wheel.name}"], base, out)
    made = f"{out}: {wheel.name} and what it needs, installed when it is first used"
    return [made, *(f"  not in front of {looked_at}: {reason}" for reason in reasons)]


def require(requirement: str, out: Path, *, base: str | None = None) -> None:
    """Write the environment of a distribution that an index has, with what it and ``base`` need."""
    _clear(out)
    _pin([requirement], base, out)


def _clear(out: Path) -> None:
    """Remove what an earlier call wrote: it could have been the other kind."""
    out.mkdir(parents=True, exist_ok=True)
    for name in (
        environments.DESCRIPTION,
        "requirements.lock",
        "requirements.in",
        "python",
    ):
        (out / name).unlink(missing_ok=True)
    for name in ("wheels", environments.PACKAGES):
        shutil.rmtree(out / name, ignore_errors=True)


def unpack(wheel: Path, folder: Path) -> None:
    """Write the files of a wheel, as files (also what it calls a link), up to a limit."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            size = sum(item.file_size for item in archive.infolist())
            if size <= MOST_UNPACKED:
                archive.extractall(folder)
    except Exception as error:  # noqa: BLE001 - whatever a hostile archive makes its readers raise
        raise SandboxError(
            f"{wheel.name}: cannot be unpacked ({printable(error)})"
        ) from None
    if size > MOST_UNPACKED:
        raise SandboxError(
            f"{wheel.name}: larger than {MOST_UNPACKED >> 20} MB unpacked"
        )


def obstacles(wheel: Path, files: Path, base: environments.Environment) -> list[str]:
    """Why a wheel, unpacked in ``files``, cannot lie in front of ``base``; empty when it can."""
    reasons = []
    if not wheel.name.endswith("-none-any.whl"):
        reasons.append("it has compiled parts, or is for one version of Python only")
    there = {path.name for path in base.packages.iterdir()}
    for path in sorted(files.iterdir()):
        if path.name in there:
            reasons.append(f"{base.name} has a {path.name!r} too")
        elif path.suffix in {".data", ".pth"}:
            reasons.append(f"{path.name!r} has to be installed")
    ask = [
        "pip",
        "install",
        "--dry-run",
        "--offline",
        "--no-index",
        "--no-build",
        str(wheel),
    ]
    version = f"{base.python.removeprefix('python')}.99"  # any release of that version will do
    ask += ["--python-platform", "linux", "--python-version", version]
    # Not by the base's own interpreter: a package could have itself started by that.
    ask += ["--python", sys.executable, "--target", str(base.packages)]
    try:
        environments.uv(ask, wheel.parent, COLUMNS="1000")
    except SandboxError as error:
        message = " ".join(str(error).split())
        cause = next(filter(None, (each.search(message) for each in _CAUSES)), None)
        reasons.append(
            f"{base.name} does not have what it needs: {cause[0] if cause else message}"
        )
    return [printable(reason) for reason in reasons]


def _pin(wanted: Sequence[str], base: str | None, out: Path) -> None:
    """Write an environment's folder: what is wanted with the packages of ``base``, in versions."""
    warmup, options = (
        '"""Nothing is imported ahead of a run."""\n',
        ["--only-binary", ":all:"],
    )
    if base not in {None, "none"}:
        lock = environments.lock_file(base)
        wanted = [*wanted, *(lock.parent / "requirements.in").read_text().split("\n")]
        options = [*environments.build_options(base), "--constraint", str(lock)]
        warmup = environments.warmup(base) or warmup
        if (python := environments.wanted_python(base)) is not None:
            (out / "python").write_text(python + "\n")
    (out / "requirements.in").write_text("\n".join(wanted).strip() + "\n")
    resolve = ["pip", "compile", "--quiet", "--generate-hashes", "--no-emit-index-url"]
    resolve += [
        "--no-header",
        *options,
        "requirements.in",
        "--output-file",
        "requirements.lock",
    ]
    environments.uv(resolve, out)
    (out / "warmup.py").write_text(warmup)


async def _build_inside(about: Project, copy: Path, tools: Path) -> tuple[str, bytes]:
    """Call the project's build backend in a sandbox, with the tools that it asks for."""
    requires = list(about.requires)
    version = about.tag_version or UNKNOWN_VERSION
    while True:
        _clear(tools)
        _pin(requires, None, tools)
        config = SandboxConfig(
            env=str(tools),
            workers=1,
            memory_mb=4096,
            disk_mb=1024,
            options={"warmup": False},
        )
        arguments = [
            about.backend,
            list(about.backend_paths),
            requires,
            _EPOCH,
            version,
        ]
        mounts = [Mount(copy, "project")]
        async with get_sandbox(config) as sandbox:
            done = await sandbox.call(
                build_backend.__name__,
                build_backend.build.__name__,
                arguments,
                timeout=_SECONDS,
                mounts=mounts,
            )
        result = done.result
        if done.outcome is not Outcome.OK or not isinstance(result, dict):
            raise SandboxError(
                f"project={about.folder}: the build in the sandbox ended with {done.outcome}:"
                f"\n{printable((done.error or done.stderr)[-2000:])}\nIf it needs something"
                " that the sandbox lacks and you trust it, use build=host"
            )
        match result:
            case {"more": [*more]} if len(requires) < _MOST_TOOLS:
                requires += [str(requirement) for requirement in more]
            case {"name": str(name), "wheel": bytes(wheel)} if _WHEEL.fullmatch(name):
                return name, wheel
            case _:
                raise SandboxError(f"project={about.folder}: the build gave no wheel")


class EnvironmentOptions(BaseModel, extra="forbid"):
    """Arguments of ``matsmith environment``."""

    project: Path = Field(description="folder of a project that pip can build")
    out: Path = Field(description="folder to write")
    base: str | None = Field(
        None,
        description="environment whose packages it may use; live where it fits, or none",
    )
    build: Literal["sandbox", "host"] = Field(
        "sandbox", description="where its build runs"
    )


def _action(options: EnvironmentOptions) -> int:
    def say(line: str) -> None:
        print(printable(line), file=sys.stderr)

    out, on_host = options.out, options.build == "host"
    print(
        *make(options.project, out, base=options.base, on_host=on_host, say=say),
        sep="\n",
    )
    print(f"Use it as env={out if '/' in str(out) else f'./{out}'}")
    return 0


main = Command("matsmith environment", str(__doc__), EnvironmentOptions, _action)
