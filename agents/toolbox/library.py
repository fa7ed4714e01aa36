"""The documentation of the installed libraries, for code to read.

contents(package="")        -> [Line(name, kind, summary)]: a map of the symbols below a package
lookup(name, part="")       -> the document of a symbol (or one section or member), or None
search(query, k=10)         -> [Line]: documents that share rare words with a query, best first
grep(pattern, package="")   -> [(name, line)]: lines that a regular expression matches
resolve(term)               -> [Line]: what defines a term or name, current definitions first
inputs(name)                -> [Link(how, name)]: where its arguments come from
tree(name, depth=3)         -> [(level, Link)]: what it needs, and what that needs, ...
near(name)                  -> [name]: similar names
"""

# Standard library only: also mounted in the sandbox, as the module ``docs``.

from __future__ import annotations

import difflib
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

SUMMARY = 160  # characters of a line that says what a symbol is
MAX_QUERY = 1000  # characters of a query, term or pattern
MAX_NODES = 200  # lines of a tree
MAX_HITS = 1000  # of grep
RARE = 3  # definitions that may share a word or phrase that links a description to them

_SECTION = re.compile(r"^#{1,4} +(.+?) *$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_A-Za-z]+")
_CODE = re.compile(r"`{1,2}([A-Za-z_][\w.]{2,200})(?:\(\))?`{1,2}")
_GONE = re.compile(r"\b(?:deprecated|superseded|obsolete|no longer maintained)\b", re.IGNORECASE)
_COMMON = frozenset(re.findall(r"\w+", """
    a an and are as at be by can each for from give given gives how if in into is it its no not of
    on one only or same see that the their them then this to used value values what when where which
    whose will with"""))  # fmt: skip
_PLAIN = ("module", "class", "function", "constant")
_PROSE = ("What it does", "Parameters", "Attributes", "Details", "Notes", "Returns")


class Line(NamedTuple):
    """A symbol in one line; ``successor`` and ``deprecated`` are about what should not be used."""

    name: str
    kind: str
    summary: str
    deprecated: str = ""


class Link(NamedTuple):
    """How a symbol is needed (``input charge: "the resting charge"``, ``type``, ...), and which."""

    how: str
    name: str


class Entry:
    """One document."""

    def __init__(self, text: str, metadata: Mapping[str, Any]) -> None:
        self.text = text
        self.metadata = metadata
        self.name = str(metadata["qualname"])
        self.kind = str(metadata.get("kind", ""))

    @property
    def short(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]

    @cached_property
    def facts(self) -> str:
        """What the source says, before the prose."""
        return self.text.partition("\n---\n")[0]

    @cached_property
    def sections(self) -> dict[str, str]:
        """The prose by heading; what precedes the first one has an empty heading."""
        prose = self.text.partition("\n---\n")[2] or self.text
        parts = _SECTION.split(prose)
        found = {"": parts[0].strip()} if parts[0].strip() else {}
        for title, body in zip(parts[1::2], parts[2::2], strict=True):
            found[title] = f"{found[title]}\n{body.strip()}" if title in found else body.strip()
        return found

    @cached_property
    def what(self) -> str:
        """What the symbol is, in its own words."""
        return self.sections.get("What it does") or next(iter(self.sections.values()), "")

    @cached_property
    def definition(self) -> str:
        """The first sentence of what the symbol is."""
        return re.split(r"(?<=[.!?]) ", " ".join(self.what.split()), maxsplit=1)[0]

    @cached_property
    def lower(self) -> str:
        """The document in lower case, for a search."""
        return self.text.lower()

    @cached_property
    def line(self) -> Line:
        """The document in one line."""
        return Line(self.name, self.kind, _cut(self.definition, SUMMARY), self.deprecated)

    @cached_property
    def deprecated(self) -> str:
        """The sentence that says that it should not be used; empty for a current one."""
        about = "\n".join(self.sections.get(title, "") for title in ("", *_PROSE[:1], *_PROSE[3:5]))
        found = _GONE.search(about)
        if found is None:
            return ""
        before = about[: found.start()].rpartition(". ")[2].rpartition("\n\n")[2]
        return " ".join((before + about[found.start() : found.start() + 300]).split())

    @property
    def prose(self) -> list[tuple[str, str]]:
        """Descriptions, each with what it describes: a parameter's name, or a section."""
        found = []
        for title in _PROSE:
            body = self.sections.get(title, "")
            if title not in {"Parameters", "Attributes"}:
                found.append((title.lower(), body))
                continue
            name, lines = "", list[str]()
            for line in body.splitlines():
                head = re.match(r"([A-Za-z_]\w*)\b", line)
                if head and name:
                    found.append((name, "\n".join(lines)))
                    lines = []
                name = head[1] if head else name
                lines.append(line)
            found.append((name or title.lower(), "\n".join(lines)))
        return [(name, text) for name, text in found if text.strip()]


