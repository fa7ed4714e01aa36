"""Pronounceable new names that keep the style of the old ones, the same for the same seed."""

from __future__ import annotations

import builtins
import keyword
import random
import re
from collections.abc import Collection, Iterable, Iterator

_ONSETS = ("b", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z",
    "br", "dr", "fl", "gr", "kl", "pl", "st", "tr")  # fmt: skip
_VOWELS = ("a", "e", "i", "o", "u")
_CODAS = ("", "", "l", "n", "r", "s", "m", "x", "k")
_CAMEL_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+")
_MOST_WORDS = 3
_ATTEMPTS = 1000


class NameMaker:
    """Makes new names, none of them twice."""

    def __init__(self, seed: int | str, taken: Collection[str] = ()) -> None:
        self._random = random.Random(str(seed))  # noqa: S311 - names, not secrets
        self._taken = {word.lower() for word in taken}
        self._taken |= {word.lower() for word in (*keyword.kwlist, *dir(builtins))}

    def rename(self, old: str) -> str:
        """A new name in the style of ``old``: snake_case, CamelCase, CAPITALS, underscores."""
        core = old.strip("_")
        head = old[: len(old) - len(old.lstrip("_"))]
        tail = old[len(old.rstrip("_")) :]
        return f"{head}{self._styled(core)}{tail}"

    def word(self, syllables: int = 2) -> str:
        """One new lower-case word that was never used before.

        Raises
        ------
        RuntimeError
            When there are no more words of this length.
        """
        for _ in range(_ATTEMPTS):
            word = "".join(self._syllables(syllables))
            if word not in self._taken:
                self._taken.add(word)
                return word
        raise RuntimeError(f"no unused word of {syllables} syllables is left")

    def _styled(self, core: str) -> str:
        if core.isupper() and len(core) > 1:
            return "_".join(self.word().upper() for _ in _first(core.split("_")))
        if "_" in core:
            parts = _first([part for part in core.split("_") if part])
            return "_".join(self.word() for _ in parts)
        if core[:1].isupper():
            return "".join(self.word().capitalize() for _ in _first(_CAMEL_WORD.findall(core)))
        return self.word()

    def _syllables(self, count: int) -> Iterator[str]:
        for position in range(count):
            # Only the last syllable is closed; a single one always, open it is too short.
            codas = _CODAS[2:] if count == 1 else _CODAS if position == count - 1 else ("",)
            yield "".join(self._random.choice(part) for part in (_ONSETS, _VOWELS, codas))


def _first(parts: Iterable[str]) -> list[str]:
    return list(parts)[:_MOST_WORDS] or [""]


def is_distinctive(name: str) -> bool:
    """Whether a name cannot be an ordinary word of prose: an inner underscore, mixed case, a digit.

    Such a name is translated wherever it stands; a plain one only where it is marked as code.
    """
    core = name.strip("_")
    return len(core) > 2 and (
        "_" in core
        or any(letter.isdigit() for letter in core)
        or (not core.isupper() and not core[1:].islower() and core.isidentifier())
    )
