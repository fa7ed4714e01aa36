"""What symbols need: which others their documents lead to.

A documentation tells a fact where it pleases: with a parameter, in the notes, in the introduction
of the module, beside a neighbour. So everything is read by sentences, and each sentence belongs to
the symbol that it is about, wherever it stands. Where references come from is a :data:`Source`
each; what is not followed is switched off one by one.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from docgen import prose, render
from docgen.symbols import FIRST, Signature, Symbol
from indexes.pages.names import NameIndex
from indexes.pages.words import COMMON, tokens, words

Source = Literal["marks", "same input", "terms", "owner"]
"""Names in code marks; what another symbol says of an input that is the same; rare pairs of words
that another symbol's document has; the class of a method."""
SOURCES: frozenset[Source] = frozenset({"marks", "same input", "terms", "owner"})

RARE = 3  # symbols that may share a word or phrase which is to name one of them
CANDIDATES = 16  # definitions that an input in other words may mean
TEXT = 400  # characters of what is said of such an input
_PLAIN = frozenset({"float", "int", "str", "bool", "list", "dict", "tuple"})
_ROOT = "\0"  # of a walk; no symbol is called so


class ReferenceGraph:
    """Names, and the names that each leads to, nearest first."""

    def __init__(self, edges: Mapping[str, Iterable[str]]) -> None:
        import networkx as nx  # noqa: PLC0415 -- slow

        self._graph: nx.DiGraph[str] = nx.DiGraph()
        self._graph.add_nodes_from([_ROOT, *edges])
        for name, others in edges.items():
            self._graph.add_edges_from((name, other) for other in others)

    def walk(
        self,
        roots: Iterable[str],
        neighbours: Callable[[str], Iterable[str]] | None = None,
    ) -> list[str]:
        """The roots and everything that they lead to, breadth first.

        ``neighbours`` replaces what a name leads to.
        """
        import networkx as nx  # noqa: PLC0415 -- slow

        follow = neighbours or self._graph.successors
        starts = [name for name in dict.fromkeys(roots) if name in self._graph]

        def nearest(name: str) -> Iterator[str]:
            return iter(starts if name == _ROOT else list(follow(name)))

        steps = nx.generic_bfs_edges(self._graph, _ROOT, neighbors=nearest)
        return [name for _, name in steps]


# -- sentences by the symbol that they are about


@dataclass(frozen=True)
class HomedSentence:
    """A sentence, and the symbol whose document says it."""

    home: Symbol
    text: str


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


@dataclass
class _Need:
    """What the document of one symbol leads to."""

    targets: list[str] = field(default_factory=list)
    quoted: list[str] = field(default_factory=list)  # said of the same input elsewhere
    linked: set[str] = field(default_factory=set)  # inputs of which something is named


