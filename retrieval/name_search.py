"""Search by what people type: a few words, of which most stand in the name that they mean.

Prompts are made with :meth:`retrieval.base.Retriever.search`, which ranks documents for a whole
question. This ranking is for people and their tools: it weighs the words of names, knows the
abbreviations of the field, and takes what is left from the documents.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from weakref import WeakKeyDictionary

from omegaconf import OmegaConf

from docgen.symbols import Entry, Symbol
from indexes.pages.words import tokens
from indexes.table import SymbolTable
from retrieval.base import MAP, Hit, Retriever

Words = tuple[str, ...]

#: Words of a query beyond which it is a question, and its documents matter more than names.
LONGEST_QUERY = 8
#: What a word is worth by where it stands.
NAME, OWNER, SUMMARY, MODULE = 1.0, 0.8, 0.5, 0.4
#: What a word is worth that is only akin to the one sought: of the same root, or its beginning.
SAME_ROOT, BEGINNING = 0.9, 0.7
SPELLED_OUT = 0.9  # an abbreviation by the words that it stands for
DOCUMENT = 0.35  # the best document, beside a name that matches wholly
USED = 0.04  # per factor of e in the number of signatures that take it
KINDS: Mapping[str, float] = {
    "class": 1.0,
    "function": 0.92,
    "method": 0.88,
    "property": 0.8,
    "module": 0.4,
    "attribute": 0.5,
    "constant": 0.4,
}
FOUNDATION = 0.2  # more in the package that the others build upon most
COMMAND = 0.7  # in a module that is a command, not an interface
COMMANDS = frozenset({"cli", "scripts", "__main__"})
CANDIDATES = 50  # documents that the ranking of questions gives
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n\s*\n")
_SUFFIX = re.compile(r"(?:ation|ator|ated|ate|ion|ing|er|or|ed|e)$")
SHORTEST_ROOT = 3  # letters that two words of one root share at least
SHORTEST_BEGINNING = 4  # letters of a word that may stand for a longer one


@dataclass(frozen=True)
class Term:
    """What a query asks for, in one or two forms: an abbreviation, and the words of it."""

    forms: tuple[tuple[Words, float], ...]


class NameSearch:
    """The words of the names in a corpus.

    Parameters
    ----------
    entries
        Of the corpus. Chunks have no name and are left out.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._symbols = [entry for entry in entries if isinstance(entry, Symbol)]
        classes = {s.qualname for s in self._symbols if s.kind == "class"}
        self._names = [tuple(tokens_of_name(s.name)) for s in self._symbols]
        self._places: dict[str, dict[int, float]] = defaultdict(dict)
        for position, symbol in enumerate(self._symbols):
            for word, weight in _weighted_words(symbol, classes):
                weights = self._places[word]
                weights[position] = max(weight, weights.get(position, 0.0))
        self._akin = _by_beginning(self._places)
        taken = Counter(name for symbol in self._symbols for name in symbol.types)
        built_upon = _built_upon(self._symbols)
        self.priors = {
            symbol.qualname: _prior(symbol, taken[symbol.qualname], built_upon)
            for symbol in self._symbols
        }

    def scores(self, query: str) -> dict[str, float]:
        """Qualified names that share words with the query, each with at most about one."""
        query_terms = terms(query)
        evidence = [self._evidence(term) for term in query_terms]
        importance = [self._importance(term) for term in query_terms]
        total = sum(importance)
        scores: dict[str, float] = {}
        for position in set().union(*evidence):
            coverage = sum(
                weight * by_position.get(position, 0.0)
                for weight, by_position in zip(importance, evidence, strict=True)
            )
            precision = self._precision(position, query_terms)
            name = self._symbols[position].qualname
            scores[name] = (
                self.priors[name] * coverage / total * (0.5 + 0.5 * precision)
            )
        return scores

    def _evidence(self, term: Term) -> dict[int, float]:
        """How well each symbol shows a term, from 0 to 1, by its best form."""
        best: dict[int, float] = {}
        for form, factor in term.forms:
            total = sum(map(self._rarity, form))
            sums: dict[int, float] = defaultdict(float)
            for word in form:
                share = factor * self._rarity(word) / total
                for position, weight in self._positions(word).items():
                    sums[position] += share * weight
            for position, weight in sums.items():
                best[position] = max(weight, best.get(position, 0.0))
        return best

    def _positions(self, word: str) -> dict[int, float]:
        """Where a word stands, or one that is akin to it."""
        positions: dict[int, float] = {}
        for other in {word, *self._akin.get(word[:SHORTEST_ROOT], ())}:
            factor = kinship(word, other)
            if factor == 0:
                continue
            for position, weight in self._places.get(other, {}).items():
                positions[position] = max(factor * weight, positions.get(position, 0.0))
        return positions

    def _importance(self, term: Term) -> float:
        return max(max(map(self._rarity, form)) for form, _ in term.forms)

    def _rarity(self, word: str) -> float:
        """Inverse document frequency over names and first sentences, above zero."""
        texts = len(self._places.get(word, ()))
        return math.log((2 + len(self._symbols)) / (1 + texts))

    def _precision(self, position: int, query_terms: Sequence[Term]) -> float:
        """How much of a symbol's own name the query says, rare words counting more."""
        name = self._names[position]
        sought = {
            word for term in query_terms for form, _ in term.forms for word in form
        }
        total = sum(map(self._rarity, name))
        if total == 0:
            return 0.0
        said = (
            self._rarity(word) * max(kinship(other, word) for other in sought)
            for word in name
        )
        return sum(said) / total


