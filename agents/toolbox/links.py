"""What symbols of a package need, to the end: all that is said of each, and of what that names.

A documentation tells a fact where it pleases: with a parameter, in the notes, in the introduction
of the module, beside a neighbour. So everything is read by sentences, and each sentence belongs to
the symbol that it is about, wherever it stands.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import cast

from agents.toolbox.library import (
    ALIASES,
    COMMON,
    PAGES,
    Documents,
    Page,
    words_of,
)
from docgen import prose, render
from docgen.symbols import Signature, Symbol
from indexes.corpus import Corpus, index_folder
from retrieval.base import Retriever
from retrieval.config import SMALL_PACKAGE

_FORMAT = 1  # of written pages
RARE = 3  # symbols that may share a word or phrase which is to name one of them

CANDIDATES = 16  # definitions that an input in other words may mean
TEXT = 400  # characters of what is said of such an input
_BEGUN = r"(?<=[^.][^.][.!?])\s+"
_FENCED = re.compile(r"```.*?```", re.DOTALL)
_MARK = re.compile(r"`{1,2}([A-Za-z_][\w.]*)(?:\(\))?`{1,2}")
_ITEM = re.compile(r"(\w+)(?: \([^)]*\))?: ")
_OF = re.compile(r"`(\w+)` of `([\w.]+)`")
_POINTER = re.compile(
    r"\b(?:see|(?:[a-z]+ed|told|given) in) (?:`[^`]*`|(?:the|this) [a-z ]{1,40})\.?$",
    re.IGNORECASE,
)
_ITEMS, _ASIDE = ("Parameters", "Attributes"), ("Example", "Relations")
_RESULT = re.compile(r"\bresults?\b|\breturn")  # of sentences about the form of a value
_PLAIN = frozenset(("float", "int", "str", "bool", "list", "dict", "tuple"))


@dataclass(frozen=True)
class OpenInput:
    """An input whose description names no symbol."""

    symbol: str  # empty for what is no input of a symbol
    name: str
    type: str
    text: str

    @property
    def key(self) -> tuple[str, str]:
        """What it is told apart by."""
        return self.symbol, self.name

    @property
    def what(self) -> str:
        """What a prompt calls it."""
        return f"`{self.name}` of `{self.symbol}`" if self.symbol else self.name


@dataclass(frozen=True)
class Closure:
    """Symbols, what is said of them, and the inputs that lead nowhere."""

    names: tuple[str, ...]
    text: str
    open: tuple[OpenInput, ...]


class Links:
    """Sentences of packages by the symbol that they are about."""

    def __init__(
        self, library: Documents, symbols: Iterable[Symbol], packages: Sequence[str]
    ) -> None:
        self._library, self._packages = library, packages
        inside = [s for s in symbols if s.qualname.partition(".")[0] in packages]
        self._by_name = {symbol.qualname: symbol for symbol in inside}
        self._gone = {s.qualname for s in inside if prose.deprecation(s)}
        self._about: dict[str, list[tuple[Symbol, str]]] = defaultdict(list)
        self._general: dict[str, list[str]] = defaultdict(
            list
        )  # module -> of no symbol
        self._says: dict[str, list[str]] = {}  # symbol -> what it is and serves for
        for entry in inside:
            for item, text in _sentences(entry):
                subjects = self._subjects(entry, item, text)
                for subject in subjects:
                    self._about[subject].append((entry, text))
                if entry.kind == "module" and not subjects:
                    self._general[entry.qualname].append(text)
                elif (
                    entry.kind not in {"module", "class"} and not item and _tells(text)
                ):
                    self._says.setdefault(entry.qualname, []).append(text)
        self._features = {
            name: list(map(_features, texts)) for name, texts in self._says.items()
        }
        said = [_features(text) for about in self._about.values() for _, text in about]
        counted = Counter(feature for one in said for feature in one)
        self._weight: dict[str, float] = {
            feature: math.log(len(said) / n) for feature, n in counted.items()
        }
        self._owners: dict[str, set[str]] = defaultdict(set)
        for name, sentences in self._features.items():
            short = words_of(self._by_name[name].name)
            for feature in {
                *(f for one in sentences for f in one),
                *_features(" ".join(short)),
            }:
                self._owners[feature].add(name)

    def mentioned(self, text: str) -> list[str]:
        """Symbols that share rare words with a text, likeliest first."""
        shared: Counter[str] = Counter()
        for feature in _features(_MARK.sub(";", text)):
            owners = self._owners.get(feature, ())
            uses = [len(self._owners.get(word, ())) for word in feature.split()]
            if " " in feature and min(uses, default=0) <= RARE:
                shared.update(o for o in owners if o not in self._gone)
        return [
            name for name, _ in sorted(shared.items(), key=lambda i: (-i[1], i[0]))
        ][:RARE]

    def meant(self, term: str) -> str:
        """The symbol that a term or name means; empty for none."""
        entry = self.find(term)
        return (
            entry.qualname
            if entry is not None
            else next(iter(self.mentioned(term)), "")
        )

    def closure(
        self,
        roots: Iterable[str],
        chosen: Mapping[tuple[str, str], str],
        known: Iterable[str] = (),
    ) -> Closure:
        """What symbols need, nearest first.

        Parameters
        ----------
        chosen
            Symbol and input -> the symbol that this input is, where no document names it.
        known
            Symbols that need not be said again.
        """
        found = dict.fromkeys(name for name in roots if name in self._by_name)
        parts: list[str] = []
        left: list[OpenInput] = []
        waiting, told = list(found), frozenset(known)
        for name in waiting:  # grows while it is read
            entry, about = self._by_name[name], self._about[name]
            links: list[str] = []
            linked = set()
            quoted: list[str] = []
            parameters = _parameters(entry)
            for home, text in about:
                if concerned := _about_parameters(text, parameters):
                    named, same = self._named(entry, home, text)
                    quoted += same
                    links += named
                    linked |= {p for p in concerned if named}
            for parameter, kind in parameters.items():
                if picked := chosen.get((name, parameter)):
                    links.append(picked)
                    quoted.append(f"`{parameter}` is what `{picked}` gives.")
                elif parameter not in linked and kind.partition("[")[0] in _PLAIN:
                    texts = [
                        t
                        for _, t in about
                        if _about_parameters(t, (parameter,)) and not _POINTER.search(t)
                    ]
                    if texts:
                        left.append(
                            OpenInput(name, parameter, kind, " ".join(texts)[:TEXT])
                        )
            owner = self._by_name.get(name.rpartition(".")[0])
            links += (
                [owner.qualname] if owner is not None and owner.kind == "class" else []
            )
            waiting += [link for link in dict.fromkeys(links) if link not in found]
            found.update(dict.fromkeys(links))
            if name not in told:
                kind = "" if entry.kind == "function" else f" [{entry.kind}]"
                own = sorted(about, key=lambda one: one[0] is not entry)
                said = " ".join(dict.fromkeys([*(text for _, text in own), *quoted]))
                called = render.signature(entry) or entry.name
                parts.append(f"{name}{kind}\n{called}\n{said}")
        modules = dict.fromkeys(
            self._module(name) for name in found if name not in told
        )
        general = [
            f"{m} [module]\n{' '.join(self._general[m])}"
            for m in modules
            if m in self._general
        ]
        return Closure(tuple(found), "\n\n".join([*general, *parts]), tuple(left))

    def candidates(self, wanted: OpenInput, words: str = "") -> list[tuple[str, str]]:
        """Symbols that an input may mean, each with the sentence that is most like it."""
        last = words_of(wanted.name)[-1:]
        features = _features(words or wanted.text) - set(last)
        scored = []
        for name, sentences in self._features.items():
            entry = self._by_name[name]
            if name == wanted.symbol or name in self._gone:
                continue
            score, number = max(
                (self._like(features, told), -number)
                for number, told in enumerate(sentences)
            )
            if not _fits(wanted.type, entry.signature):
                score *= 0.3
            if last and len(last[0]) > 3 and any(last[0] in told for told in sentences):
                score += 3
            if score > 0:
                scored.append((-score, name, self._says[name][-number]))
        return [(name, text) for _, name, text in sorted(scored)[:CANDIDATES]]

    def _like(self, features: frozenset[str], told: frozenset[str]) -> float:
        size = math.fsum(self._weight.get(feature, 0) ** 2 for feature in told)
        return math.fsum(self._weight.get(f, 0) for f in features & told) / math.sqrt(
            math.sqrt(1 + size)
        )

    def find(self, name: str, home: Symbol | None = None) -> Symbol | None:
        """A symbol by the name that a document gives it, of its own module first."""
        places = [] if home is None else [home.qualname, self._module(home.qualname)]
        for place in [*places, *self._packages]:
            if (entry := self._by_name.get(f"{place}.{name}")) is not None:
                return entry
        page = self._library.find(name)
        return None if page is None else self._by_name.get(page.name)

    def _module(self, name: str) -> str:
        while name in self._by_name and self._by_name[name].kind != "module":
            name = name.rpartition(".")[0]
        return name

    def _marked(self, text: str, home: Symbol) -> list[tuple[int, Symbol]]:
        """Symbols in code marks, with where they stand."""
        found = (
            (match.start(), self.find(match[1], home)) for match in _MARK.finditer(text)
        )
        return [
            (at, entry)
            for at, entry in found
            if entry is not None and entry.kind != "module"
        ]

    def _subjects(self, home: Symbol, item: str, text: str) -> list[str]:
        """What a sentence is about."""
        if item:
            return [home.qualname]
        own = [] if home.kind == "module" else [home.qualname]
        if of := _OF.search(text):
            before = _about_parameters(text[: of.start()], _parameters(home))
            entry = None if before else self.find(of[2], home)
            return own if entry is None else [entry.qualname]
        if own and _about_parameters(text, _parameters(home)):
            return own
        pointers = [match.span() for match in _POINTER.finditer(text)]
        marked = [
            entry.qualname
            for at, entry in self._marked(text, home)
            if not any(start <= at < end for start, end in pointers)
        ]
        return list(dict.fromkeys([*own, *marked[:1]]))

    def _named(
        self, entry: Symbol, home: Symbol, text: str
    ) -> tuple[list[str], list[str]]:
        """Symbols that a sentence about a symbol leads to, and what it refers to elsewhere."""
        pointers = [match.span() for match in _POINTER.finditer(text)]
        links, quoted = [], []
        for at, other in self._marked(text, home):
            if other is entry or any(start <= at < end for start, end in pointers):
                continue
            of = [
                name
                for name, owner in _OF.findall(text)
                if self.find(owner, home) is other
            ]
            mine = set(_parameters(entry))
            same = of or _about_parameters(text, set(_parameters(other)) - mine)
            if same:  # "what `other` takes as `same`"
                for place, told in self._about[other.qualname]:
                    if _about_parameters(told, same):
                        quoted.append(told)
                        links += [
                            e.qualname
                            for _, e in self._marked(told, place)
                            if e is not other
                        ]
                        links += [
                            n for n in self.mentioned(told) if n != other.qualname
                        ]
            else:
                links.append(other.qualname)
        links += self.mentioned(text)
        links = [name for name in dict.fromkeys(links) if name != entry.qualname]
        return links, quoted


def _sentences(entry: Symbol) -> list[tuple[str, str]]:
    """Sentences of a document, each with the parameter whose item it is."""
    found = []
    for title, body in entry.bodies.items():
        if title in _ASIDE:
            continue
        text = _FENCED.sub("", body)
        if title in _ITEMS:
            for item in re.split(r"\n(?=\S)", text):
                line = " ".join(item.split())
                match = _ITEM.match(line)
                found += [(match[1] if match else "", line)] if line else []
        else:
            found += [
                ("", line) for line in re.split(_BEGUN, " ".join(text.split())) if line
            ]
    return found


def _tells(text: str) -> bool:
    """Whether a sentence says what a symbol is or serves for, and not how it is given."""
    return (
        "`" not in text
        and " " in text
        and not (_RESULT.search(text) or _POINTER.search(text))
    )


def _parameters(entry: Symbol) -> dict[str, str]:
    """Parameters without a default, with their types."""
    given = entry.signature
    parameters = given.parameters if given is not None else None
    return {p.name: p.type for p in parameters or () if p.required and p.type}


def _about_parameters(text: str, names: Iterable[str]) -> list[str]:
    """Parameters that a sentence is about: in code marks, or as its item."""
    item = _ITEM.match(text)
    marked = {match[1] for match in _MARK.finditer(text)} | (
        {item[1]} if item else set()
    )
    return [name for name in names if name in marked]


def _fits(kind: str, signature: Signature | None) -> bool:
    """Whether what a symbol gives can be an input: an entry of a collection can, too."""
    given = signature.returns if signature is not None else ""
    return given == kind or (
        kind == "float" and given.partition("[")[0] in {"list", "dict"}
    )


@lru_cache(maxsize=50_000)
def _features(text: str) -> frozenset[str]:
    """Words that carry meaning, and pairs of neighbours."""
    words = [word.removesuffix("s") for word in words_of(text) if word not in COMMON]
    return frozenset([*words, *(f"{a} {b}" for a, b in pairwise(words))])


@dataclass(frozen=True, eq=False)
class Documentation:
    """The symbols of a corpus, and the pages that tools show of all its entries."""

    documents: Documents
    symbols: Sequence[Symbol]


@lru_cache(maxsize=8)
def _links_of(library: Documentation, packages: tuple[str, ...]) -> Links:
    """The links within packages; read once."""
    return Links(library.documents, library.symbols, packages)


def small_links(library: Documentation, query: str | None = None) -> Links | None:
    """The links within packages (that a query names), if all are too small for anybody to know."""
    named = None if query is None else set(re.findall(r"\w+", query))
    tops = (page.name.partition(".")[0] for page in library.documents.pages)
    sizes = Counter(top for top in tops if named is None or top in named)
    small = sizes and max(sizes.values()) <= SMALL_PACKAGE
    return _links_of(library, tuple(sorted(sizes))) if small else None


def library_of(retriever: Retriever | None) -> Documentation | None:
    """What is behind a retriever; ``None`` where it has no corpus. Made once for each."""
    return _library(cast("Hashable", retriever))


@lru_cache(maxsize=8)
def _library(retriever: Retriever | None) -> Documentation | None:
    corpus = None if retriever is None else retriever.corpus
    if corpus is None:
        return None
    pages = [Page(**render.page(entry)) for entry in corpus.entries]
    symbols = [entry for entry in corpus.entries if isinstance(entry, Symbol)]
    return Documentation(Documents(pages, corpus.aliases), symbols)


async def written_pages(corpus: Corpus) -> Path:
    """The folder with the pages of a corpus and its aliases, for code in the sandbox."""
    async with index_folder(corpus, "pages", _FORMAT) as (folder, fits, finish):
        if not fits:
            with (folder / PAGES).open("w", encoding="utf-8") as file:
                for entry in corpus.entries:
                    file.write(json.dumps(render.page(entry)) + "\n")
            aliases = json.dumps(dict(corpus.aliases))
            (folder / ALIASES).write_text(aliases, encoding="utf-8")
            finish()
    return folder
