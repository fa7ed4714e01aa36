"""What is importable inside the sandbox: one pinned virtual environment per folder of ``envs``.

Each has a ``requirements.lock`` (versions and hashes), ``imports`` or ``warmup.py`` (what a worker
executes once) and, where not every Python will do, ``python`` (the version). It is built into the
cache, keyed by the lock file and the Python version.

A name with a slash in it is the path of such a folder elsewhere (`sandbox.own` makes it), with
wheels beside the lock file. Or it is an *overlay*: ``overlay.json`` names one of these
environments, and ``packages/`` holds files that lie in front of it, which the sandbox shows
read-only; nothing of them is installed. Documents are read from ``documented/`` where that lies
there too: the same packages with all that the sandbox must not show (docstrings, comments).

Whoever wrote such a folder must not get code to run on the host by it: only wheels are unpacked,
and no interpreter that would see them is started here. What has to run (compiling, warm-up,
imports) runs in a sandbox.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from filelock import FileLock
from platformdirs import user_cache_path

from foundation.terminal import printable
from sandbox import stoppable
from sandbox.base import SandboxError

ENVS = Path(__file__).parent / "envs"
SYSTEM = "/usr"  # the base of a Python that the system's folders already show
DESCRIPTION, PACKAGES, DOCUMENTED = "overlay.json", "packages", "documented"
IN_FRONT = "/own"  # where the sandbox shows the packages of an overlay
INSIDE = "inside.cfg"  # pyvenv.cfg as it must read inside
STAMP, BYTECODE = ".complete.json", ".bytecode"  # it is complete; it is compiled
CURRENT = "{}.{}".format(*sys.version_info)
OWN = "own files"
COMPILED = "__pycache__"
#: What lies in a project's folder and is none of its sources.
unwanted = shutil.ignore_patterns(
    ".git", ".venv", "venv", "build", "dist", "*.egg-info", COMPILED
)
_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")
_PIN = re.compile(r"([A-Za-z0-9][\w.-]*)\s*==")
_WHEEL = re.compile(r"([A-Za-z0-9][\w.-]*\s*@\s*)?\S+\.whl(\s|$)")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Environment:
    """A built environment."""

    name: str
    folder: Path  # the virtual environment on the host; of an overlay, its base's
    prefix: Path  # of its interpreter's installation, on the host
    base: str  # where the sandbox shows that
    python: str  # file name of the interpreter, ``python3.11``
    own: Path | None = None  # of an overlay: the folder of packages in front

    @property
    def packages(self) -> Path:
        """The folder of the installed packages."""
        return self.folder / "lib" / self.python / "site-packages"


@dataclass(frozen=True)
class Overlay:
    """What lies in front of which environment: folders on the host, mostly one and the same."""

    base: str
    packages: Path
    documented: Path

    @property
    def digest(self) -> str:
        """Of the base's name, and of path and content of every file."""
        digest = hashlib.sha256(self.base.encode())
        for folder in dict.fromkeys((self.packages, self.documented)):
            for path in files(folder):
                data, name = path.read_bytes(), path.relative_to(folder).as_posix()
                digest.update(f"\0{name}\0{len(data)}\0".encode() + data)
        return digest.hexdigest()


def cache_folder() -> Path:
    """``$MATSMITH_CACHE``, else the user's cache (``~/.cache/matsmith`` on Linux); absolute.

    Nobody else may enter it. A folder that the user chose, and that was there before, keeps its
    mode.
    """
    chosen = os.environ.get("MATSMITH_CACHE")
    folder = (
        Path(chosen or user_cache_path("matsmith", appauthor=False))
        .expanduser()
        .resolve()
    )
    with contextlib.suppress(OSError):  # whoever writes there says why that cannot be
        if not folder.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        elif not chosen and folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
    return folder


def names() -> list[str]:
    """The environments there are."""
    return sorted(path.parent.name for path in ENVS.glob("*/requirements.lock"))


def files(packages: Path) -> Iterator[Path]:
    """Every file but bytecode, sorted; raises where there is a link: it would be read here."""
    for place, folders, files in os.walk(packages):
        folders[:] = sorted(name for name in folders if name != COMPILED)
        paths = [Path(place, name) for name in (*folders, *sorted(files))]
        for path in (packages, *paths):
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                raise SandboxError(
                    f"{printable(path)}: only files and folders, no links"
                )
        yield from filter(Path.is_file, paths)


