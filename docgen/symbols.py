"""The vocabulary of the project's lower half: what is known about a symbol of a library.

A :class:`Symbol` is filled by readers (:mod:`docgen.library` from source,
:mod:`indexes.live` from imported libraries) and by the store of written texts
(:mod:`docgen.texts`). Only :mod:`docgen.render` makes text of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Kind = Literal[
    "module", "class", "function", "method", "property", "constant", "attribute"
]
MemberKind = Kind | Literal["classmethod", "staticmethod"]
#: As :mod:`inspect` describes them.
ParameterKind = Literal[
    "positional-only",
    "positional or keyword",
    "variadic positional",
    "keyword-only",
    "variadic keyword",
]
#: What became of the example of a document; see :mod:`docgen.check`.
Verdict = Literal["runs", "inputs", "fails", "none"]
FIRST = "What it does"  # title of the first section of a document
_INPUTS = ("Parameters", "Attributes")


@dataclass(frozen=True)
class Parameter:
    """A parameter as a signature has it.

    Attributes
    ----------
    type
        Annotation as source text, empty without one.
    default
        Default value as source text, long ones cut to ``...``; ``None``: required.
    """

    name: str
    kind: ParameterKind = "positional or keyword"
    type: str = ""
    default: str | None = None

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is None and not self.kind.startswith("variadic")


@dataclass(frozen=True)
class Signature:
    """How a symbol is called, and what it gives.

    Attributes
    ----------
    parameters
        Without the receiver; ``None`` for what is not called, or not known.
    returns
        Type of the result or value as source text, empty when unknown.
    """

    parameters: tuple[Parameter, ...] | None = None
    returns: str = ""

    @property
    def is_python(self) -> bool:
        """Whether Python could read it.

        Fields of a dataclass and its bases can stand in an order that no function may
        have, and some default values show only as ``<class 'X'>``.
        """
        optional = False
        for parameter in self.parameters or ():
            if parameter.default is not None and parameter.default.startswith("<"):
                return False
            if parameter.kind in {"positional-only", "positional or keyword"}:
                if optional and parameter.required:
                    return False
                optional = not parameter.required
        return True


@dataclass(frozen=True)
class Member:
    """A name that a class or module offers.

    Attributes
    ----------
    summary
        First sentence of its docstring, may be empty; of a module also what it defines.
    qualname
        Where it is defined (differs from the class's own when inherited).
    origin
        Short name of the base class it is inherited from, else empty.
    """

    name: str
    kind: MemberKind
    signature: Signature
    summary: str
    qualname: str
    origin: str = ""


@dataclass(frozen=True)
class SectionItem:
    """What a section says of one parameter or attribute: its lines, name included.

    Attributes
    ----------
    unit, type
        As the lines name them, else empty.
    """

    name: str
    text: str
    unit: str = ""
    type: str = ""


@dataclass(frozen=True)
class Section:
    """A heading of a written document, and everything up to the next one, verbatim.

    Attributes
    ----------
    title
        Empty for what stands before the first heading.
    text
        What follows the title up to the first item, line breaks included.
    items
        Of a section about parameters or attributes.
    """

    title: str
    text: str
    items: tuple[SectionItem, ...] = ()

    @property
    def body(self) -> str:
        """What stands below the title, outer blanks off."""
        return "".join([self.text, *(item.text for item in self.items)]).strip()


@dataclass(frozen=True)
class Symbol:
    """A module, class, function, method, property, constant or class attribute of a package.

    A ``constant`` is assigned at the top level of a module, an ``attribute`` in the body of a
    class (fields and members of an enumeration too); what a constructor assigns is only a member.

    Attributes
    ----------
    signature
        Of a class its constructor's; ``None`` for a module, and for a constant or attribute of
        which no type is known.
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
    sections
        What is written about it.
    writer, written, prompt, example
        Who wrote that, when, from which version of the prompt, and what became of its example;
        see :class:`docgen.texts.WrittenText`.
    corpus
        Source of the corpus that it stands in, else empty.
    """

    qualname: str
    kind: Kind
    signature: Signature | None
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
    sections: tuple[Section, ...] = ()
    writer: str | None = None
    written: str = ""
    prompt: str = ""
    example: Verdict | None = None
    corpus: str = ""

    @property
    def id(self) -> str:
        """Unique among the entries of all corpora."""
        return f"{self.corpus}:{self.qualname}"

    @property
    def covers(self) -> tuple[str, ...]:
        """The symbols that it describes: itself."""
        return (self.qualname,)

    @property
    def name(self) -> str:
        """Last part of the qualified name."""
        return self.qualname.rpartition(".")[2]

    @property
    def public(self) -> bool:
        """Whether no part of its name is private, or a public package exports it from there.

        Constants and modules are not exported by that: a private module is full of constants that
        its package uses.
        """
        exported = self.kind not in {"module", "constant"}
        names = [self.qualname, *([self.import_path] if exported else [])]
        return any(
            not any(part.startswith("_") for part in name.split(".")) for name in names
        )

    @property
    def what(self) -> str:
        """What it is, in the words of its document: its first section."""
        first = next((s.body for s in self.sections if s.title), "")
        return self.section(FIRST) or first

    @property
    def inputs(self) -> tuple[SectionItem, ...]:
        """Parameters and attributes that its document describes, each once."""
        items: dict[str, SectionItem] = {}
        for title in _INPUTS:
            for section in self.sections:
                if section.title == title:
                    for item in section.items:
                        items.setdefault(item.name, item)
                    break
        return tuple(items.values())

    @property
    def bodies(self) -> Mapping[str, str]:
        """What stands below each heading of its document."""
        bodies: dict[str, str] = {}
        for section in self.sections:
            if section.title:
                bodies.setdefault(section.title, section.body)
        return bodies

    def section(self, title: str) -> str:
        """What stands below a heading of its document, empty when it has none of that title."""
        return next((s.body for s in self.sections if s.title == title), "")

    def in_corpus(self, corpus: str) -> Symbol:
        """What a corpus keeps: not the source, of which a document is made."""
        return replace(
            self,
            corpus=corpus,
            docstring="",
            source="",
            refers=(),
            context=(),
            helpers=(),
        )


@dataclass(frozen=True)
class Chunk:
    """A piece of text in a corpus that is not the document of one symbol.

    Attributes
    ----------
    qualname
        The one symbol that it is about, else the module or text that it is taken from.
    kind
        ``chunk``; ``document`` of a source of the user's own; ``index`` of a map.
    covers
        Qualified names of the symbols whose description begins there.
    more
        What a source of the user's own says of it besides.
    indexed
        What of the text is indexed, where that is not all.
    """

    id: str
    qualname: str
    text: str
    kind: str = "chunk"
    path: str = ""
    package: str = ""
    version: str | None = ""
    corpus: str = ""
    covers: tuple[str, ...] = ()
    more: Mapping[str, object] = field(default_factory=dict)
    indexed: str | None = None


Entry = Symbol | Chunk
"""What a corpus holds."""


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
        public = {name: s for name, s in self.symbols.items() if s.public}
        return replace(
            self,
            symbols={
                name: replace(
                    s,
                    calls=tuple(c for c in s.calls if c in public),
                    helpers=tuple(
                        c for c in s.calls if c in self.symbols and c not in public
                    ),
                    types=tuple(t for t in s.types if t in public),
                )
                for name, s in public.items()
            },
            aliases={a: name for a, name in self.aliases.items() if name in public},
            helpers={name: s for name, s in self.symbols.items() if name not in public},
        )


def digest(*parts: str) -> str:
    """SHA-256 of texts, unambiguous about where one ends."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", errors="surrogatepass")
        sha.update(len(data).to_bytes(8, "big"))
        sha.update(data)
    return sha.hexdigest()
