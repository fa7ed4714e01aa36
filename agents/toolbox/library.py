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
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

SUMMARY = 160  # characters of a line that says what a symbol is
MAX_QUERY = 1000  # characters of a query, term or pattern
MAX_HITS = 1000  # of grep

_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_A-Za-z]+")
_GONE = re.compile(
    r"\b(?:deprecated|superseded|obsolete|no longer maintained)\b", re.IGNORECASE
)
COMMON = frozenset(
    re.findall(
        r"\w+",
        """
    a an and are as at be by can each for from give given gives how if in into is it its no not of
    on one only or same see that the their them then this to used value values what when where which
    whose will with""",
    )
)
_PLAIN = ("module", "class", "function", "constant")
_PROSE = ("What it does", "Details", "Notes", "Returns")


class Line(NamedTuple):
    """A symbol in one line; ``deprecated`` says why it should not be used, if it should not."""

    name: str
    kind: str
    summary: str
    deprecated: str = ""


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
    def sections(self) -> Mapping[str, str]:
        """The prose by heading; of a document that is no symbol's all of it, without one."""
        found: Mapping[str, str] = self.metadata.get("sections") or {"": self.text}
        return found

    @cached_property
    def what(self) -> str:
        """What the symbol is, in its own words."""
        return self.sections.get("What it does") or next(
            iter(self.sections.values()), ""
        )

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
        return Line(
            self.name, self.kind, _cut(self.definition, SUMMARY), self.deprecated
        )

    @cached_property
    def deprecated(self) -> str:
        """The sentence that says that it should not be used; empty for a current one."""
        about = "\n".join(self.sections.get(title, "") for title in ("", *_PROSE[:3]))
        found = _GONE.search(about)
        if found is None:
            return ""
        before = about[: found.start()].rpartition(". ")[2].rpartition("\n\n")[2]
        return " ".join((before + about[found.start() : found.start() + 300]).split())


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
        self,
        documents: Iterable[tuple[str, Mapping[str, Any]]],
        aliases: Mapping[str, str],
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
        entry = self._by_name.get(wanted) or self._by_name.get(
            self._aliases.get(wanted, "")
        )
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
        entry = self.find(name)
        if entry is None or not part:
            return None if entry is None else entry.text
        wanted = part[:MAX_QUERY].strip().removesuffix("()")
        member = self._by_name.get(f"{entry.name}.{wanted}") or next(
            (
                found
                for m in entry.metadata.get("members", ())
                if str(m).endswith(f".{wanted}")
                and (found := self._by_name.get(str(m)))
            ),
            None,
        )
        if member is not None:
            return member.text
        for title, body in {"facts": entry.facts, **entry.sections}.items():
            if title.lower() == wanted.lower():
                return f"{entry.name}, {title}:\n{body}"
        lines = [
            line for line in entry.text.splitlines() if wanted.lower() in line.lower()
        ]
        return (
            f"{entry.name}, lines with {wanted!r}:\n" + "\n".join(lines)
            if lines
            else None
        )

    def contents(self, package: str = "") -> list[Line]:
        """Symbols below a package or module, in the order of its documents."""
        found = self.find(package) if package else None
        prefix = package if found is None else found.name
        below = f"{prefix}."
        return [
            e.line for e in self.entries if not prefix or f"{e.name}.".startswith(below)
        ]

    def grep(self, pattern: str, package: str = "") -> list[tuple[str, str]]:
        """Lines of documents that match, at most `MAX_HITS`."""
        matches = re.compile(pattern[:MAX_QUERY], re.IGNORECASE).search
        found: list[tuple[str, str]] = []
        for entry in self.entries:
            if not entry.name.startswith(package) or len(found) >= MAX_HITS:
                continue
            found += [
                (entry.name, line) for line in entry.text.splitlines() if matches(line)
            ]
        return found[:MAX_HITS]

    def search(self, query: str, k: int = 10) -> list[Line]:
        """Documents that share words with a query, rare words and names counting most."""
        wanted = set(words_of(query[:MAX_QUERY])) - COMMON
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
        phrase = _phrase(words_of(term[:MAX_QUERY]))
        if not phrase.strip():
            return []
        ranked: list[tuple[int, Line]] = []
        for entry in self.entries:
            named, defined, said = self._terms[entry.name]
            if phrase not in said and phrase not in named and entry is not exact:
                continue
            tests = (
                entry is exact,
                named == phrase,
                phrase in defined,
                phrase in named,
                phrase in said,
            )
            ranked.append((tests.index(True), entry.line))
        best = min((rank for rank, _ in ranked), default=0)
        found = [
            (bool(line.deprecated), rank, line)
            for rank, line in ranked
            if rank == best or (rank < 3 and best < 3)
        ]
        return [line for _, _, line in sorted(found)]

    @cached_property
    def _terms(self) -> dict[str, tuple[str, str, str]]:
        """For each symbol the words of its name, of its definition, and of all that it is."""
        return {
            e.name: (
                _phrase(words_of(e.short)),
                _phrase(words_of(e.definition)),
                _phrase(words_of(e.what)),
            )
            for e in self.entries
        }


def words_of(text: str) -> list[str]:
    """Words of prose and of identifiers, in lower case."""
    return [word.lower() for word in _WORD.findall(text)]


def _phrase(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3].rstrip()}..."


@lru_cache(maxsize=1)
def _here() -> Documents:
    """The documents that lie beside this file, in the sandbox."""
    folder = Path(__file__).parent
    with (folder / "documents.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    aliases = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))[
        "aliases"
    ]
    return Documents(((row["page_content"], row["metadata"]) for row in rows), aliases)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return getattr(_here(), name)
