"""What is importable inside the sandbox: one pinned virtual environment per folder of ``envs``.

``envs/<name>/requirements.lock`` (versions and hashes), ``warmup.py`` (what a worker executes
once) and, where not every Python will do, ``python`` (the version to use). Built into the
cache, keyed by the content of the lock file and the Python version; building again is free.

A name with a slash in it is the path of such a folder elsewhere (``python -m sandbox.own`` makes
one for a package of the user's own); its lock file may name wheels beside it. Or it is an
*overlay* (``sandbox.overlays``): a folder of packages in front of one of these environments.

Whoever wrote such a folder must not get code to run on the host by it: only wheels are unpacked,
and no interpreter that would see them is started here. What has to run (compiling, warm-up,
imports) runs in a sandbox.
"""

from __future__ import annotations

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from sandbox import overlays
from sandbox.base import SandboxError
from sandbox.terminal import printable

ENVS = Path(__file__).parent / "envs"
SYSTEM = "/usr"  # the base of a Python that the system's folders already show
INSIDE = "inside.cfg"  # pyvenv.cfg as it must read inside
STAMP = ".complete.json"
OWN = "own files"
_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")
_PIN = re.compile(r"([A-Za-z0-9][\w.-]*)\s*==")
_WHEEL = re.compile(r"([A-Za-z0-9][\w.-]*\s*@\s*)?\S+\.whl(\s|$)")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Environment:
    """A built environment.

    Attributes
    ----------
    name, folder
        Folder of ``envs``; the virtual environment on the host.
    prefix, base
        Base prefix of its interpreter on the host, and where the sandbox shows it.
    python
        File name of the interpreter, ``python3.11``.
    own
        Of an overlay: the folder of packages in front; ``folder`` is then its base's.
    """

    name: str
    folder: Path
    prefix: Path
    base: str
    python: str
    own: Path | None = None

    @property
    def packages(self) -> Path:
        """The folder of the installed packages."""
        return self.folder / "lib" / self.python / "site-packages"


def cache_folder() -> Path:
    """``$MATSMITH_CACHE``, else the user's cache (``~/.cache/matsmith`` on Linux); absolute."""
    chosen = os.environ.get("MATSMITH_CACHE") or user_cache_path("matsmith", appauthor=False)
    return Path(chosen).expanduser().resolve()


def names() -> list[str]:
    """The environments there are."""
    return sorted(path.parent.name for path in ENVS.glob("*/requirements.lock"))


def overlay(name: str, *, base: str = "live", folder: Path, warmup: str = "") -> str:
    """Register the environment that has the packages of ``folder`` in front of those of ``base``.

    Nothing is installed: a copy of the folder is kept in the cache under its content.

    Parameters
    ----------
    name
        What the folder in the cache is called, for people.
    base
        One of :func:`names`.
    folder
        Holds import packages and modules, none of which ``base`` has too.
    warmup
        Source that a worker executes after the base's own.

    Returns
    -------
    name
        Of the environment, wherever one is asked for.

    Raises
    ------
    SandboxError
        When ``base`` is unknown, or the folder is empty or holds links.
    """
    lock_file(base)
    return str(overlays.register(base, folder, cache_folder() / "overlays" / name, warmup=warmup))


def _overlay(name: str) -> overlays.Overlay | None:
    """The overlay of that name, ``None`` for an environment that is installed."""
    place = Path(name).expanduser().resolve()
    return overlays.read(place) if "/" in name and overlays.is_overlay(place) else None


def own_packages(name: str) -> Path | None:
    """Of an overlay: its own packages on the host."""
    found = _overlay(name)
    return None if found is None else found.packages


def base_of(name: str) -> str:
    """The environment that is installed: of an overlay its base, else the very same."""
    found = _overlay(name)
    return name if found is None else found.base


