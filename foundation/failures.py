"""What is said of an exception: how much depends on whose code raised it.

A message of ours, or of a library that we call, may quote what a model wrote, and is left out. A
plug-in's own error is its author's to read: message, file, line and frames are shown.
"""

from __future__ import annotations

import inspect
import sysconfig
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from foundation.errors import ActionableError

ROOT = Path(__file__).resolve().parents[1]
STANDARD_LIBRARY = sysconfig.get_paths()["stdlib"]
#: Errors of a chain, frames of each, and characters of a message and of a type's name.
LINKS, FRAMES, MESSAGE, TYPE = 4, 8, 300, 100


@dataclass(frozen=True)
class _Frame:
    """A place that an exception passed."""

    path: Path
    line: int
    function: str
    owner: Literal["ours", "plugin", "library"]

    def __str__(self) -> str:
        if self.owner == "plugin":
            return f"{self.path}:{self.line} in {self.function}"
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def describe_failure(error: BaseException, plugin: object = None) -> str:
    """One line about an exception: its type, and where it passed, the innermost place first.

    The message is there if the exception is worded for a user, or a plug-in's code raised it.
    ``plugin`` is the object whose author may read it: files beside that of its class are the
    plug-in's also where they are installed as a package; or that folder or file itself.
    """
    home = _home(plugin)
    texts: list[str] = []
    link: BaseException | None = error
    while link is not None and len(texts) < LINKS:
        texts.append(_describe(link, home))
        link = link.__cause__ or link.__context__
    return " from ".join(texts)


def from_plugin(error: BaseException, plugin: object = None) -> bool:
    """Whether a plug-in's code raised an exception, perhaps by a library that it calls."""
    frames = list(_frames(error, _home(plugin)))
    return bool(frames) and frames[0].owner == "plugin"


def _describe(error: BaseException, home: Path | None) -> str:
    frames = list(_frames(error, home))
    raised_by_plugin = bool(frames) and frames[0].owner == "plugin"
    name = type(error).__name__[:TYPE]
    message = " ".join(str(error).split())[:MESSAGE]
    if raised_by_plugin and message:
        name = f"{name}: {message}"
    elif isinstance(error, ActionableError):
        name = f"{name} ({str(error)[:MESSAGE]})"
    places = " < ".join(map(str, frames[:FRAMES]))
    return f"{name} in {places}" if places else name


def _frames(error: BaseException, home: Path | None) -> Iterator[_Frame]:
    """Frames of ours and of plug-ins, the innermost first."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        owner = _owner(path, home)
        if owner != "library":
            yield _Frame(path, frame.lineno or 0, frame.name, owner)


def _owner(path: Path, home: Path | None) -> Literal["ours", "plugin", "library"]:
    if path.is_relative_to(ROOT):
        return "ours"
    if home is not None and path.is_relative_to(home):
        return "plugin"
    installed = path.is_relative_to(STANDARD_LIBRARY) or "site-packages" in path.parts
    return "library" if installed or not path.is_absolute() else "plugin"


def _home(plugin: object) -> Path | None:
    """The package that an object's class lies in, if it is not ours; its file, if it is alone."""
    if plugin is None or isinstance(plugin, Path):
        return plugin
    kind = plugin if inspect.isclass(plugin) else type(plugin)
    try:
        file = Path(inspect.getsourcefile(kind) or "")
    except TypeError:  # built in
        return None
    alone = not (file.parent / "__init__.py").is_file()
    return file if alone else file.parent
