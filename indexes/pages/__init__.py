"""The documentation of the installed libraries, for code to read.

contents(package="")        -> [Line(name, kind, summary)]: a map of the symbols below a package
lookup(name, part="")       -> the document of a symbol (or one section or member), or None
search(query, k=10)         -> [Line]: documents that share rare words with a query, best first
grep(pattern, package="")   -> [(name, line)]: lines that a regular expression matches
resolve(term)               -> [Line]: what defines a term or name, current definitions first
near(name)                  -> [name]: similar names
"""

# Standard library only: also mounted in the sandbox, as the module ``docs``.

from __future__ import annotations

import difflib
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from .names import LONGEST, NameIndex
from .words import COMMON, words

SUMMARY = 160  # characters of a line that says what a symbol is
MAX_HITS = 1000  # of grep

_PLAIN = ("module", "class", "function", "constant")
PAGES, ALIASES = "documents.jsonl", "aliases.json"  # beside this file, in the sandbox


class Line(NamedTuple):
    """A symbol in one line; ``deprecated`` says why it should not be used, if it should not."""

    name: str
    kind: str
    summary: str
    deprecated: str = ""


@dataclass(frozen=True)
class Page:
    """What there is to read of one page of a corpus; rendered by :func:`docgen.render.page`.

    Attributes
    ----------
    facts
        What the source says, before the prose.
    sections
        The prose by heading; of what is no symbol all of it, without one.
    what, definition
        What the symbol is, in its own words, and the first sentence of that.
    deprecated
        The sentence that says that it should not be used; empty for a current one.
    covers
        The symbols that it describes.
    called
        The facts that say how it is called.
    """

    name: str
    kind: str
    text: str
    facts: str
    sections: Mapping[str, str]
    what: str
    definition: str
    deprecated: str
    covers: Sequence[str]
    members: Sequence[str]
    called: Sequence[str]

    @property
    def short(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]

    @cached_property
    def lower(self) -> str:
        """The document in lower case, for a search."""
        return self.text.lower()

    @cached_property
    def line(self) -> Line:
        """The document in one line."""
        summary = _cut(self.definition, SUMMARY)
        return Line(self.name, self.kind, summary, self.deprecated)


