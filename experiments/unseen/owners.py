"""Whose attribute is it? Asks mypy for the type of every expression.

Types of everything outside of the libraries are unknown on purpose (``follow_imports=skip``):
following them takes minutes and changes no answer about the libraries' own classes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from experiments.unseen.source import UnseenError

if TYPE_CHECKING:
    from mypy.build import BuildResult

#: (line from 1, column from 0 in bytes) where an expression ends: no two of a kind end together.
Position = tuple[int, int]
_IGNORE = re.compile(r"# *type: *ignore[^\n]*")  # hides errors that are to be counted
_CODE = re.compile(r": error: .*\[([a-z-]+)\]$")


@dataclass
class Owners:
    """Verdicts about one module: ``True`` ours, ``False`` another's, ``None`` not known.

    Attributes
    ----------
    attributes
        By where the attribute expression ends and its name.
    calls
        By where a call ends: whether the function called is ours.
    texts
        By where a call of ``getattr`` and the like ends: whether the named attribute is ours.
    """

    attributes: dict[tuple[Position, str], bool | None] = field(default_factory=dict)
    calls: dict[Position, bool | None] = field(default_factory=dict)
    texts: dict[Position, bool | None] = field(default_factory=dict)

    def attribute(self, end: Position, name: str) -> bool | None:
        """The verdict, also inside of f-strings, where Python misplaces expressions."""
        if (end, name) in self.attributes:
            return self.attributes[end, name]
        near = {
            verdict
            for ((line, _), other), verdict in self.attributes.items()
            if other == name and line == end[0]
        }
        return near.pop() if len(near) == 1 else None


@dataclass(frozen=True)
class Analysis:
    """What mypy says.

    Attributes
    ----------
    owners
        Verdicts by module name.
    errors
        How many errors of each code: renaming must not change it.
    """

    owners: Mapping[str, Owners]
    errors: Counter[str]


def analyse(texts: Mapping[str, str], packages: Iterable[str]) -> Analysis:
    """Type-check modules.

    Parameters
    ----------
    texts
        Source by module name: the libraries and the scripts that use them.
    packages
        Import names of the packages whose names are ours.

    Raises
    ------
    UnseenError
        When mypy is not installed, or cannot read a module at all.
    """
    result = _check(texts)
    from experiments.unseen.typed import Reader, classes_of  # noqa: PLC0415 - needs mypy

    ours = tuple(packages)
    classes = [
        kind
        for name in texts
        if any(name == package or name.startswith(f"{package}.") for package in ours)
        for kind in classes_of(result.files[name])
    ]
    owners: dict[str, Owners] = {}
    for name in texts:
        owners[name] = Owners()
        reader = Reader(result.types, ours, classes, owners[name])
        reader.read(result.files[name])
    codes = (match.group(1) for match in map(_CODE.search, result.errors) if match)
    return Analysis(owners, Counter(codes))


def _check(texts: Mapping[str, str]) -> BuildResult:
    try:
        from mypy import build, errors, modulefinder, options  # noqa: PLC0415 - a dev dependency
    except ImportError as error:
        msg = "renaming a library needs mypy: pip install mypy (or the extra matsmith[dev])"
        raise UnseenError(msg) from error
    chosen = options.Options()
    chosen.export_types = chosen.preserve_asts = True
    chosen.incremental = False
    chosen.cache_dir = "/dev/null"
    chosen.follow_imports = "skip"
    chosen.ignore_missing_imports = True
    chosen.check_untyped_defs = True
    parents = {name.rpartition(".")[0] for name in texts}
    sources = [
        modulefinder.BuildSource(
            _path(name, is_package=name in parents), name, _IGNORE.sub("", text)
        )
        for name, text in texts.items()
    ]
    try:
        return build.build(sources, chosen)
    except errors.CompileError as error:
        msg = "mypy cannot read the library: " + "; ".join(error.messages[:3])
        raise UnseenError(msg) from error


def _path(name: str, *, is_package: bool) -> str:
    return name.replace(".", "/") + ("/__init__.py" if is_package else ".py")
