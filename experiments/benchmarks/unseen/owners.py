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

from experiments.benchmarks.unseen.source import UnseenError

if TYPE_CHECKING:
    from mypy.build import BuildResult

#: (line from 1, column from 0 in bytes) where an expression ends: no two of a kind end together.
Position = tuple[int, int]
_IGNORE = re.compile(r"# *type: *ignore[^\n]*")  # hides errors that are to be counted
#: Types in comments: they help to find owners, but comments go, so errors are counted without.
_TYPE_COMMENT = re.compile(r"# *type: *[^\n]*")
_ERROR = re.compile(r"^(?P<path>[^:]+):.*: error: .*\[(?P<code>[a-z-]+)\]$")


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


def count_errors(texts: Mapping[str, str]) -> Counter[tuple[str, str]]:
    """How many errors of each code mypy finds in each module: renaming must not change it.

    Raises
    ------
    UnseenError
        When mypy is not installed, or cannot read a module at all.
    """
    result = check({name: _TYPE_COMMENT.sub("", text) for name, text in texts.items()})
    parents = _parents(texts)
    modules = {_path(name, is_package=name in parents): name for name in texts}
    found = (match for match in map(_ERROR.match, result.errors) if match)
    return Counter((modules[match["path"]], match["code"]) for match in found)


def analyse(texts: Mapping[str, str], packages: Iterable[str]) -> Mapping[str, Owners]:
    """Type-check modules; gives the verdicts by module name.

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
    result = check(texts)
    from experiments.benchmarks.unseen.typed import Reader, classes_of, held_under  # noqa: PLC0415 - needs mypy

    ours = tuple(packages)
    classes = [
        kind
        for name in texts
        if any(name == package or name.startswith(f"{package}.") for package in ours)
        for kind in classes_of(result.files[name])
    ]
    held = held_under((result.files[name] for name in texts), result.types)
    owners: dict[str, Owners] = {}
    for name in texts:
        owners[name] = Owners()
        reader = Reader(result.types, ours, classes, held, owners[name])
        reader.read(result.files[name])
    return owners


def check(texts: Mapping[str, str]) -> BuildResult:
    """Run mypy over modules, by name.

    Raises
    ------
    UnseenError
        As :func:`analyse`.
    """
    try:
        from mypy import build, errors, modulefinder, options  # noqa: PLC0415 - an extra
    except ImportError as error:
        msg = "making an unseen library needs mypy: pip install matsmith[unseen]"
        raise UnseenError(msg) from error
    chosen = options.Options()
    chosen.export_types = chosen.preserve_asts = True
    chosen.incremental = False
    chosen.cache_dir = "/dev/null"
    chosen.follow_imports = "skip"
    chosen.ignore_missing_imports = True
    chosen.check_untyped_defs = True
    parents = _parents(texts)
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


def _parents(names: Iterable[str]) -> set[str]:
    return {name.rpartition(".")[0] for name in names}


def _path(name: str, *, is_package: bool) -> str:
    return name.replace(".", "/") + ("/__init__.py" if is_package else ".py")