class Documents:
    """Pages by name and by term.

    Parameters
    ----------
    aliases
        Other import paths -> qualified names.
    """

    def __init__(self, pages: Iterable[Page], aliases: Mapping[str, str]) -> None:
        self.pages = list(pages)
        self._by_name: dict[str, Page] = {}
        for page in self.pages:
            for name in (*page.covers, page.name):
                self._by_name.setdefault(name, page)
        self.names = NameIndex(self._by_name, aliases)

    @cached_property
    def _by_short(self) -> dict[str, list[Page]]:
        shorts: dict[str, list[Page]] = defaultdict(list)
        for page in self.pages:
            shorts[page.short.lower()].append(page)
        return shorts

    def find(self, name: str) -> Page | None:
        """A symbol by its name, another import path, or the unambiguous end of its name."""
        qualname = self.names.find(name)
        return None if qualname is None else self._by_name[qualname]

    def near(self, name: str, n: int = 5) -> list[str]:
        """Names whose last part is similar, those with similar beginnings first."""
        short = name[:100].strip().rpartition(".")[2].lower()
        same = self._by_short.get(short, [])
        if same:
            names = [page.name for page in same]
            close = difflib.get_close_matches(name[:200], names, n=n, cutoff=0.0)
            return [*close, *(other for other in names if other not in close)][:n]
        grams = {short[i : i + 2] for i in range(len(short) - 1)}
        like = [
            other
            for other in self._by_short
            if abs(len(other) - len(short)) <= max(4, len(short) // 2)
            and 2 * len(grams & {other[i : i + 2] for i in range(len(other) - 1)})
            >= len(grams)
        ]
        capital = name.rpartition(".")[2][:1].isupper()
        return [
            min(
                self._by_short[other],
                key=lambda e: (
                    e.short[:1].isupper() != capital,
                    e.kind not in _PLAIN,
                    len(e.name),
                ),
            ).name
            for other in difflib.get_close_matches(short, like, n=n, cutoff=0.5)
        ]

    def lookup(self, name: str, part: str = "") -> str | None:
        """The document of a symbol, or one section or member of it."""
        page = self.find(name)
        if page is None or not part:
            return None if page is None else page.text
        wanted = part[:LONGEST].strip().removesuffix("()")
        member = self._by_name.get(f"{page.name}.{wanted}") or next(
            (
                inner
                for m in page.members
                if m.endswith(f".{wanted}") and (inner := self._by_name.get(m))
            ),
            None,
        )
        if member is not None:
            return member.text
        for title, body in {"facts": page.facts, **page.sections}.items():
            if title.lower() == wanted.lower():
                return f"{page.name}, {title}:\n{body}"
        lines = [
            line for line in page.text.splitlines() if wanted.lower() in line.lower()
        ]
        return (
            f"{page.name}, lines with {wanted!r}:\n" + "\n".join(lines)
            if lines
            else None
        )

    def contents(self, package: str = "") -> list[Line]:
        """Symbols below a package or module, in the order of its documents."""
        home = self.find(package) if package else None
        prefix = package if home is None else home.name
        below = f"{prefix}."
        return [
            e.line for e in self.pages if not prefix or f"{e.name}.".startswith(below)
        ]

    def grep(self, pattern: str, package: str = "") -> list[tuple[str, str]]:
        """Lines of documents that match, at most `MAX_HITS`."""
        matches = re.compile(pattern[:LONGEST], re.IGNORECASE).search
        hits: list[tuple[str, str]] = []
        for page in self.pages:
            if not page.name.startswith(package) or len(hits) >= MAX_HITS:
                continue
            hits += [
                (page.name, line) for line in page.text.splitlines() if matches(line)
            ]
        return hits[:MAX_HITS]

    def search(self, query: str, k: int = 10) -> list[Line]:
        """Documents that share words with a query, rare words and names counting most."""
        wanted = set(words(query[:LONGEST])) - COMMON
        scores: dict[int, float] = defaultdict(float)
        for word in sorted(wanted):
            counts = {
                number: page.lower.count(word) + 5 * (word in page.name.lower())
                for number, page in enumerate(self.pages)
            }
            hits = {number: count for number, count in counts.items() if count}
            weight = math.log(1 + len(self.pages) / (1 + len(hits)))
            for number, count in hits.items():
                scores[number] += weight * count / (count + 2)
        best = sorted(scores, key=lambda number: (-scores[number], number))[:k]
        return [self.pages[number].line for number in best]

    def resolve(self, term: str) -> list[Line]:
        """What defines a term or name: exactly, else in as many of its words as possible."""
        exact = self.find(term)
        phrase = _phrase(words(term[:LONGEST]))
        if not phrase.strip():
            return []
        ranked: list[tuple[int, Line]] = []
        for page in self.pages:
            named, defined, described = self._terms[page.name]
            if phrase not in described and phrase not in named and page is not exact:
                continue
            tests = (
                page is exact,
                named == phrase,
                phrase in defined,
                phrase in named,
                phrase in described,
            )
            ranked.append((tests.index(True), page.line))
        best = min((rank for rank, _ in ranked), default=0)
        definitions = [
            (bool(line.deprecated), rank, line)
            for rank, line in ranked
            if rank == best or (rank < 3 and best < 3)
        ]
        return [line for _, _, line in sorted(definitions)]

    @cached_property
    def _terms(self) -> dict[str, tuple[str, str, str]]:
        """For each symbol the words of its name, of its definition, and of all that it is."""
        return {
            e.name: (
                _phrase(words(e.short)),
                _phrase(words(e.definition)),
                _phrase(words(e.what)),
            )
            for e in self.pages
        }


def _phrase(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3].rstrip()}..."


@lru_cache(maxsize=1)
def _here() -> Documents:
    """The documents that lie beside this file, in the sandbox."""
    folder = Path(__file__).parent
    with (folder / PAGES).open(encoding="utf-8") as file:
        pages = [Page(**json.loads(line)) for line in file]
    aliases = json.loads((folder / ALIASES).read_text(encoding="utf-8"))
    return Documents(pages, aliases)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return getattr(_here(), name)