class Documents:
    """Documents by name, by term, and by what they need.

    Parameters
    ----------
    documents
        Text and metadata of every document.
    aliases
        Other import paths -> qualified names.
    """

    def __init__(
        self, documents: Iterable[tuple[str, Mapping[str, Any]]], aliases: Mapping[str, str]
    ) -> None:
        self.entries = [Entry(text, metadata) for text, metadata in documents]
        self._aliases = aliases

    @cached_property
    def _by_name(self) -> dict[str, Entry]:
        named: dict[str, Entry] = {}
        for entry in self.entries:
            covers = entry.metadata.get("covers") or [entry.name]
            for name in (*covers, entry.metadata.get("import_path") or entry.name):
                named.setdefault(str(name), entry)
        return named

    @cached_property
    def _by_short(self) -> dict[str, list[Entry]]:
        shorts: dict[str, list[Entry]] = defaultdict(list)
        for entry in self.entries:
            shorts[entry.short.lower()].append(entry)
        return shorts

    def find(self, name: str) -> Entry | None:
        """A symbol by its name, another import path, or the unambiguous end of its name."""
        wanted = name[:MAX_QUERY].strip().strip("`").removesuffix("()")
        entry = self._by_name.get(wanted) or self._by_name.get(self._aliases.get(wanted, ""))
        if entry is not None or not wanted:
            return entry
        ending = f".{wanted}"
        same = self._by_short.get(wanted.rpartition(".")[2].lower(), ())
        found = {e.name: e for e in same if e.name.endswith(ending)}
        return next(iter(found.values())) if len(found) == 1 else None

    def near(self, name: str, n: int = 5) -> list[str]:
        """Names whose last part is similar, those with similar beginnings first."""
        short = name[:100].strip().rpartition(".")[2].lower()
        same = self._by_short.get(short, [])
        if same:
            names = [entry.name for entry in same]
            close = difflib.get_close_matches(name[:200], names, n=n, cutoff=0.0)
            return [*close, *(other for other in names if other not in close)][:n]
        grams = {short[i : i + 2] for i in range(len(short) - 1)}
        like = [
            other
            for other in self._by_short
            if abs(len(other) - len(short)) <= max(4, len(short) // 2)
            and 2 * len(grams & {other[i : i + 2] for i in range(len(other) - 1)}) >= len(grams)
        ]
        capital = name.rpartition(".")[2][:1].isupper()
        return [
            min(
                self._by_short[other],
                key=lambda e: (e.short[:1].isupper() != capital, e.kind not in _PLAIN, len(e.name)),
            ).name
            for other in difflib.get_close_matches(short, like, n=n, cutoff=0.5)
        ]

    def lookup(self, name: str, part: str = "") -> str | None:
        """The document of a symbol, or one section or member of it."""
        entry = self.find(name)
        if entry is None or not part:
            return None if entry is None else entry.text
        wanted = part[:MAX_QUERY].strip().removesuffix("()")
        member = self._by_name.get(f"{entry.name}.{wanted}") or next(
            (found for m in entry.metadata.get("members", ())
             if str(m).endswith(f".{wanted}") and (found := self._by_name.get(str(m)))), None
        )  # fmt: skip
        if member is not None:
            return member.text
        for title, body in {"facts": entry.facts, **entry.sections}.items():
            if title.lower() == wanted.lower():
                return f"{entry.name}, {title}:\n{body}"
        lines = [line for line in entry.text.splitlines() if wanted.lower() in line.lower()]
        return f"{entry.name}, lines with {wanted!r}:\n" + "\n".join(lines) if lines else None

    def contents(self, package: str = "") -> list[Line]:
        """Symbols below a package or module, in the order of its documents."""
        found = self.find(package) if package else None
        prefix = package if found is None else found.name
        below = f"{prefix}."
        return [e.line for e in self.entries if not prefix or f"{e.name}.".startswith(below)]

    def grep(self, pattern: str, package: str = "") -> list[tuple[str, str]]:
        """Lines of documents that match, at most `MAX_HITS`."""
        matches = re.compile(pattern[:MAX_QUERY], re.IGNORECASE).search
        found: list[tuple[str, str]] = []
        for entry in self.entries:
            if not entry.name.startswith(package) or len(found) >= MAX_HITS:
                continue
            found += [(entry.name, line) for line in entry.text.splitlines() if matches(line)]
        return found[:MAX_HITS]

    def search(self, query: str, k: int = 10) -> list[Line]:
        """Documents that share words with a query, rare words and names counting most."""
        wanted = set(_words(query[:MAX_QUERY])) - _COMMON
        scores: dict[int, float] = defaultdict(float)
        for word in sorted(wanted):
            counts = {
                number: entry.lower.count(word) + 5 * (word in entry.name.lower())
                for number, entry in enumerate(self.entries)
            }
            hits = {number: count for number, count in counts.items() if count}
            weight = math.log(1 + len(self.entries) / (1 + len(hits)))
            for number, count in hits.items():
                scores[number] += weight * count / (count + 2)
        best = sorted(scores, key=lambda number: (-scores[number], number))[:k]
        return [self.entries[number].line for number in best]

    def resolve(self, term: str) -> list[Line]:
        """What defines a term or name: exactly, else in as many of its words as possible."""
        exact = self.find(term)
        phrase = _phrase(_words(term[:MAX_QUERY]))
        if not phrase.strip():
            return []
        ranked: list[tuple[int, Line]] = []
        for entry in self.entries:
            named, defined, said = self._terms[entry.name]
            if phrase not in said and phrase not in named and entry is not exact:
                continue
            tests = (entry is exact, named == phrase, phrase in defined, phrase in named,
                     phrase in said)  # fmt: skip
            ranked.append((tests.index(True), entry.line))
        best = min((rank for rank, _ in ranked), default=0)
        found = [(bool(line.deprecated), rank, line) for rank, line in ranked
                 if rank == best or (rank < 3 and best < 3)]  # fmt: skip
        return [line for _, _, line in sorted(found)]

    @cached_property
    def _terms(self) -> dict[str, tuple[str, str, str]]:
        """For each symbol the words of its name, of its definition, and of all that it is."""
        return {
            e.name: (
                _phrase(_words(e.short)), _phrase(_words(e.definition)), _phrase(_words(e.what))
            )
            for e in self.entries
        }  # fmt: skip

    @cached_property
    def _phrases(self) -> dict[str, list[Entry]]:
        """Names of several words, and pairs with a rare word in definitions; whose they are."""
        found: dict[str, list[Entry]] = defaultdict(list)
        said = [e for e in self.entries if e.kind != "module" and not e.deprecated]
        uses = Counter(word for e in said for word in set(_words(e.definition)))
        for entry in said:
            name, words = _words(entry.short), _words(entry.definition)
            named = {" ".join(name)} if sum(word not in _COMMON for word in name) > 1 else set()
            pairs = {pair for pair in _pairs(words) if min(uses[w] for w in pair.split()) <= RARE}
            for phrase in named | pairs:
                found[phrase].append(entry)
        return {phrase: owners for phrase, owners in found.items() if len(owners) <= RARE}

    def inputs(self, name: str) -> list[Link]:
        """What a caller needs: types, bases, what descriptions of its inputs name, owner."""
        entry = self.find(name)
        if entry is None:
            return []
        links: dict[str, str] = {}
        for how in ("type", "base"):
            for other in entry.metadata.get(f"{how}s", ()):
                if (known := self._by_name.get(str(other))) is not None and known is not entry:
                    links.setdefault(known.name, how)
        for place, text in entry.prose:
            for found in (*self._told(text), *self._marked(text)):
                inside = found is entry or found.name.startswith(f"{entry.name}.")
                if not inside and found.kind != "module" and _root(found.name) == _root(entry.name):
                    how = f"input {place}" if place not in map(str.lower, _PROSE) else place
                    links.setdefault(found.name, f'{how}: "{_cut(found.line.summary, 60)}"')
        owner = self._by_name.get(entry.name.rpartition(".")[0])
        if owner is not None and owner.kind == "class":
            links.setdefault(owner.name, "called on")
        return [Link(how, other) for other, how in links.items()]

    def calls(self, name: str) -> list[str]:
        """Symbols of the library that its code calls."""
        entry = self.find(name)
        return [] if entry is None else [str(n) for n in entry.metadata.get("calls", ())]

    def tree(self, name: str, depth: int = 3) -> list[tuple[int, Link]]:
        """What a symbol needs, depth first; what was shown before is not expanded again."""
        root = self.find(name)
        if root is None:
            return []
        shown: list[tuple[int, Link]] = [(0, Link(root.kind, root.name))]
        seen = {root.name}
        waiting = [(1, link) for link in self.inputs(root.name)[::-1]]
        while waiting and len(shown) < MAX_NODES:
            level, link = waiting.pop()
            again = link.name in seen
            shown.append(
                (level, Link(f"{link.how} (shown above)" if again else link.how, link.name))
            )
            seen.add(link.name)
            if level < depth and not again:
                waiting += [(level + 1, inner) for inner in self.inputs(link.name)[::-1]]
        return shown

    def _told(self, text: str) -> list[Entry]:
        """Symbols whose name or definition shares rare phrases with a text, likeliest first."""
        shared: Counter[str] = Counter()
        owners: dict[str, Entry] = {}
        words = _words(text)
        for phrase in {" ".join(words[i : i + n]) for i in range(len(words)) for n in range(2, 5)}:
            for entry in self._phrases.get(phrase, ()):
                shared[entry.name] += 1
                owners[entry.name] = entry
        return [owners[name] for name, _ in sorted(shared.items(), key=lambda i: (-i[1], i[0]))][:4]

    def _marked(self, text: str) -> list[Entry]:
        found = (self.find(match[1]) for match in _CODE.finditer(text))
        return [entry for entry in found if entry is not None]


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _phrase(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


def _root(name: str) -> str:
    return name.partition(".")[0]


def _pairs(words: Sequence[str]) -> set[str]:
    """Words that follow each other and carry meaning."""
    return {f"{a} {b}" for a, b in pairwise(words) if a not in _COMMON and b not in _COMMON}


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3].rstrip()}..."


@lru_cache(maxsize=1)
def _here() -> Documents:
    """The documents that lie beside this file, in the sandbox."""
    folder = Path(__file__).parent
    with (folder / "documents.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    aliases = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["aliases"]
    return Documents(((row["page_content"], row["metadata"]) for row in rows), aliases)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return getattr(_here(), name)
