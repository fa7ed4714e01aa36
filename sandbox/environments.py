"""What is importable inside the sandbox: one pinned virtual environment per folder of ``envs``.

``envs/<name>/requirements.lock`` (versions and hashes), ``warmup.py`` (what a worker executes
once) and, where not every Python will do, ``python`` (the version to use). Built into the
cache, keyed by the content of the lock file and the Python version; building again is free.

A name with a slash in it is the path of such a folder elsewhere (``matsmith environment`` makes
one for a package of the user's own); its lock file may name wheels beside it. Or it is an
*overlay*: ``overlay.json`` names one of these environments, and ``packages/`` beside it holds files
that lie in front of it, which the sandbox shows read-only. Nothing of them is installed. Where
``documented/`` lies there too, documents are read from that: the same packages with all that the
sandbox must not show (docstrings, comments).

Whoever wrote such a folder must not get code to run on the host by it: only wheels are unpacked,
and no interpreter that would see them is started here. What has to run (compiling, warm-up,
imports) runs in a sandbox.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from filelock import FileLock
from platformdirs import user_cache_path

from matsmith.core.terminal import printable
from sandbox.base import SandboxError

ENVS = Path(__file__).parent / "envs"
SYSTEM = "/usr"  # the base of a Python that the system's folders already show
DESCRIPTION, PACKAGES, DOCUMENTED = "overlay.json", "packages", "documented"
IN_FRONT = "/own"  # where the sandbox shows the packages of an overlay
INSIDE = "inside.cfg"  # pyvenv.cfg as it must read inside
STAMP = ".complete.json"
CURRENT = "{}.{}".format(*sys.version_info)
OWN = "own files"
#: In a project's folder, but none of its sources.
UNWANTED = (".git", ".venv", "venv", "build", "dist", "*.egg-info", "__pycache__")
_COMPILED = "__pycache__"
_DOTTED = re.compile(r"[A-Za-z_]\w{0,99}(\.[A-Za-z_]\w{0,99}){0,9}")
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
        return _site(self.folder)


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
            for path in _files(folder):
                data, name = path.read_bytes(), path.relative_to(folder).as_posix()
                digest.update(f"\0{name}\0{len(data)}\0".encode() + data)
        return digest.hexdigest()


def cache_folder() -> Path:
    """``$MATSMITH_CACHE``, else the user's cache (``~/.cache/matsmith`` on Linux); absolute.

    Nobody else may enter it. A folder that the user chose, and that was there before, keeps its
    mode.
    """
    chosen = os.environ.get("MATSMITH_CACHE")
    folder = Path(chosen or user_cache_path("matsmith", appauthor=False)).expanduser().resolve()
    with contextlib.suppress(OSError):  # whoever writes there says why that cannot be
        if not folder.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        elif not chosen and folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
    return folder


def names() -> list[str]:
    """The environments there are."""
    return sorted(path.parent.name for path in ENVS.glob("*/requirements.lock"))


def overlay(
    name: str,
    *,
    base: str = "live",
    folder: Path,
    warmup: str = "",
    documented: Path | None = None,
) -> str:
    """Register the environment that has the packages of ``folder`` in front of those of ``base``.

    Nothing is installed: a copy of the folder is kept in the cache under its content. None of its
    packages may be in ``base`` too. ``warmup`` is source that a worker executes after the base's
    own, ``documented`` the same packages as documents are read of them (`None`: ``folder``).
    Returns its name, wherever an environment is asked for.
    """
    if _DOTTED.fullmatch(name) is None:
        raise SandboxError(f"package {printable(name)!r}: the name of an import package is needed")
    lock_file(base)
    content = Overlay(base, folder, documented or folder).digest + warmup
    key = hashlib.sha256(content.encode()).hexdigest()[:12]
    target = cache_folder() / "overlays" / f"{name}-{key}"
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with FileLock(target.with_name(f"{target.name}.lock")):
        if not (target / DESCRIPTION).is_file():
            write_overlay(base, folder, target, warmup=warmup, documented=documented)
    return str(target)


def write_overlay(
    base: str, packages: Path, folder: Path, *, warmup: str = "", documented: Path | None = None
) -> None:
    """Describe an overlay in ``folder``, with a copy of the packages, replacing an earlier one."""
    folder.mkdir(parents=True, exist_ok=True)
    unwanted = shutil.ignore_patterns(_COMPILED)
    for name, source in ((PACKAGES, packages), (DOCUMENTED, documented)):
        if source is not None and not list(_files(source)):
            raise SandboxError(f"{printable(source)}: no package in there")
        target = folder / name
        shutil.rmtree(target, ignore_errors=True)
        if source is not None:
            shutil.copytree(source, target, ignore=unwanted, copy_function=shutil.copyfile)
            for path in (target, *target.rglob("*")):  # whichever user reads it inside
                path.chmod(0o755 if path.is_dir() else 0o644)
    (folder / "warmup.py").write_text(warmup)
    (folder / DESCRIPTION).write_text(json.dumps({"base": base}) + "\n")  # last: it is complete


def _files(packages: Path) -> Iterator[Path]:
    """Every file but bytecode, sorted; a link would be read on the host."""
    for place, folders, files in os.walk(packages):
        folders[:] = sorted(name for name in folders if name != _COMPILED)
        paths = [Path(place, name) for name in (*folders, *sorted(files))]
        for path in (packages, *paths):
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                raise SandboxError(f"{printable(path)}: only files and folders, no links")
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
    found = _overlay(name)
    if found is None:
        return None
    list(_files(found.packages))  # raises where one is a link, which would show the host
    return found.packages


def lock_file(name: str) -> Path:
    """The lock file of what is installed; raises :class:`SandboxError` for an unknown name."""
    found = _overlay(name)
    name = name if found is None else found.base
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
    """Source that a worker of this environment executes once."""
    folder = lock_file(name).parent
    if (imports := folder / "imports").is_file():
        lines = [f"import {module}\n" for module in imports.read_text().split()]
        text = "".join(lines) + (ENVS / "warmup.py").read_text()
    else:
        text = (folder / "warmup.py").read_text()
    if _overlay(name) is not None:
        own = Path(name).expanduser() / "warmup.py"
        text += "\n" + (own.read_text() if own.is_file() else "")  # it may be made by hand
    return text


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
    found, lock = _overlay(name), lock_file(name)
    if found is not None:
        place = found.packages.parent.name
        content = f"{folder(found.base)}\0{found.packages}\0{found.digest}".encode()
    else:
        place = lock.parent.name
        content = lock.read_bytes() + (wanted_python(name) or CURRENT).encode()
    key = hashlib.sha256(content).hexdigest()[:12]
    # The same packages under another name, in another folder, are not installed again.
    built = (s.parent for s in (cache_folder() / "envs").glob(f"*-{key}/{STAMP}"))
    return min(built, default=cache_folder() / "envs" / f"{place}-{key}")


def build(name: str, *, say: Callable[[str], None] = lambda _: None) -> Environment:
    """Build the environment unless it is there; ``say`` is called with each line of progress."""
    target, found = folder(name), _overlay(name)
    base = None if found is None else build(found.base, say=say)
    target.parent.mkdir(parents=True, exist_ok=True)
    stamp = target / STAMP
    with FileLock(target.with_name(f"{target.name}.lock")):  # a second builder waits
        facts = json.loads(stamp.read_text()) if stamp.exists() else None
        # The Python that it was made from may be gone.
        if facts is None or not Path(facts["prefix"], "bin", facts["python"]).exists():
            shutil.rmtree(target, ignore_errors=True)
            facts = _link(found, base, target) if found and base else _install(name, target, say)
            facts["packages"] = _distributions(_site(target)) | facts["packages"]
            unfinished = target / "stamp.json"
            unfinished.write_text(json.dumps(facts, indent=1))
            unfinished.rename(stamp)  # last: a half-built environment has no stamp
    if found is not None and base is not None:
        return replace(base, name=name, own=found.packages)
    return Environment(name, target, Path(facts["prefix"]), facts["base"], facts["python"])


def _site(target: Path) -> Path:
    return next(target.glob("lib/python3*/site-packages"))


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
    made = re.search("^home *= *(.+)$", (target / "pyvenv.cfg").read_text(), re.MULTILINE)
    assert made is not None
    prefix = str(Path(made[1]).parent)
    say("installing the pinned packages")
    install = ["pip", "install", *options, "--require-hashes", "--python", str(target)]
    with tempfile.TemporaryDirectory() as folder:  # no uv.toml of the folder has a say
        copy = Path(shutil.copy(lock, folder))
        if (lock.parent / "wheels").is_dir():  # wheels are named from there
            shutil.copytree(lock.parent / "wheels", copy.parent / "wheels")
        uv([*install, "--requirement", str(copy)], copy.parent)
    base = SYSTEM if prefix == SYSTEM else "/python"
    inside = target / INSIDE
    inside.write_text(f"home = {base}/bin\ninclude-system-site-packages = false\n")
    inside.chmod(0o644)
    return {"prefix": prefix, "base": base, "python": _site(target).parent.name, "packages": {}}


def _link(found: Overlay, base: Environment, target: Path) -> dict[str, Any]:
    """Make the folder of an overlay: one ``site-packages`` that shows both, for who reads it.

    It holds links to the own packages and to everything else in ``base``, as if installed.
    """
    shown = {path.name: path for path in base.packages.iterdir()}
    for path in sorted(found.documented.iterdir()):
        if shown.setdefault(path.name, path) != path and path.name != _COMPILED:
            raise SandboxError(
                f"{printable(path)}: the environment {found.base!r} has a package of that name;"
                " rename yours"
            )
    site = target / base.packages.relative_to(base.folder)
    site.mkdir(parents=True)
    for name in shown.keys() - {_COMPILED}:
        (site / name).symlink_to(shown[name])
    facts = json.loads((base.folder / STAMP).read_text())
    return {**facts, "packages": {OWN: found.digest[:12]}}


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
            key = re.sub(r"[-_.]+", "-", name[1]).lower()
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


def uv(
    arguments: list[str], folder: Path | None = None, *, hint: str = "", **variables: str
) -> None:
    """Run uv in a folder; raises :class:`SandboxError` with the end of what it said."""
    known = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    command = [sys.executable, "-m", "uv", *arguments]
    done = execute(command, env=known | variables, umask=0o022, cwd=folder)
    if done.returncode != 0:
        lines = "\n".join(done.stderr.strip().splitlines()[-12:])
        what = f"uv {' '.join(arguments[:2])} failed:\n{lines}"
        raise SandboxError("\n".join(filter(None, [what, hint])))


def execute(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a fixed program to its end, and take what it writes; see `subprocess.run`."""
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # noqa: S603


def site_packages(name: str) -> Path:
    """A folder that shows all packages of the environment, built if need be."""
    build(name)
    return _site(folder(name))


def source_folders(name: str) -> tuple[Path, ...]:
    """Where the packages really lie, in the order of imports: own ones, then the installed."""
    environment = build(name)
    return tuple(filter(None, (environment.own, environment.packages)))


def installed_versions(name: str) -> Mapping[str, str]:
    """Distribution name (lower case, dashes) to version, for everything in the environment.

    An overlay also has ``OWN``: the digest of its own files, which need not carry a version.
    """
    build(name)
    packages: dict[str, str] = json.loads((folder(name) / STAMP).read_text())["packages"]
    return packages


def _distributions(site: Path) -> dict[str, str]:
    found = importlib.metadata.distributions(path=[str(site)])
    pairs = ((re.sub(r"[-_.]+", "-", item.name).lower(), item.version) for item in found)
    return dict(sorted(pairs))
