"""Where the source of a package lies, and which distribution and version it belongs to.

Everything is read from a folder given as a path: the ``site-packages`` of the environment in
which code will run, or a checkout. Nothing is imported.
"""

from __future__ import annotations

import csv
import hashlib
import re
import tokenize
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

from foundation.errors import ActionableError
from foundation.terminal import printable


class SourceError(ActionableError):
    """A package cannot be read; says where it was looked for and what to do next."""


@dataclass(frozen=True)
class SourceFile:
    """One module.

    Attributes
    ----------
    module
        Dotted name, ``pymatgen.core.structure``.
    path
        Path relative to the folder that holds the package, with forward slashes.
    package, version
        Distribution it was installed from (``pymatgen-core``); the import name and ``None``
        when no metadata say so.
    is_package
        Whether it is an ``__init__.py``.
    """

    module: str
    path: str
    package: str
    version: str | None
    text: str
    is_package: bool

    @property
    def is_stub(self) -> bool:
        """Whether it only declares what a compiled module has."""
        return self.path.endswith(".pyi")


MOST_FILE, MOST_SOURCE = 20_000_000, 300_000_000  # bytes of a file, of a library
_METADATA = 1 << 16  # characters of METADATA that are read: its headers stand first
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "_tests"})
_TEST_FILE = re.compile(r"(test_.*|.*_tests?|tests?|testing|conftest)\.pyi?")
#: Source, and stubs: what a compiled module declares.
_SUFFIXES = (".py", ".pyi")


def is_test(path: Path) -> bool:
    """Whether a path (relative to the package) is test code, which no corpus may hold."""
    return bool(
        _TEST_FOLDERS.intersection(path.parts[:-1]) or _TEST_FILE.fullmatch(path.name)
    )


def read_sources(packages: Sequence[str], folder: Path) -> list[SourceFile]:
    """Read the modules of ``packages`` (import names, dotted ones allowed), sorted by name.

    A stub (``.pyi``) stands for a module that has no source, as compiled ones have none, unless
    only the library itself uses that.
    A namespace package is read with everything that add-ons install into it. Of a project with
    a ``src`` folder, that is where its packages are looked for. A `SourceError` says that there is
    no Python file.
    """
    files: dict[str, SourceFile] = {}
    room = MOST_SOURCE
    for package in packages:
        if not all(part.isidentifier() for part in package.split(".")):
            raise SourceError(
                f"package={package}: not an import name, such as pymatgen.core"
            )
        root = _root(package, folder)
        owners = owners_of(root)
        project = _project(root)
        paths = list(_python_files(package, root))
        if not paths:
            raise SourceError(
                f"package {package!r} has no Python source under {folder}; "
                "check the import name, or build the environment that holds it"
            )
        for path in paths:
            relative = path.relative_to(root)
            size = path.stat().st_size
            room -= size
            if size > MOST_FILE or room < 0:
                raise SourceError(_too_large(package, relative, size))
            dotted = relative.with_suffix("").parts
            is_package = dotted[-1] == "__init__"
            module = ".".join(dotted[:-1] if is_package else dotted)
            unknown = project or (package.partition(".")[0], None)
            owner, version = owners.get(relative.as_posix(), unknown)
            files[module] = SourceFile(
                module, relative.as_posix(), owner, version, _text(path), is_package
            )
    return [
        files[module] for module in sorted(files) if not _is_internal(module, files)
    ]


def _is_internal(module: str, files: Mapping[str, SourceFile]) -> bool:
    """Whether a stub stands for a compiled module that only the library's own modules import.

    What the ``__init__`` of a package imports of it, or what nobody in the library imports, is for
    users.
    """
    if not files[module].is_stub:
        return False
    name = module.rpartition(".")[2]
    imports = re.compile(
        rf"(?m)^\s*(?:from\s+[.\w]*\b{name}\s+import\b|import\s+{re.escape(module)}\b"
        rf"|from\s+[.\w]+\s+import\b[^\n]*\b{name}\b)"
    )
    users = [
        file
        for file in files.values()
        if not file.is_stub and imports.search(file.text) is not None
    ]
    return bool(users) and not any(file.is_package for file in users)


