"""The symbol table of a corpus: what a name means, what a text names, what symbols need."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from docgen.symbols import Entry, Symbol
from indexes.pages.names import NameIndex

if TYPE_CHECKING:  # networkx is slow to import
    from indexes.references import Documentation, ReferenceGraph

_FENCE = re.compile(r"```[a-z]{0,20}\n(.*?)```", re.DOTALL)
_IMPORT = re.compile(
    r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^()]*\)|[^\n#;]+)", re.MULTILINE
)
# dotted, CamelCase and snake_case names: words that are not English
_IDENTIFIER = re.compile(
    r"\b(?:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Z][a-z0-9]+[A-Z]\w*|[a-z]\w*_\w+)\b"
)
_STATEMENT = re.compile(r"\b(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+[\w.]+")
_PATH = re.compile(r"\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_NAMED = frozenset({"class", "function", "method"})  # in prose


class SymbolTable:
    """The entries of a corpus by name.

    Parameters
    ----------
    aliases
        Other import paths -> qualified names.
    """

    def __init__(self, entries: Sequence[Entry], aliases: Mapping[str, str]) -> None:
        self._entries = entries
        self._by_name: dict[str, Entry] = {}
        for entry in entries:
            for name in entry.covers:
                self._by_name.setdefault(name, entry)
        self._names = NameIndex(self._by_name, aliases)
        self._graphs: dict[tuple[str, ...], ReferenceGraph] = {}
        self._documentations: dict[tuple[str, ...], Documentation] = {}

    def find(self, name: str) -> Entry | None:
        """The entry of an exact path, a re-export, or an unambiguous short name.

        ``Structure.from_file`` is resolved like a short name with its owner in front.
        """
        qualname = self._names.find(name, inherited=True)
        return None if qualname is None else self._by_name[qualname]

    def named(self, query: str) -> list[str]:
        """Qualified names of the symbols that a query names, in order of appearance.

        What its code takes from a module (``from a import B``) counts, and of names in the text
        those that cannot be English words. A property or an attribute (``site.species``) does not:
        many classes have one of that name. Modules do not: a document is about what is in them.
        """
        imported = map(self._names.exact, _imports(query))
        names = dict.fromkeys(name for name in imported if name is not None)
        for match in _IDENTIFIER.finditer(_FENCE.sub(" ", query)):
            name = self._names.find(match.group(), inherited=True)
            if name is not None and self._by_name[name].kind in _NAMED:
                names.setdefault(name)
        return [name for name in names if self._by_name[name].kind != "module"]

    def packages(self, query: str) -> list[Sequence[str]]:
        """For each package or module that the text of a query names: itself and all in it.

        A top-level package counts where its name stands as a word, a module where its dotted
        path does. Of ``a.b`` and ``a`` only ``a.b`` counts. An import is not a question about all
        of a package, even outside a code block.
        """
        prose = _STATEMENT.sub(" ", _FENCE.sub(" ", query))
        paths = {match.group() for match in _PATH.finditer(prose)}
        named = paths & self._inside.keys()
        outer = {part for name in named for part in _parents(name)}
        return [[name, *self._inside[name]] for name in sorted(named - outer)]

    def small(self, largest: int, query: str | None = None) -> tuple[str, ...]:
        """Top-level packages (that a query names); none if one has more than ``largest`` entries.

        Models do not know small packages by heart: whoever asks shows what theirs hold.
        """
        tops = Counter(entry.qualname.partition(".")[0] for entry in self._entries)
        if query is not None:
            tops = Counter({n: tops[n] for n in re.findall(r"\w+", query) if n in tops})
        return tuple(sorted(tops)) if max(tops.values(), default=0) <= largest else ()

    def terms(self, names: Sequence[str]) -> ReferenceGraph:
        """What symbols mention, and which of them defines it."""
        from indexes.references import defined_terms  # noqa: PLC0415 -- slow to import

        key = tuple(names)
        if key not in self._graphs:
            self._graphs[key] = defined_terms(list(self._symbols(names)))
        return self._graphs[key]

    def documentation(self, packages: tuple[str, ...]) -> Documentation:
        """The documents of packages by sentence, with what they lead to; read once."""
        from indexes.references import Documentation  # noqa: PLC0415 -- slow to import

        if packages not in self._documentations:
            symbols = self._symbols(list(self._by_name))
            self._documentations[packages] = Documentation(
                symbols, self._names, packages
            )
        return self._documentations[packages]

    def _symbols(self, names: Sequence[str]) -> Iterator[Symbol]:
        for name in names:
            entry = self._by_name[name]
            if isinstance(entry, Symbol):
                yield entry

    @cached_property
    def _inside(self) -> dict[str, list[str]]:
        """Package or module -> what is in it."""
        inside: dict[str, list[str]] = {}
        for name in self._by_name:
            for parent in _parents(name):
                inside.setdefault(parent, []).append(name)
        for name, entry in self._by_name.items():
            # A class holds its members, and is no package. (Of chunks nothing else is known.)
            if entry.kind not in {"module", "chunk"}:
                inside.pop(name, None)
        return inside


def _parents(qualname: str) -> Iterator[str]:
    return accumulate(qualname.split(".")[:-1], "{}.{}".format)


def _imports(query: str) -> Iterator[str]:
    """Dotted paths that ``from module import name`` lines of a query bring in."""
    for match in _IMPORT.finditer(query):
        for name in match[2].strip("()").split(","):
            parts = name.split()
            if parts and parts[0].isidentifier():
                yield f"{match[1]}.{parts[0]}"
