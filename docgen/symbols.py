"""The vocabulary of docgen: what is known about a symbol without running anything."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Kind = Literal[
    "module", "class", "function", "method", "property", "constant", "attribute"
]
MemberKind = Kind | Literal["classmethod", "staticmethod"]


@dataclass(frozen=True)
class Member:
    """A name that a class or module offers.

    Attributes
    ----------
    signature
        What follows the name: ``(site: PeriodicSite) -> int``, ``-> str``, or empty.
    summary
        First sentence of its docstring, may be empty; of a module also what it defines.
    qualname
        Where it is defined (differs from the class's own when inherited).
    origin
        Short name of the base class it is inherited from, else empty.
    """

    name: str
    kind: MemberKind
    signature: str
    summary: str
    qualname: str
    origin: str = ""


@dataclass(frozen=True)
class Symbol:
    """A module, class, function, method, property, constant or class attribute of a package.

    A ``constant`` is assigned at the top level of a module, an ``attribute`` in the body of a
    class (fields and members of an enumeration too); what a constructor assigns is only a member.

    Attributes
    ----------
    signature
        ``from_file(filename: PathLike, ...) -> Structure``; empty for a module. For a class it
        is the constructor's; for a constant or attribute ``name -> type``, empty when unknown.
    source
        Source text of the definition; of a class without its methods, except those that construct
        it; of a module nothing.
    package, version
        Distribution, and its version when known.
    path, first_line, last_line
        Source file relative to the folder that holds the package; lines count from 1.
    modifiers
        ``classmethod``, ``staticmethod``, ``abstract``, ``async``, ``deprecated``.
    bases
        Direct bases, resolved to qualified names where they belong to the read packages.
    members
        Public members, own ones first, inherited ones in method resolution order; of a package
        also its modules.
    calls, refers, types, returns
        Qualified names of what the body uses, the constants and class attributes that it refers
        to, the classes that annotations of parameters name, and the class of the result.
    import_path
        Shortest public import path when re-exported by a package, else ``qualname``.
    value
        Of a constant or attribute, where the source gives a literal; long ones are cut.
    context
        One line of source for each of ``refers``, and for each name imported from elsewhere.
    helpers
        In :meth:`Library.public`, the private functions, methods and classes that the body uses.
    """

    qualname: str
    kind: Kind
    signature: str
    docstring: str
    source: str
    package: str
    version: str | None
    path: str
    first_line: int
    last_line: int
    modifiers: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    raises: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    calls: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    returns: str = ""
    import_path: str = ""
    value: str = ""
    refers: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Last part of the qualified name."""
        return self.qualname.rpartition(".")[2]

    @property
    def public(self) -> bool:
        """Whether no part of the qualified name is private."""
        return not any(part.startswith("_") for part in self.qualname.split("."))


@dataclass(frozen=True)
class Library:
    """All symbols of the read packages.

    Attributes
    ----------
    symbols
        By qualified name, sorted.
    aliases
        Other import path -> qualified name (``pymatgen.core.Structure`` ->
        ``pymatgen.core.structure.Structure``), for re-exports and for inherited members.
    versions
        Distribution -> version.
    unreadable
        Source files that are not valid Python -> reason.
    helpers
        In :meth:`public`, the private symbols that were left out.
    """

    symbols: Mapping[str, Symbol]
    aliases: Mapping[str, str]
    versions: Mapping[str, str | None]
    unreadable: Mapping[str, str] = field(default_factory=dict)
    helpers: Mapping[str, Symbol] = field(default_factory=dict)

    def callers(self) -> dict[str, list[str]]:
        """Qualified name -> sorted qualified names of what uses it, private symbols last."""
        table: dict[str, list[str]] = {}
        for symbols in (self.symbols, self.helpers):
            for name in sorted(symbols):
                for used in (*symbols[name].calls, *symbols[name].refers):
                    table.setdefault(used, []).append(name)
        return table

    def public(self) -> Library:
        """The same library without its private symbols."""
        kept = {name: s for name, s in self.symbols.items() if s.public}
        return replace(
            self,
            symbols={
                name: replace(
                    s,
                    calls=tuple(c for c in s.calls if c in kept),
                    helpers=tuple(
                        c for c in s.calls if c in self.symbols and c not in kept
                    ),
                    types=tuple(t for t in s.types if t in kept),
                )
                for name, s in kept.items()
            },
            aliases={a: name for a, name in self.aliases.items() if name in kept},
            helpers={name: s for name, s in self.symbols.items() if name not in kept},
        )


def digest(*parts: str) -> str:
    """SHA-256 of texts, unambiguous about where one ends."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", errors="surrogatepass")
        sha.update(len(data).to_bytes(8, "big"))
        sha.update(data)
    return sha.hexdigest()