class Documentation:
    """The documents of some packages, read by sentences.

    Parameters
    ----------
    names
        Of all symbols of the corpus.
    packages
        Import names whose symbols are read.
    sources
        What is followed from one symbol to another.
    """

    def __init__(
        self,
        symbols: Iterable[Symbol],
        names: NameIndex,
        packages: Sequence[str],
        sources: frozenset[Source] = SOURCES,
    ) -> None:
        self._names, self._packages, self._sources = names, packages, sources
        inside = [s for s in symbols if s.qualname.partition(".")[0] in packages]
        self._by_name = {symbol.qualname: symbol for symbol in inside}
        self._deprecated = {s.qualname for s in inside if prose.deprecation(s)}
        self._about: dict[str, list[HomedSentence]] = defaultdict(list)
        self._general: dict[str, list[str]] = defaultdict(
            list
        )  # of no symbol, by module
        self._says: dict[str, list[str]] = {}  # symbol -> what it is and serves for
        for symbol in inside:
            self._read(symbol)
        self._features = {
            n: [*map(_features, texts)] for n, texts in self._says.items()
        }
        self._weight = self._weights()
        self._owners = self._definers()
        self._needs = {
            name: self._need(symbol) for name, symbol in self._by_name.items()
        }
        edges = {name: need.targets for name, need in self._needs.items()}
        self._graph = ReferenceGraph(edges)

    def find(self, name: str, home: Symbol | None = None) -> Symbol | None:
        """A symbol by the name that a document gives it, of its own module first."""
        near = [] if home is None else [home.qualname, self._module(home.qualname)]
        for place in [*near, *self._packages]:
            if (symbol := self._by_name.get(f"{place}.{name}")) is not None:
                return symbol
        return self._by_name.get(self._names.find(name) or "")

    def mentioned(self, text: str) -> list[str]:
        """Symbols that share rare words with a text, likeliest first."""
        shared: Counter[str] = Counter()
        for feature in _features(prose.without_marked(text)):
            uses = [len(self._owners.get(word, ())) for word in feature.split()]
            if " " in feature and min(uses, default=0) <= RARE:
                owners = self._owners.get(feature, set())
                shared.update(owners - self._deprecated)
        ranked = sorted(shared.items(), key=lambda item: (-item[1], item[0]))
        return [name for name, _ in ranked[:RARE]]

    def meant(self, term: str) -> str:
        """The symbol that a term or name means; empty for none."""
        symbol = self.find(term)
        if symbol is not None:
            return symbol.qualname
        return next(iter(self.mentioned(term)), "")

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

        def neighbours(name: str) -> list[str]:
            picked = [chosen.get((name, p)) for p in required(self._by_name[name])]
            return [
                *self._needs[name].targets,
                *(target for target in picked if target),
                *self._owner(name),
            ]

        names = self._graph.walk(roots, neighbours)
        earlier = frozenset(known)
        new = [name for name in names if name not in earlier]
        modules = dict.fromkeys(map(self._module, new))
        parts = [
            render.noted_module(module, self._general[module])
            for module in modules
            if module in self._general
        ]
        parts += [self._noted(name, chosen) for name in new]
        open_inputs = (one for name in names for one in self._open(name, chosen))
        return Closure(tuple(names), "\n\n".join(parts), tuple(open_inputs))

    def candidates(self, wanted: OpenInput, text: str = "") -> list[tuple[str, str]]:
        """Symbols that an input may mean, each with the sentence that is most like it."""
        last = words(wanted.name)[-1:]
        features = _features(text or wanted.text) - set(last)
        scored = []
        for name, sentences in self._features.items():
            if name == wanted.symbol or name in self._deprecated:
                continue
            score, number = max(
                (self._like(features, sentence), -number)
                for number, sentence in enumerate(sentences)
            )
            if not _fits(wanted.type, self._by_name[name].signature):
                score *= 0.3
            if (
                last
                and len(last[0]) > 3
                and any(last[0] in sentence for sentence in sentences)
            ):
                score += 3
            if score > 0:
                scored.append((-score, name, self._says[name][-number]))
        return [(name, said) for _, name, said in sorted(scored)[:CANDIDATES]]

    # -- reading

    def _read(self, symbol: Symbol) -> None:
        """Give every sentence of a document to the symbols that it is about."""
        for item, text in prose.sentences(symbol):
            subjects = [symbol.qualname] if item else self._subjects(symbol, text)
            for subject in subjects:
                self._about[subject].append(HomedSentence(symbol, text))
            if symbol.kind == "module" and not subjects:
                self._general[symbol.qualname].append(text)
            plain = symbol.kind not in {"module", "class"} and not item
            if plain and prose.tells(text):
                self._says.setdefault(symbol.qualname, []).append(text)

    def _subjects(self, home: Symbol, text: str) -> list[str]:
        own = [] if home.kind == "module" else [home.qualname]
        if owned := prose.owned(text):
            start, _, owner = owned[0]
            before = prose.about(text[:start], required(home))
            symbol = None if before else self.find(owner, home)
            return own if symbol is None else [symbol.qualname]
        if own and prose.about(text, required(home)):
            return own
        marked = [symbol.qualname for symbol in self._marked(text, home)]
        return list(dict.fromkeys([*own, *marked[:1]]))

    def _marked(
        self, text: str, home: Symbol, *, pointed: bool = False
    ) -> list[Symbol]:
        """Symbols in code marks; ``pointed``: also where one only says where to look."""
        spans = [] if pointed else prose.pointers(text)
        symbols = (
            self.find(name, home)
            for at, name in prose.marked(text)
            if not any(start <= at < end for start, end in spans)
        )
        return [s for s in symbols if s is not None and s.kind != "module"]

    def _weights(self) -> dict[str, float]:
        all_features = [
            _features(s.text) for about in self._about.values() for s in about
        ]
        counts = Counter(feature for features in all_features for feature in features)
        return {
            feature: math.log(len(all_features) / n) for feature, n in counts.items()
        }

    def _definers(self) -> dict[str, set[str]]:
        """Feature -> symbols whose definition or name has it."""
        owners: dict[str, set[str]] = defaultdict(set)
        for name, sentences in self._features.items():
            short = _features(" ".join(words(self._by_name[name].name)))
            for feature in short.union(*sentences):
                owners[feature].add(name)
        return owners

    # -- references

    def _need(self, symbol: Symbol) -> _Need:
        need = _Need()
        for sentence in self._about[symbol.qualname]:
            inputs = prose.about(sentence.text, required(symbol))
            if not inputs:
                continue
            targets = [*self._by_marks(symbol, sentence, need.quoted)]
            if "terms" in self._sources:
                targets += self.mentioned(sentence.text)
            targets = [name for name in targets if name != symbol.qualname]
            need.targets += targets
            need.linked |= set(inputs) if targets else set()
        return need

    def _by_marks(
        self, symbol: Symbol, sentence: HomedSentence, quoted: list[str]
    ) -> Iterator[str]:
        """Symbols that a sentence names, or what those need for the same input."""
        own = required(symbol)
        for other in self._marked(sentence.text, sentence.home):
            if other is symbol:
                continue
            same = self._same_inputs(other, sentence, own)
            if not same and "marks" in self._sources:
                yield other.qualname
            elif same and "same input" in self._sources:
                yield from self._of_same_input(other, same, quoted)

    def _same_inputs(
        self, other: Symbol, sentence: HomedSentence, own: Mapping[str, str]
    ) -> list[str]:
        """Inputs of another symbol that a sentence says to be the same."""
        named = [
            name
            for _, name, owner in prose.owned(sentence.text)
            if self.find(owner, sentence.home) is other
        ]
        return named or prose.about(sentence.text, set(required(other)) - set(own))

    def _of_same_input(
        self, other: Symbol, inputs: Sequence[str], quoted: list[str]
    ) -> Iterator[str]:
        for sentence in self._about[other.qualname]:
            if not prose.about(sentence.text, inputs):
                continue
            quoted.append(sentence.text)
            for symbol in self._marked(sentence.text, sentence.home, pointed=True):
                if symbol is not other:
                    yield symbol.qualname
            if "terms" in self._sources:
                yield from (
                    name
                    for name in self.mentioned(sentence.text)
                    if name != other.qualname
                )

    def _owner(self, name: str) -> list[str]:
        """The class of a method."""
        owner = self._by_name.get(name.rpartition(".")[0])
        followed = "owner" in self._sources and owner is not None
        return [owner.qualname] if followed and owner and owner.kind == "class" else []

    # -- text

    def _noted(self, name: str, chosen: Mapping[tuple[str, str], str]) -> str:
        symbol, about = self._by_name[name], self._about[name]
        own = sorted(about, key=lambda sentence: sentence.home is not symbol)
        picked = ((p, chosen.get((name, p))) for p in required(symbol))
        given = [f"`{p}` is what `{target}` gives." for p, target in picked if target]
        texts = [*(s.text for s in own), *self._needs[name].quoted, *given]
        return render.noted(symbol, list(dict.fromkeys(texts)))

    def _open(
        self, name: str, chosen: Mapping[tuple[str, str], str]
    ) -> Iterator[OpenInput]:
        """Inputs of a symbol that lead nowhere and whose value could come from anywhere."""
        linked = self._needs[name].linked
        for parameter, kind in required(self._by_name[name]).items():
            if (
                not _is_plain(kind)
                or parameter in linked
                or chosen.get((name, parameter))
            ):
                continue
            texts = [
                sentence.text
                for sentence in self._about[name]
                if prose.about(sentence.text, (parameter,))
                and not prose.pointers(sentence.text)
            ]
            if texts:
                yield OpenInput(name, parameter, kind, " ".join(texts)[:TEXT])

    def _like(self, features: frozenset[str], other: frozenset[str]) -> float:
        size = math.fsum(self._weight.get(feature, 0) ** 2 for feature in other)
        shared = math.fsum(self._weight.get(f, 0) for f in features & other)
        return shared / math.sqrt(math.sqrt(1 + size))

    def _module(self, name: str) -> str:
        while name in self._by_name and self._by_name[name].kind != "module":
            name = name.rpartition(".")[0]
        return name


