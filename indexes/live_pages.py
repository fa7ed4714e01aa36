"""What :mod:`indexes.introspection` sends out of the sandbox: its form, every field capped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from docgen.symbols import Kind, MemberKind

_Name = Annotated[str, Field(max_length=500)]
_Line = Annotated[str, Field(max_length=6_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LiveMember(_Strict):
    """A row of a member list."""

    name: _Name
    kind: MemberKind
    signature: _Line
    text: _Line
    qualname: _Name
    origin: _Name


class LiveSymbol(_Strict):
    """A symbol; ``elsewhere`` lists what a class inherits from other libraries."""

    qualname: _Name
    kind: Kind
    signature: _Line
    docstring: Annotated[str, Field(max_length=50_000)]
    lines: tuple[int, int]
    modifiers: tuple[_Name, ...]
    bases: tuple[_Name, ...]
    types: tuple[_Name, ...]
    returns: _Name
    members: tuple[LiveMember, ...]
    elsewhere: Mapping[_Name, tuple[_Name, ...]]


class Page(_Strict):
    """What one module offers, or why it cannot be imported.

    Attributes
    ----------
    digest
        SHA-256 of the file that was imported.
    exports
        Name -> qualified name of what is defined elsewhere.
    origins
        Class of another library -> its distribution, version and file.
    problems
        Objects that raise when they are looked at.
    """

    module: _Name
    error: Annotated[str, Field(max_length=2_000)] | None
    digest: _Name = ""
    symbols: tuple[LiveSymbol, ...] = ()
    exports: Mapping[_Name, _Name] = {}
    origins: Mapping[_Name, tuple[_Name, _Name, _Name]] = {}
    problems: tuple[_Line, ...] = ()


PAGES = TypeAdapter(tuple[Page, ...])
