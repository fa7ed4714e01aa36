"""Symbols that a query names outright, in its code or as identifiers in its text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from docgen.symbols import Entry

MAX_PARTS = 20  # of a dotted name that is looked up
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


class Linker:
    """Resolves names to the symbols of a corpus.

    Parameters
    ----------
    entries
        Symbols, or chunks with the symbols that they cover.
    aliases
        Other import paths -> qualified names.
    """

    def __init__(self, entries: Sequence[Entry], aliases: Mapping[str, str]) -> None:
        self._aliases = aliases
        self._kinds: dict[str, str] = {}
        self._short: dict[str, set[str]] = {}
        self._inside: dict[str, list[str]] = {}
        for entry in entries:
            for qualname in entry.covers:
                self._kinds.setdefault(qualname, entry.kind)
                self._short.setdefault(qualname.rpartition(".")[2], set()).add(qualname)
                for parent in _parents(qualname):
                    self._inside.setdefault(parent, []).append(qualname)
        for qualname, kind in self._kinds.items():
            if kind not in {"module", "chunk"}:
                self._inside.pop(qualname, None)

    def resolve(self, name: str) -> str | None:
        """Qualified name of an exact path, a re-export, or an unambiguous short name.

        ``Structure.from_file`` is resolved like a short name with its owner in front.
        """
        wanted = name.strip().removesuffix("()")
        if wanted.count(".") > MAX_PARTS:
            return None
        if (exact := self._exact(wanted)) is not None:
            return exact
        candidates = self._candidates(wanted)
        return candidates.pop() if len(candidates) == 1 else None

    def named(self, query: str) -> list[str]:
        """Qualified names of the symbols that a query names, in order of appearance.

        Imports of its code count, and names in the text that cannot be English words.
        Properties and attributes of nothing in particular (``site.species``) do not.
        """
        found: dict[str, None] = {}
        for path in _imports(query):
            if (qualname := self._exact(path)) is not None:
                found.setdefault(qualname)
        prose = _FENCE.sub(" ", query)
        for match in _IDENTIFIER.finditer(prose):
            qualname = self.resolve(match.group())
            if qualname is not None and self._kinds[qualname] in {
                "class",
                "function",
                "method",
            }:
                found.setdefault(qualname)
        return [name for name in found if self._kinds[name] != "module"]

    def packages(self, query: str) -> list[Sequence[str]]:
        """For each package or module that the text of a query names: itself and all in it.

        A top-level package counts where its name stands as a word, a module where its dotted
        path does. Of ``a.b`` and ``a`` only ``a.b`` counts. An import is not a question about all
        of a package, even outside a code block.
        """
        prose = _STATEMENT.sub(" ", _FENCE.sub(" ", query))
        named = {m.group() for m in _PATH.finditer(prose) if m.group() in self._inside}
        outer = {part for name in named for part in _parents(name)}
        return [[name, *self._inside[name]] for name in sorted(named - outer)]

    def _exact(self, path: str) -> str | None:
        qualname = self._aliases.get(path, path)
        return qualname if qualname in self._kinds else None

    def _candidates(self, wanted: str) -> set[str]:
        owner, _, short = wanted.rpartition(".")
        if not owner:
            return set(self._short.get(short, ()))
        paths = (
            self._exact(f"{qualname}.{short}") for qualname in self._candidates(owner)
        )
        return {path for path in paths if path is not None}


def _parents(qualname: str) -> Iterator[str]:
    return accumulate(qualname.split(".")[:-1], "{}.{}".format)


def _imports(query: str) -> Iterator[str]:
    """Dotted paths that ``from module import name`` lines of a query bring in."""
    for match in _IMPORT.finditer(query):
        for name in match[2].strip("()").split(","):
            parts = name.split()
            if parts and parts[0].isidentifier():
                yield f"{match[1]}.{parts[0]}"
