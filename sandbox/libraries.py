"""Libraries of a user: packages in front of an environment, and what has been learnt, by name.

``matsmith learn`` writes environment, import names and questions below ``libraries`` in the cache
folder; whoever takes an environment can take one of these by its name.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock
from pydantic import BaseModel, ValidationError

from foundation.errors import UsageError
from foundation.terminal import printable
from sandbox import environments
from sandbox.base import SandboxError

_FILE = "library.json"
#: A distribution's name, which becomes that of a folder.
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,78}[A-Za-z0-9])?")
_DOTTED = re.compile(r"[A-Za-z_]\w{0,99}(\.[A-Za-z_]\w{0,99}){0,9}")


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
        raise SandboxError(
            f"package {printable(name)!r}: the name of an import package is needed"
        )
    environments.lock_file(base)
    content = environments.Overlay(base, folder, documented or folder).digest + warmup
    key = hashlib.sha256(content.encode()).hexdigest()[:12]
    target = environments.cache_folder() / "overlays" / f"{name}-{key}"
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with FileLock(target.with_name(f"{target.name}.lock")):
        if not (target / environments.DESCRIPTION).is_file():
            write_overlay(base, folder, target, warmup=warmup, documented=documented)
    return str(target)


def write_overlay(
    base: str,
    packages: Path,
    folder: Path,
    *,
    warmup: str = "",
    documented: Path | None = None,
) -> None:
    """Describe an overlay in ``folder``, with a copy of the packages, replacing an earlier one."""
    folder.mkdir(parents=True, exist_ok=True)
    unwanted = shutil.ignore_patterns(environments.COMPILED)
    for name, source in (
        (environments.PACKAGES, packages),
        (environments.DOCUMENTED, documented),
    ):
        if source is not None and not list(environments.files(source)):
            raise SandboxError(f"{printable(source)}: no package in there")
        target = folder / name
        shutil.rmtree(target, ignore_errors=True)
        if source is not None:
            shutil.copytree(
                source, target, ignore=unwanted, copy_function=shutil.copyfile
            )
            for path in (target, *target.rglob("*")):  # whichever user reads it inside
                path.chmod(0o755 if path.is_dir() else 0o644)
    (folder / "warmup.py").write_text(warmup)
    description = json.dumps({"base": base}) + "\n"
    (folder / environments.DESCRIPTION).write_text(description)  # last: it is complete


class Learnt(BaseModel, extra="forbid", frozen=True):
    """A library that has been learnt."""

    name: str
    source: str  # folder of the project, or the requirement that was installed
    base: str | None = None  # this, build and tests as given to ``matsmith learn``
    build: str = "sandbox"
    tests: str | None = None
    packages: tuple[str, ...]  # import names
    versions: dict[str, str | None]  # of the distributions that hold them
    digest: str = ""  # of the project's sources; empty for what was installed by name
    symbols: int  # documents
    questions: int = 0
    unread: tuple[str, ...] = ()  # source files that cannot be read, with the reason
    import_error: str = ""  # why its packages cannot be imported, empty where they can

    @property
    def folder(self) -> Path:
        """Where it is kept."""
        return folder_of(self.name)

    @property
    def env(self) -> str:
        """Its environment, as `sandbox.environments` takes it."""
        return str(self.folder / "env")

    @property
    def tasks(self) -> Path:
        """Folder of the questions that its tests gave."""
        return self.folder / "tasks"

    @property
    def changed(self) -> bool:
        """Whether the project's sources are other ones by now."""
        project = Path(self.source)
        return (
            bool(self.digest) and project.is_dir() and digest_of(project) != self.digest
        )

    def save(self, folder: Path) -> None:
        """Write what is known of it into the folder that becomes its own (`staged`)."""
        (folder / _FILE).write_text(self.model_dump_json(indent=1), encoding="utf-8")


def folder_of(name: str) -> Path:
    """Where a library of that name is kept; raises `UsageError` for what is no name."""
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"library {name[:80]!r}: not the name of a distribution (a-z, 0-9, ._-)"
        )
    return environments.cache_folder() / "libraries" / name


@contextmanager
def staged(name: str) -> Iterator[Path]:
    """An empty folder that becomes that of the library when the block ends well.

    Until then, and whatever ends the block otherwise, what was learnt before stays in use. A crash
    in the middle of the exchange is mended by the next who looks.
    """
    target = folder_of(name)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    staging, previous = _beside(target, "new"), _beside(target, "old")
    with FileLock(_beside(target, "lock")):
        _mend(target)
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(mode=0o700)
        try:
            yield staging
            if target.exists():
                target.rename(previous)
            staging.rename(target)
        finally:
            _mend(target)
            shutil.rmtree(staging, ignore_errors=True)


def _beside(target: Path, kind: str) -> Path:
    return target.with_name(f".{target.name}.{kind}")


def _mend(target: Path) -> None:
    """Bring an exchange of a library to its end, or back to its beginning."""
    previous = _beside(target, "old")
    if previous.exists() and not target.exists():
        previous.rename(target)
    shutil.rmtree(previous, ignore_errors=True)


def all_learnt() -> list[Learnt]:
    """Every library that has been learnt, by name."""
    files = sorted((environments.cache_folder() / "libraries").glob(f"*/{_FILE}"))
    return [
        learnt(file.parent.name) for file in files if _NAME.fullmatch(file.parent.name)
    ]


def learnt(name: str) -> Learnt:
    """The library of that name; raises `UsageError` when there is none."""
    folder = folder_of(name)
    if not folder.exists():
        _mend(folder)
    file = folder / _FILE
    try:
        return Learnt.model_validate_json(file.read_bytes())
    except OSError:
        names = ", ".join(each.name for each in all_learnt()) or "none yet"
        raise UsageError(
            f"no library {name!r}; learnt: {names} (`matsmith learn PATH_OR_DISTRIBUTION`)"
        ) from None
    except ValidationError as error:
        raise UsageError(
            f"{file}: damaged ({error.error_count()} faults); learn it again"
        ) from error


def digest_of(project: Path) -> str:
    """Digest of a project's Python sources and its ``pyproject.toml``."""
    files = [project / "pyproject.toml"]
    for place, folders, names in os.walk(project):
        folders[:] = set(folders) - environments.unwanted(place, folders)
        files += [Path(place, name) for name in names if name.endswith(".py")]
    root = project.resolve()
    own = [
        file for file in files if file.is_file() and file.resolve().is_relative_to(root)
    ]
    whole = hashlib.sha256()
    for file in sorted(own):
        whole.update(f"{file.relative_to(project).as_posix()}\0".encode())
        with file.open("rb") as content:
            whole.update(hashlib.file_digest(content, "sha256").digest())
    return whole.hexdigest()[:16]