_searches: WeakKeyDictionary[SymbolTable, NameSearch] = WeakKeyDictionary()


async def find(retriever: Retriever, query: str, *, k: int) -> Sequence[Hit]:
    """The ``k`` best symbols for what a person typed, best first.

    Long queries, and retrievers without a corpus of symbols, are searched as questions are.

    Raises
    ------
    RetrievalError
        When the index or an endpoint behind the retriever failed.
    """
    corpus = retriever.corpus
    if corpus is None or not 0 < len(set(tokens(query))) <= LONGEST_QUERY:
        return await retriever.search(query, k=k)
    if corpus.table not in _searches:
        _searches[corpus.table] = NameSearch(corpus.entries)
    names = _searches[corpus.table]
    scores = names.scores(query)
    hits = await retriever.search(query, k=max(k, CANDIDATES))
    if not scores:
        return hits[:k]
    documents = [hit for hit in hits if hit.entry.kind != MAP]
    best = max((hit.score or 0.0 for hit in documents), default=0.0) or 1.0
    for hit in documents:
        name = hit.entry.qualname
        share = DOCUMENT * names.priors.get(name, 1.0) * (hit.score or 0.0) / best
        scores[name] = scores.get(name, 0.0) + share
    order = sorted(scores, key=lambda name: (-scores[name], len(name), name))
    by_name = {hit.entry.qualname: hit.entry for hit in documents}
    entries = ((name, by_name.get(name) or corpus.table.find(name)) for name in order)
    ranked = [Hit(entry, scores[name]) for name, entry in entries if entry is not None]
    return ranked[:k]


def terms(query: str) -> list[Term]:
    """The terms of a query: its words, and the abbreviations that it uses or spells out."""
    words = tokens_of_name(query)
    result: list[Term] = []
    for abbreviation, phrase in abbreviations().items():
        if len(phrase) > 1 and _contains(words, phrase):
            words = [word for word in words if word not in phrase]
            result.append(Term(((phrase, 1.0), ((abbreviation,), SPELLED_OUT))))
    for word in dict.fromkeys(words):
        forms: list[tuple[Words, float]] = [((word,), 1.0)]
        if word in abbreviations():
            forms.append((abbreviations()[word], SPELLED_OUT))
        result.append(Term(tuple(forms)))
    return result


@lru_cache(maxsize=200_000)
def kinship(sought: str, word: str) -> float:
    """How much one word stands for another: itself, one of the same root, or a beginning."""
    if sought == word:
        return 1.0
    root = _SUFFIX.sub("", sought)
    if len(root) >= SHORTEST_ROOT and root == _SUFFIX.sub("", word):
        return SAME_ROOT
    shorter, longer = sorted((sought, word), key=len)
    if len(shorter) >= SHORTEST_BEGINNING and longer.startswith(shorter):
        return BEGINNING
    return 0.0


def tokens_of_name(text: str) -> list[str]:
    """The words of names and prose, without the names as a whole."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_.]", " ", text)
    return tokens(spaced)


@cache
def abbreviations() -> Mapping[str, Words]:
    """Abbreviations of the field -> the words that they stand for."""
    table = OmegaConf.load(Path(__file__).with_name("abbreviations.yaml"))
    return {
        str(key).lower(): tuple(dict.fromkeys(tokens(str(phrase))))
        for key, phrase in table.items()
    }


def _built_upon(symbols: Iterable[Symbol]) -> Mapping[str, float]:
    """Top-level package -> from 0 to 1, how much signatures of other packages take of it."""
    pairs = [
        (_top(symbol.qualname), _top(name))
        for symbol in symbols
        for name in symbol.types
    ]
    counts = Counter(base for package, base in pairs if base != package)
    most = math.log1p(max(counts.values(), default=1))
    return {base: math.log1p(count) / most for base, count in counts.items()}


def _prior(symbol: Symbol, taken: int, built_upon: Mapping[str, float]) -> float:
    """What speaks for a symbol before anything is asked."""
    prior = KINDS.get(symbol.kind, 0.5) * (1 + USED * math.log1p(taken))
    prior *= 1 + FOUNDATION * built_upon.get(_top(symbol.qualname), 0.0)
    if not COMMANDS.isdisjoint(symbol.qualname.split(".")):
        prior *= COMMAND
    return prior


def _top(qualname: str) -> str:
    return qualname.partition(".")[0]


def _weighted_words(
    symbol: Symbol, classes: Iterable[str]
) -> Iterator[tuple[str, float]]:
    owner = symbol.qualname.rpartition(".")[0]
    member = owner in classes
    module = owner.rpartition(".")[0] if member else owner
    texts = [
        (symbol.name, NAME),
        (_SENTENCE.split(symbol.what, maxsplit=1)[0], SUMMARY),
        (module, MODULE),
    ]
    if member:
        texts.append((owner.rpartition(".")[2], OWNER))
    for text, weight in texts:
        for word in tokens_of_name(text):
            yield word, weight


def _by_beginning(words: Iterable[str]) -> dict[str, list[str]]:
    """Words by their first letters: only these can be akin."""
    groups: dict[str, list[str]] = defaultdict(list)
    for word in words:
        groups[word[:SHORTEST_ROOT]].append(word)
    return groups


def _contains(words: Sequence[str], phrase: Words) -> bool:
    size = len(phrase)
    return any(
        tuple(words[start : start + size]) == phrase for start in range(len(words))
    )
