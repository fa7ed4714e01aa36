"""Templates of prompts: those of ``prompts.yaml``, single ones replaced by files of a folder.

``prompts=FOLDER`` (or ``my_module:prompts``, a function that returns a folder) reads ``NAME.md``
for every template that is to be another one. Their texts are part of a run's configuration, so
that other texts are another run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from string import Formatter
from typing import Any

from pydantic import BaseModel, Field

from foundation.configuration import data_of
from foundation.errors import UsageError
from foundation.targets import load, unknown_key

SUFFIX = ".md"
MOST_BYTES = 100_000  # of one template
_DEFAULT: Mapping[str, str] = data_of(__file__, "prompts")


class Templates(BaseModel, extra="forbid", frozen=True):
    """Texts that replace templates, by name; ``name`` ends with digits of their digest."""

    name: str
    texts: Mapping[str, str] = Field(
        default={}, description="templates that replace ours, by name"
    )


_chosen: ContextVar[Mapping[str, str]] = ContextVar("templates", default={})  # noqa: B039


class _Current(Mapping[str, str]):
    """The templates of whoever asks: those chosen by `using`, else our own."""

    def __getitem__(self, name: str) -> str:
        return _chosen.get().get(name, _DEFAULT[name])

    def __iter__(self) -> Iterator[str]:
        return iter(_DEFAULT)

    def __len__(self) -> int:
        return len(_DEFAULT)


TEXTS: Mapping[str, str] = _Current()


@contextmanager
def using(templates: Templates | None) -> Iterator[None]:
    """Prompts that are made inside use these templates."""
    token = _chosen.set({} if templates is None else templates.texts)
    try:
        yield
    finally:
        _chosen.reset(token)


def read_templates(content: Mapping[str, Any]) -> Templates | None:
    """The templates that the group ``prompts`` names; ``None`` for our own."""
    if "texts" in content:
        return Templates.model_validate(content)
    if "_target_" in content:
        folder = load(str(content["_target_"]), key="prompts")()
    elif "folder" in content:
        folder = content["folder"]
    elif unknown := content.keys() - {"name"}:
        raise UsageError(unknown_key(f"prompts.{min(unknown)}", []))
    else:
        return None
    return _read_folder(Path(folder), str(content["name"]))


def _read_folder(folder: Path, name: str) -> Templates:
    files = sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
    if not files:
        raise UsageError(
            f"prompts={folder}: a folder with files NAME{SUFFIX} is needed"
        )
    texts = {file.stem: _read(file) for file in files}
    written = "\n".join(f"{key}: {text}" for key, text in texts.items())
    digest = hashlib.sha256(written.encode()).hexdigest()[:8]
    return Templates(name=f"{name}-{digest}", texts=texts)


def _read(file: Path) -> str:
    """A template; names in braces are those that ours has, or fewer."""
    if file.stem not in _DEFAULT:
        known = ", ".join(_DEFAULT)
        raise UsageError(f"{file}: no such template; there are {known}")
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise UsageError(f"{file}: is larger than {MOST_BYTES} bytes")
        text = data.decode("utf-8").strip()
        allowed = _fields(_DEFAULT[file.stem])
        extra = _fields(text) - allowed if allowed else set()
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: {error}") from error
    if extra:
        listed = ", ".join(sorted(allowed))
        raise UsageError(
            f"{file}: {{{min(extra)}}} is not filled in; there are {listed}"
        )
    return text


def _fields(text: str) -> set[str]:
    return {field for _, field, _, _ in Formatter().parse(text) if field is not None}