def lock_file(name: str) -> Path:
    """The lock file of what is installed; raises :class:`SandboxError` for an unknown name."""
    name = base_of(name)
    if "/" in name:
        path = Path(name).expanduser().resolve() / "requirements.lock"
        if not path.is_file():
            raise SandboxError(
                f"no environment in {name}: make one there with `python -m sandbox.own`"
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
    text = (lock_file(name).parent / "warmup.py").read_text()
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
    found = _overlay(name)
    if found is not None:
        content = f"{folder(found.base)}\0{found.packages}\0{found.digest}"
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        return cache_folder() / "envs" / f"{found.packages.parent.name}-{digest}"
    lock = lock_file(name)
    version = wanted_python(name) or "{}.{}".format(*sys.version_info)
    digest = hashlib.sha256(lock.read_bytes() + version.encode()).hexdigest()[:12]
    # The same packages under another name, in another folder, are not installed again.
    built = (s.parent for s in (cache_folder() / "envs").glob(f"*-{digest}/{STAMP}"))
    return min(built, default=cache_folder() / "envs" / f"{lock.parent.name}-{digest}")


def build(name: str, *, say: Callable[[str], None] = lambda _: None) -> Environment:
    """Build the environment unless it is there.

    Parameters
    ----------
    name
        Folder of ``envs``, or a path.
    say
        Called with each line of progress.

    Raises
    ------
    SandboxError
        When no fitting Python is there, or a package cannot be installed.
    """
    target = folder(name)
    found = _overlay(name)
    if found is not None:
        installed = build(found.base, say=say)
        if not _usable(target):
            _link(found, installed, target)
        return replace(installed, name=name, own=found.packages)
    if _usable(target):
        return _load(name, target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.with_suffix(".lock")):  # a second builder waits, then finds it done
        if not _usable(target):
            shutil.rmtree(target, ignore_errors=True)
            _install(name, target, say)
    return _load(name, target)


def _usable(target: Path) -> bool:
    """Whether it is complete, and the Python it was made from is still there."""
    try:
        facts = json.loads((target / STAMP).read_text())
    except FileNotFoundError:
        return False
    return Path(facts["prefix"], "bin", facts["python"]).exists()


def _install(name: str, target: Path, say: Callable[[str], None]) -> None:
    lock = lock_file(name)
    options = build_options(name)
    if not lock.is_relative_to(ENVS):
        log.warning(
            "%s does not come with matsmith: its packages are being installed; they run only"
            " in the sandbox",
            printable(lock.parent),
        )
    python = wanted_python(name)
    current = "{}.{}".format(*sys.version_info)
    interpreter = sys.executable if python in {None, current} else str(python)
    say(f"Python {python or current}")
    _uv(
        ["venv", "--quiet", "--no-project", "--python", interpreter, str(target)],
        hint=f"the environment {name!r} needs Python {python}: install it (for example"
        f" `uv python install {python}`) and run the command again"
        if python
        else "",
    )
    # Asked while the environment is empty: a package could have itself started by any later start.
    describe = "import sys; print(sys.base_prefix, 'python%d.%d' % sys.version_info[:2])"
    answer = subprocess.run(  # noqa: S603 - our own interpreter
        [target / "bin/python", "-I", "-S", "-c", describe],
        capture_output=True,
        text=True,
        check=True,
    )
    prefix, binary = answer.stdout.rsplit(maxsplit=1)
    say("installing the pinned packages")
    install = ["pip", "install", *options, "--require-hashes", "--python", str(target)]
    with tempfile.TemporaryDirectory() as folder:  # no uv.toml of the folder has a say
        copy = Path(shutil.copy(lock, folder))
        if (lock.parent / "wheels").is_dir():  # wheels are named from there
            shutil.copytree(lock.parent / "wheels", copy.parent / "wheels")
        _uv([*install, "--requirement", str(copy)], folder=copy.parent)
    base = SYSTEM if prefix == SYSTEM else "/python"
    inside = f"home = {base}/bin\ninclude-system-site-packages = false\n"
    (target / INSIDE).write_text(inside)
    (target / INSIDE).chmod(0o644)
    facts = {"prefix": prefix, "base": base, "python": binary, "packages": _distributions(target)}
    _stamp(target, facts)


def _link(found: overlays.Overlay, installed: Environment, target: Path) -> None:
    """Make the folder of an overlay: one ``site-packages`` that shows both, for who reads it."""
    unfinished = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
    try:
        packages = unfinished / installed.packages.relative_to(installed.folder)
        overlays.link(found, installed.packages, packages)
        facts = json.loads((installed.folder / STAMP).read_text())
        facts["packages"] = _distributions(unfinished) | {OWN: found.digest[:12]}
        _stamp(unfinished, facts)
    except BaseException:
        shutil.rmtree(unfinished)
        raise
    overlays.publish(unfinished, target)


def _stamp(target: Path, facts: Mapping[str, object]) -> None:
    unfinished = target / "stamp.json"
    unfinished.write_text(json.dumps(facts, indent=1))
    unfinished.rename(target / STAMP)  # last: a half-built environment has no stamp


def _pins(lock: Path) -> dict[str, set[str]]:
    """Names of the packages in a lock file, with their hashes; wheels by their file.

    Raises
    ------
    SandboxError
        When it holds anything else: options, paths of sources, editable projects.
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
                " regenerate the file with `python -m sandbox.own`"
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


def _uv(arguments: list[str], hint: str = "", folder: Path | None = None) -> None:
    command = [sys.executable, "-m", "uv", *arguments]
    variables = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    done = subprocess.run(  # noqa: S603 - fixed program
        command, capture_output=True, text=True, check=False, env=variables, umask=0o022, cwd=folder
    )
    if done.returncode != 0:
        lines = "\n".join(done.stderr.strip().splitlines()[-12:])
        raise SandboxError("\n".join(filter(None, [f"uv {arguments[0]} failed: {lines}", hint])))


@cache
def _load(name: str, target: Path) -> Environment:
    facts = json.loads((target / STAMP).read_text())
    return Environment(name, target, Path(facts["prefix"]), facts["base"], facts["python"])


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
    packages: dict[str, str] = json.loads((folder(name) / STAMP).read_text())["packages"]
    return packages


def _distributions(target: Path) -> dict[str, str]:
    site = next(target.glob("lib/python3*/site-packages"))
    found = importlib.metadata.distributions(path=[str(site)])
    pairs = ((re.sub(r"[-_.]+", "-", item.name).lower(), item.version) for item in found)
    return dict(sorted(pairs))
