"""Whose attribute is it? Asks mypy for the type of every expression.

Types of everything outside of the libraries are unknown on purpose (``follow_imports=skip``):
following them takes minutes and changes no answer about the libraries' own classes.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from experiments.benchmarks.unseen.source import UnseenError, inside

if TYPE_CHECKING:
    from mypy.build import BuildResult

#: (line from 1, column from 0 in bytes) where an expression ends: no two of a kind end together.
Position = tuple[int, int]
_SECONDS = 1800  # for one reading of a library
_BYTES = 8 << 30
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

    def plain(self) -> dict[str, Any]:
        """The verdicts as JSON has them."""
        return {
            "attributes": [[*place, name, is_] for (place, name), is_ in self.attributes.items()],
            "calls": [[*place, is_] for place, is_ in self.calls.items()],
            "texts": [[*place, is_] for place, is_ in self.texts.items()],
        }

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> Self:
        """The counterpart of `plain`."""
        return cls(
            {((line, column), name): is_ for line, column, name, is_ in plain["attributes"]},
            {(line, column): is_ for line, column, is_ in plain["calls"]},
            {(line, column): is_ for line, column, is_ in plain["texts"]},
        )

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
    plain = {name: _TYPE_COMMENT.sub("", text) for name, text in texts.items()}
    parents = _parents(texts)
    modules = {_path(name, is_package=name in parents): name for name in texts}
    found = (match for match in map(_ERROR.match, _in_child(plain, ())["errors"]) if match)
    return Counter((modules[match["path"]], match["code"]) for match in found)


def analyse(texts: Mapping[str, str], packages: Iterable[str]) -> Mapping[str, Owners]:
    """Type-check modules; gives the verdicts by module name.

    Raises
    ------
    UnseenError
        When mypy is not installed, or cannot read a module at all.
    """
    found = _in_child(texts, tuple(packages))["owners"]
    return {name: Owners.of_plain(plain) for name, plain in found.items()}


def _in_child(texts: Mapping[str, str], packages: Sequence[str]) -> dict[str, Any]:
    """Run mypy in a process of its own: some texts exhaust its stack, which ends the process."""
    try:
        import mypy  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise UnseenError(
            "making an unseen library needs mypy: pip install matsmith[unseen]"
        ) from error
    request = json.dumps({"texts": dict(texts), "packages": packages})
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LANG": "C.UTF-8"}
    command = [sys.executable, "-s", "-P", "-m", __name__]
    try:
        done = subprocess.run(  # noqa: S603 - this very file
            command,
            input=request,
            capture_output=True,
            text=True,
            check=False,
            env=variables,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise UnseenError(f"mypy did not read the library in {_SECONDS} s") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise UnseenError(f"mypy ended with status {done.returncode} on the library: {last[:300]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    if "failed" in answer:
        raise UnseenError(answer["failed"])
    return answer


def _main() -> None:
    """Answer the request on the standard input; what a child of `_in_child` does."""
    resource.setrlimit(resource.RLIMIT_DATA, (_BYTES, _BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    request = json.load(sys.stdin)
    try:
        result = check(request["texts"])
    except UnseenError as error:
        json.dump({"failed": str(error)}, sys.stdout)
        return
    owners = _read(result, request["texts"], tuple(request["packages"]))
    plain = {name: found.plain() for name, found in owners.items()}
    json.dump({"errors": result.errors, "owners": plain}, sys.stdout)


def _read(
    result: BuildResult, texts: Mapping[str, str], ours: tuple[str, ...]
) -> dict[str, Owners]:
    """The verdicts, out of what mypy made of the modules; none when no package is ours."""
    from experiments.benchmarks.unseen.typed import Reader, classes_of, held_under  # noqa: PLC0415 - needs mypy

    if not ours:
        return {}
    classes = [
        kind for name in texts if inside(name, ours) for kind in classes_of(result.files[name])
    ]
    held = held_under((result.files[name] for name in texts), result.types)
    owners: dict[str, Owners] = {}
    for name in texts:
        owners[name] = Owners()
        Reader(result.types, ours, classes, held, owners[name]).read(result.files[name])
    return owners


def check(texts: Mapping[str, str]) -> BuildResult:
    """Run mypy over modules, by name.

    Raises
    ------
    UnseenError
        As :func:`analyse`.
    """
    from mypy import build, errors, modulefinder, options  # noqa: PLC0415 - an extra

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
        raise UnseenError(
            "mypy cannot read the library: " + "; ".join(error.messages[:3])
        ) from error


def _parents(names: Iterable[str]) -> set[str]:
    return {name.rpartition(".")[0] for name in names}


def _path(name: str, *, is_package: bool) -> str:
    return name.replace(".", "/") + ("/__init__.py" if is_package else ".py")


if __name__ == "__main__":
    _main()