def _too_large(package: str, path: Path, size: int) -> str:
    what = (
        f"{path} has {size // 1_000_000} MB (limit {MOST_FILE // 1_000_000} MB)"
        if size > MOST_FILE
        else f"its source has more than {MOST_SOURCE // 1_000_000} MB"
    )
    return printable(
        f"package {package}: {what}; give the packages below it that you need"
    )


def distribution_versions(sources: Sequence[SourceFile]) -> dict[str, str | None]:
    """Version of every distribution that the sources come from."""
    return {s.package: s.version for s in sorted(sources, key=lambda s: s.package)}


def sources_digest(sources: Sequence[SourceFile]) -> str:
    """SHA-256 over path, origin and text of every file."""
    sha = hashlib.sha256()
    for source in sources:
        sha.update(f"{source.path}\0{source.package}\0{source.version}\0".encode())
        sha.update(source.text.encode("utf-8", errors="surrogatepass"))
    return sha.hexdigest()


def _root(package: str, folder: Path) -> Path:
    """Where the package lies: in the folder, or in its ``src``."""
    inner = folder / "src"
    there = any(_python_files(package, folder)) or not inner.is_dir()
    return folder if there else inner


def _project(root: Path) -> tuple[str, str | None] | None:
    """Name and version that the ``pyproject.toml`` of a checkout declares."""
    file = (root.parent if root.name == "src" else root) / "pyproject.toml"
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        return str(project["name"]), project.get("version")
    except (OSError, ValueError, KeyError):
        return None


def _python_files(package: str, folder: Path) -> Iterator[Path]:
    base = folder.joinpath(*package.split("."))
    single = [base.with_suffix(suffix) for suffix in _SUFFIXES]
    yield from [path for path in single if path.is_file()][:1]
    if not base.is_dir():
        return
    for path in sorted(base.rglob("*.py*")):
        if path.suffix not in _SUFFIXES:
            continue
        relative = path.relative_to(folder).with_suffix("")
        importable = all(part.isidentifier() for part in relative.parts)
        described = path.suffix == ".pyi" and path.with_suffix(".py").is_file()
        if importable and not described and not is_test(path.relative_to(folder)):
            yield path


def _text(path: Path) -> str:
    """The text of a Python file, in the encoding that it declares; bad bytes are replaced."""
    with path.open("rb") as stream:
        try:
            encoding, _ = tokenize.detect_encoding(stream.readline)
        except SyntaxError:  # an unknown encoding, or not UTF-8
            encoding = "utf-8-sig"
    try:
        return path.read_text(encoding=encoding, errors="replace")
    except (
        LookupError,
        UnicodeError,
    ):  # a codec that is not of text, or that refuses it
        return path.read_text(encoding="utf-8-sig", errors="replace")


def owners_of(folder: Path) -> dict[str, tuple[str, str | None]]:
    """Relative path of an installed file -> (distribution, version), from the RECORD files."""
    owners: dict[str, tuple[str, str | None]] = {}
    for info in sorted(folder.glob("*.dist-info")):
        metadata = info / "METADATA"
        record = info / "RECORD"
        if not (metadata.is_file() and record.is_file()):
            continue
        with metadata.open(encoding="utf-8", errors="replace") as stream:
            headers = HeaderParser().parsestr(stream.read(_METADATA))
        owner = (printable(headers["Name"]), printable(headers["Version"]))
        try:
            with record.open(encoding="utf-8", errors="replace", newline="") as stream:
                for row in csv.reader(stream):
                    if row and row[0].endswith(_SUFFIXES):
                        owners[row[0]] = owner
        except csv.Error as error:
            raise SourceError(
                f"{printable(record)}: cannot be read ({error}); install the package again"
            ) from None
    return owners