def _overlay(name: str) -> Overlay | None:
    """The overlay of that name, ``None`` for an environment that is installed."""
    place = Path(name).expanduser().resolve()
    file, packages = place / DESCRIPTION, place / PACKAGES
    if "/" not in name or not file.is_file():
        return None
    try:
        base = json.loads(file.read_text(encoding="utf-8"))["base"]
        if not isinstance(base, str) or "/" in base:  # only what comes with matsmith
            raise TypeError  # noqa: TRY301
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise SandboxError(
            f'{file}: not {{"base": NAME}}; make the environment again with `matsmith environment`'
        ) from None
    documented = place / DOCUMENTED if (place / DOCUMENTED).is_dir() else packages
    return Overlay(base, packages, documented)


def own_packages(name: str) -> Path | None:
    """Of an overlay: its own packages on the host; a container is shown them as they are."""
    overlay = _overlay(name)
    if overlay is None:
        return None
    list(
        files(overlay.packages)
    )  # raises where one is a link, which would show the host
    return overlay.packages


def lock_file(name: str) -> Path:
    """The lock file of what is installed; raises :class:`SandboxError` for an unknown name."""
    overlay = _overlay(name)
    name = name if overlay is None else overlay.base
    if "/" in name:
        path = Path(name).expanduser().resolve() / "requirements.lock"
        if not path.is_file():
            raise SandboxError(
                f"no environment in {name}: make one there with `matsmith environment`"
            )
        return path
    if name not in names():
        listed = ", ".join(names())
        raise SandboxError(
            f"no environment {name!r}; there are: {listed}, or a path (./{name}) of your own"
        )
    return ENVS / name / "requirements.lock"


def warmup(name: str) -> str:
    """Source that a worker of this environment executes once; a folder made by hand needs none."""
    folder, texts = lock_file(name).parent, []
    if (imports := folder / "imports").is_file():
        texts = [f"import {module}" for module in imports.read_text().split()]
        folder = ENVS
    sources = [folder, *([Path(name).expanduser()] if _overlay(name) else [])]
    files = [source / "warmup.py" for source in sources]
    return "\n".join([*texts, *(file.read_text() for file in files if file.is_file())])


def wanted_python(name: str) -> str | None:
    """The Python version that the lock file is for, ``None`` when any supported one will do."""
    file = lock_file(name).parent / "python"
    if not file.exists():
        return None
    version = file.read_text().strip()
    if _VERSION.fullmatch(version) is None:  # uv would start a program of that name
        raise SandboxError(f"{file}: contains no Python version such as 3.11")
    return version


def folder(name: str) -> Path:
    """Where the environment is, or will be, built; of an overlay, only links are there."""
    overlay, lock = _overlay(name), lock_file(name)
    if overlay is not None:
        place = overlay.packages.parent
        content = (
            f"{folder(overlay.base)}\0{overlay.packages}\0{overlay.digest}".encode()
        )
    else:
        place, content = (
            lock.parent,
            lock.read_bytes() + (wanted_python(name) or CURRENT).encode(),
        )
    key = hashlib.sha256(content).hexdigest()[:12]
    # The same packages under another name, in another folder, are not installed again.
    built = (s.parent for s in (cache_folder() / "envs").glob(f"*-{key}/{STAMP}"))
    return min(built, default=cache_folder() / "envs" / f"{place.name}-{key}")


def build(name: str, *, say: Callable[[str], None] = lambda _: None) -> Environment:
    """Build the environment unless it is there; ``say`` is called with each line of progress."""
    target, overlay = folder(name), _overlay(name)
    base = None if overlay is None else build(overlay.base, say=say)
    target.parent.mkdir(parents=True, exist_ok=True)
    stamp = target / STAMP
    with FileLock(target.with_name(f"{target.name}.lock")):  # a second builder waits
        facts = json.loads(stamp.read_text()) if stamp.exists() else None
        if facts is None or _is_stale(facts, overlay):
            facts = _make(name, target, overlay, base, say)
    if overlay is not None and base is not None:
        return replace(base, name=name, own=overlay.packages)
    return Environment(
        name, target, Path(facts["prefix"]), facts["base"], facts["python"]
    )


