"""The source of the library to rename, as installed in an environment."""

from __future__ import annotations

import ast
import builtins
import importlib.metadata
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_MEMBER = re.compile(
    rb"\.\s*([A-Za-z_]\w*)|\bdef\s+([A-Za-z_]\w*)|^[ \t]+([A-Za-z_]\w*)[ \t]*:", re.MULTILINE
)
_QUOTED = re.compile(rb"""["']([A-Za-z_][A-Za-z0-9_ -]*)["']""")
#: Folders of tests inside of a package: they are not renamed, they are left out.
_TESTS = frozenset({"tests", "test"})
_PLAIN_TYPES = (str, bytes, int, float, complex, list, tuple, dict, set, frozenset, BaseException)


class UnseenError(ValueError):
    """A library cannot be renamed; says what is wrong and what to do next."""


@dataclass(frozen=True)
class Module:
    """One module of the library."""

    name: str
    path: Path
    text: str
    is_package: bool

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)


@dataclass(frozen=True)
class PackageSource:
    """A package to rename."""

    package: str
    folder: Path
    modules: dict[str, Module]
    distribution: str | None
    version: str | None
    data: tuple[Path, ...]
    licence: str

    def imports(self) -> set[str]:
        """Top-level packages that the modules import."""
        trees = (module.tree for module in self.modules.values())
        return {name.partition(".")[0] for tree in trees for name in imported_modules(tree)}


def imported_modules(tree: ast.Module) -> Iterator[str]:
    """Dotted names of the modules that code imports; relative ones are left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def inside(dotted: str, packages: Iterable[str]) -> bool:
    """Whether a dotted name is one of the packages, or lies in one."""
    return any(dotted == package or dotted.startswith(f"{package}.") for package in packages)


def read_library(package: str, folder: Path) -> PackageSource:
    """Read a package from a ``site-packages`` folder, without its tests; nothing is imported.

    Raises
    ------
    UnseenError
        When it has no Python source there, or one that is not valid Python.
    """
    root = folder.joinpath(*package.split("."))
    if not (root / "__init__.py").is_file():
        raise UnseenError(
            f"package {package!r} has no __init__.py under {folder}; a library to rename is a"
            " regular package: check the name, or the environment that contains it"
        )
    modules, data = {}, []
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(folder)
        if _TESTS & set(path.relative_to(root).parts[:-1]):
            continue
        if path.suffix == ".py":
            dotted = relative.with_suffix("").parts
            is_package = dotted[-1] == "__init__"
            name = ".".join(dotted[:-1] if is_package else dotted)
            module = Module(name, relative, path.read_text(encoding="utf-8"), is_package)
            try:
                compile(module.text, str(path), "exec", dont_inherit=True)
            except SyntaxError as error:
                raise UnseenError(f"{path}: line {error.lineno}: {error.msg}") from error
            modules[name] = module
        elif path.is_file() and "__pycache__" not in path.parts:
            data.append(relative)
    name_, version, licence = _distribution(folder, root / "__init__.py")
    return PackageSource(package, folder, modules, name_, version, tuple(data), licence)


def _distribution(folder: Path, file: Path) -> tuple[str | None, str | None, str]:
    wanted = str(file.relative_to(folder).as_posix())
    for found in importlib.metadata.distributions(path=[str(folder)]):
        files = found.files or []
        if any(str(entry) == wanted for entry in files):
            texts = [
                Path(str(found.locate_file(entry))).read_text(encoding="utf-8")
                for entry in files
                if re.search(r"dist-info/.*licen[cs]e", str(entry), re.IGNORECASE)
            ]
            return found.metadata["Name"], found.version, "\n\n".join(texts)
    return None, None, ""


@dataclass(frozen=True)
class Vocabulary:
    """Words of everything that the library imports: these names may belong to others.

    Attributes
    ----------
    words
        Every identifier in their source.
    strings
        Every short quoted text in their source: what may be a key of theirs.
    members
        What may be an attribute of theirs: it stands behind a dot or ``def``, is a field with a
        type, or is quoted.
    """

    words: frozenset[str]
    strings: frozenset[str]
    members: frozenset[str]


def foreign_vocabulary(libraries: Sequence[PackageSource]) -> Vocabulary:
    """Read the source of everything that the libraries import, except the libraries themselves."""
    words: set[bytes] = set()
    strings: set[bytes] = set()
    members: set[bytes] = set()
    for file in _foreign_files(libraries):
        content = file.read_bytes()
        words.update(_WORD.findall(content))
        strings.update(_QUOTED.findall(content))
        members.update(b"".join(found) for found in _MEMBER.findall(content))
    own = {name for kind in _PLAIN_TYPES for name in dir(kind)} | set(dir(builtins))
    return Vocabulary(
        frozenset(word.decode() for word in words) | own,
        frozenset(text.decode() for text in strings),
        frozenset(word.decode(errors="ignore") for word in members | strings) | own,
    )


def _foreign_files(libraries: Sequence[PackageSource]) -> Iterator[Path]:
    folder = libraries[0].folder
    ours = [folder.joinpath(*library.package.split(".")) for library in libraries]
    standard = Path(ast.__file__).parent
    for name in sorted(set().union(*(library.imports() for library in libraries))):
        base = standard if name in sys.stdlib_module_names else folder
        yield from _python_files(base / name, ours)
        if (single := base / f"{name}.py").is_file():
            yield single


def _python_files(root: Path, but: Iterable[Path]) -> Iterator[Path]:
    skipped = tuple(but)
    for path in sorted(root.rglob("*.py*")):
        if path.suffix not in {".py", ".pyi", ".pyx"} or _TESTS & set(path.parts):
            continue
        if not any(path.is_relative_to(folder) for folder in skipped):
            yield path