def required(symbol: Symbol) -> dict[str, str]:
    """Parameters without a default, with their types: annotated, described, or empty."""
    given = symbol.signature
    parameters = given.parameters if given is not None else None
    described = {item.name: item.type for item in symbol.inputs}
    return {
        parameter.name: parameter.type or described.get(parameter.name, "")
        for parameter in parameters or ()
        if parameter.required
    }


def _is_plain(kind: str) -> bool:
    """Whether a type is a number, text or collection of them, or not known."""
    words_of_type = kind.replace("[", " ").replace(",", " ").split()
    return not words_of_type or words_of_type[0] in _PLAIN


def _fits(kind: str, signature: Signature | None) -> bool:
    """Whether what a symbol gives can be an input: an entry of a collection can, too."""
    given = signature.returns if signature is not None else ""
    if not kind:
        return True  # unknown
    collection = kind == "float" and given.partition("[")[0] in {"list", "dict"}
    return given == kind or collection


@lru_cache(maxsize=50_000)
def _features(text: str) -> frozenset[str]:
    """Words that carry meaning, and pairs of neighbours."""
    telling = [word.removesuffix("s") for word in words(text) if word not in COMMON]
    return frozenset([*telling, *(f"{a} {b}" for a, b in pairwise(telling))])


# -- terms that documents define, for a ranking