def _make(
    name: str,
    target: Path,
    overlay: Overlay | None,
    base: Environment | None,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Build beside the place of the environment, and move it there when it is complete.

    A package could bring a stamp of its own, which nobody must read after a crash.
    """
    shutil.rmtree(target, ignore_errors=True)
    building = target.with_name(f"{target.name}.building")
    shutil.rmtree(building, ignore_errors=True)
    try:
        if overlay is not None and base is not None:
            facts = _link(overlay, base, building)
        else:
            facts = _install(name, building, say)
        facts["packages"] = (
            _distributions(building, facts["python"]) | facts["packages"]
        )
        (building / STAMP).write_text(json.dumps(facts, indent=1))
        building.rename(target)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return facts


def _is_stale(facts: Mapping[str, Any], overlay: Overlay | None) -> bool:
    """Whether the Python that it was made from is gone, or the packages that it links to."""
    if not Path(facts["prefix"], "bin", facts["python"]).exists():
        return True
    return overlay is not None and facts.get("documented") != str(overlay.documented)


def _install(name: str, target: Path, say: Callable[[str], None]) -> dict[str, Any]:
    lock = lock_file(name)
    options = build_options(name)
    if not lock.is_relative_to(ENVS):
        log.warning(
            "%s does not come with matsmith: its packages are being installed; they run only"
            " in the sandbox",
            printable(lock.parent),
        )
    wanted = wanted_python(name)
    say(f"Python {wanted or CURRENT}")
    hint = (
        f"the environment {name!r} needs Python {wanted}: install it (for example"
        f" `uv python install {wanted}`) and run the command again"
    )
    interpreter = sys.executable if wanted in {None, CURRENT} else str(wanted)
    make = ["venv", "--quiet", "--no-project", "--python", interpreter, str(target)]
    uv(make, hint=hint if wanted else "")
    home = re.findall(
        "^home *= *(.+)$", (target / "pyvenv.cfg").read_text(), re.MULTILINE
    )[0]
    prefix, python = str(Path(home).parent), next(target.glob("lib/python3*")).name
    made = _own_files(target)
    say("installing the pinned packages")
    install = ["pip", "install", *options, "--require-hashes", "--python", str(target)]
    with tempfile.TemporaryDirectory() as folder:  # no uv.toml of the folder has a say
        copy_lock(name, Path(folder))
        uv([*install, "--requirement", f"{folder}/{lock.name}"], Path(folder))
    _refuse_overwritten(name, target, python, made)
    base = SYSTEM if prefix == SYSTEM else "/python"
    inside = target / INSIDE
    inside.write_text(f"home = {base}/bin\ninclude-system-site-packages = false\n")
    inside.chmod(0o644)
    return {"prefix": prefix, "base": base, "python": python, "packages": {}}


def copy_lock(name: str, folder: Path) -> None:
    """Copy what an installer is given: the lock file, and the wheels that it names beside it."""
    lock = lock_file(name)
    shutil.copy(lock, folder)
    for wheel in sorted(
        (lock.parent / "wheels").glob("*.whl")
    ):  # no other file, no folder
        (folder / "wheels").mkdir(exist_ok=True)
        shutil.copy(wheel, folder / "wheels")


def _link(overlay: Overlay, base: Environment, target: Path) -> dict[str, Any]:
    """Make the folder of an overlay: one ``site-packages`` that shows both, for who reads it.

    It holds links to the own packages and to everything else in ``base``, as if installed.
    """
    entries = {path.name: path for path in base.packages.iterdir()}
    for path in sorted(overlay.documented.iterdir()):
        if entries.setdefault(path.name, path) != path and path.name != COMPILED:
            raise SandboxError(
                f"{printable(path)}: the environment {overlay.base!r} has a package of that name;"
                " rename yours"
            )
    site = target / base.packages.relative_to(base.folder)
    site.mkdir(parents=True)
    for name in entries.keys() - {COMPILED}:
        (site / name).symlink_to(entries[name])
    facts = json.loads((base.folder / STAMP).read_text())
    return {
        **facts,
        "packages": {OWN: overlay.digest[:12]},
        "documented": str(overlay.documented),
    }


def _pins(lock: Path) -> dict[str, set[str]]:
    """Names of the packages in a lock file, with their hashes.

    Besides, it may hold wheels, and nothing else: no options, sources, editable projects.
    """
    pins: dict[str, set[str]] = {}
    for line in lock.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        text = line.partition(" #")[0].strip()
        if not text or text.startswith("#"):
            continue
        name = _PIN.match(text)
        if name is None and _WHEEL.match(text) is None:
            raise SandboxError(
                f"{lock}: {printable(text[:60])!r} is neither name==version nor a wheel;"
                " regenerate the file with `matsmith environment`"
            )
        if name is not None:
            key = normal_name(name[1])
            pins.setdefault(key, set()).update(re.findall(r"--hash=(\S+)", text))
    return pins


def build_options(name: str) -> list[str]:
    """Options of an installer that refuse to build any package from source.

    Except what exists as source only and stands in matsmith's own lock files in the very same
    bytes: these few (``envs/*/sdists``) are built as by any installation of matsmith.
    """
    ours = {
        (package, digest)
        for file in ENVS.glob("*/sdists")
        for package in file.read_text().split()
        for digest in _pins(file.with_name("requirements.lock"))[package]
    }
    options = ["--only-binary", ":all:"]
    for package, digests in sorted(_pins(lock_file(name)).items()):
        if digests and all((package, digest) in ours for digest in digests):
            options += ["--no-binary", package]
    return options


class NoWheelError(SandboxError):
    """A package has only a source distribution here, and ``user`` needs it."""

    def __init__(self, package: str, user: str) -> None:
        self.package, self.user = package, user
        super().__init__(
            f"{user} needs {package}, which has no wheel for this Python; packages "
            "are not built from source here"
        )


class UnknownPackageError(SandboxError):
    """The index has no package of that name."""

    def __init__(self, package: str) -> None:
        self.package = package
        super().__init__(f"the index has no package {package!r}")


def normal_name(package: str) -> str:
    """The name of a distribution as indexes compare it."""
    return re.sub(r"[-_.]+", "-", package).lower()


#: What uv says of a package that has only a source distribution, and who needs it.
_NO_WHEEL = re.compile(
    r"(?:all versions of )?(\S+) ha(?:ve|s) no (?:usable )?wheels.{0,80}? and (\S+) depends on \1"
)


_UNKNOWN = re.compile(r"(\S+) was not found in the package registry")


def uv(
    arguments: list[str],
    folder: Path | None = None,
    *,
    hint: str = "",
    **variables: str,
) -> None:
    """Run uv in a folder; raises :class:`SandboxError` with the end of what it said."""
    inherited = {
        key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"
    }
    command = [sys.executable, "-m", "uv", *arguments]
    with tempfile.TemporaryDirectory() as temporary:  # uv leaves lock files in it
        environment = {**inherited, "TMPDIR": temporary, **variables}
        done = stoppable.execute(command, env=environment, umask=0o022, cwd=folder)
    if done.returncode != 0:
        said = " ".join(done.stderr.split())
        if (cause := _NO_WHEEL.search(said)) is not None:
            raise NoWheelError(cause[1], cause[2])
        if (absent := _UNKNOWN.search(said)) is not None:
            raise UnknownPackageError(absent[1])
        lines = "\n".join(done.stderr.strip().splitlines()[-12:])
        what = f"uv {' '.join(arguments[:2])} failed:\n{lines}"
        raise SandboxError("\n".join(filter(None, [what, hint])))


def site_packages(name: str) -> Path:
    """A folder that shows all packages of the environment, built if need be."""
    environment = build(name)
    return folder(name) / environment.packages.relative_to(environment.folder)


def source_folders(name: str) -> tuple[Path, ...]:
    """Where the packages really lie, in the order of imports: own ones, then the installed."""
    environment = build(name)
    return tuple(filter(None, (environment.own, environment.packages)))


def installed_versions(name: str) -> Mapping[str, str]:
    """Distribution name (lower case, dashes) to version, for everything in the environment.

    An overlay also has ``OWN``: the digest of its own files, which need not carry a version.
    """
    build(name)
    packages: dict[str, str] = json.loads((folder(name) / STAMP).read_text())[
        "packages"
    ]
    return packages


def _own_files(target: Path) -> dict[Path, tuple[int, ...]]:
    """What a virtual environment consists of, to see later whether it is still that."""
    paths = [target, *target.iterdir(), *(target / "bin").iterdir()]
    return {path: _identity(path) for path in paths if not path.is_dir()}


def _identity(path: Path) -> tuple[int, ...]:
    status = path.lstat()
    return (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns)


def _refuse_overwritten(
    name: str, target: Path, python: str, made: Mapping[Path, tuple[int, ...]]
) -> None:
    """Raise where packages put files in place of those of the environment itself."""
    reserved = [target / file for file in (STAMP, INSIDE, BYTECODE)]
    others = [path for path in target.glob("lib/python*") if path.name != python]
    overwritten = [
        path
        for path, identity in made.items()
        if not os.path.lexists(path) or _identity(path) != identity
    ]
    for path in [*reserved, *others, *overwritten]:
        if os.path.lexists(path):
            raise SandboxError(
                f"{printable(name)}: a package writes {printable(path.relative_to(target))},"
                " which belongs to the environment; remove it from requirements.lock"
            )


def _distributions(target: Path, python: str) -> dict[str, str]:
    versions = {}
    for info in sorted((target / "lib" / python / "site-packages").glob("*.dist-info")):
        name, version = distribution_of(info)
        versions[normal_name(name)] = version
    return versions


def distribution_of(info: Path) -> tuple[str, str]:
    """Name and version of a distribution, by the folder of its metadata.

    Installers name it after both; what is written in it is of any length and form.
    """
    name, _, version = info.name.removesuffix(".dist-info").partition("-")
    return printable(name), printable(version)