_SHARED = 3  # symbols that may have a pair in common: one that more have says nothing
_FEW = 25  # documents that have the rarer word of a pair
_WHAT = 600  # characters of what a document says that its symbol is


def defined_terms(symbols: Sequence[Symbol]) -> ReferenceGraph:
    """From each symbol to those that define what its document mentions, by number.

    A term is a pair of neighbouring words, one of them rare, that hardly any other document has
    where it says what its symbol is. It is looked for where a document describes its parameters.
    What a small package holds is likely to be known to nobody: what a question asks for is found
    by its term and not by what it is like, and documents say what their inputs are computed from.
    In a large library both lose more than they gain (docs/appendix/retrieval.md).
    """
    defines = {symbol.qualname: _pairs(_defining(symbol)) for symbol in symbols}
    owners: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, pairs in defines.items():
        for pair in pairs:
            owners[pair].append(name)
    texts = (render.document(symbol) for symbol in symbols)
    counts = Counter(word for text in texts for word in set(tokens(text)))
    terms = {
        pair: names
        for pair, names in owners.items()
        if len(names) <= _SHARED and min(counts[word] for word in pair) <= _FEW
    }
    place = {symbol.qualname: number for number, symbol in enumerate(symbols)}

    def mentioned(symbol: Symbol) -> list[str]:
        """What a document mentions and does not define, most shared pairs first."""
        shared: Counter[str] = Counter()
        for pair in _pairs(_describing(symbol)) - defines[symbol.qualname]:
            shared.update(terms.get(pair, ()))
        del shared[symbol.qualname]
        return sorted(shared, key=lambda name: (-shared[name], place[name]))

    return ReferenceGraph({symbol.qualname: mentioned(symbol) for symbol in symbols})


def _defining(symbol: Symbol) -> str:
    """Name and first section; a module only names what its symbols define."""
    return "" if symbol.kind == "module" else f"{symbol.name}. {symbol.what[:_WHAT]}"


def _describing(symbol: Symbol) -> str:
    """What describes parameters: their section, and sentences elsewhere that quote a name."""
    texts = [item.text.strip() for item in symbol.inputs]
    for title in (FIRST, "Details", "Notes"):
        texts += prose.quoting(symbol.section(title))
    return "\n".join(texts)


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(tokens(text)))
