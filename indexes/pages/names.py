"""Which symbol a name means: the one resolver of names of a corpus."""

# Standard library only: also mounted in the sandbox.

from __future__ import annotations

from collections.abc import Iterable, Mapping

LONGEST = 1000  # characters of a name
_MOST_PARTS = 20  # of a dotted name


class NameIndex:
    """Qualified names, and the other paths under which they are known.

    Parameters
    ----------
    aliases
        Other import paths (re-exports, inherited members) -> qualified names.
    """

    def __init__(self, names: Iterable[str], aliases: Mapping[str, str]) -> None:
        self._names = dict.fromkeys(names)
        self._aliases = aliases
        self.by_short: dict[str, list[str]] = {}
        for name in self._names:
            self.by_short.setdefault(name.rpartition(".")[2], []).append(name)

    def exact(self, path: str) -> str | None:
        """The qualified name of a path, ``None`` when it is not known."""
        name = path if path in self._names else self._aliases.get(path)
        return name if name in self._names else None

    def find(self, name: str, *, inherited: bool = False) -> str | None:
        """The symbol of a path, or of the unambiguous end of one.

        Parameters
        ----------
        inherited
            Whether ``Owner.name`` may also be what `Owner` inherits or re-exports. Rankings and
            look-ups by name follow these; tools that show names as they are defined do not.
        """
        wanted = name[:LONGEST].strip().strip("`").removesuffix("()")
        if not wanted or wanted.count(".") > _MOST_PARTS:
            return None
        if (exact := self.exact(wanted)) is not None:
            return exact
        ends = self._inherited(wanted) if inherited else self._defined(wanted)
        return next(iter(ends)) if len(ends) == 1 else None

    def _defined(self, wanted: str) -> set[str]:
        same = self.by_short.get(wanted.rpartition(".")[2], ())
        return {name for name in same if name.endswith(f".{wanted}")}

    def _inherited(self, wanted: str) -> set[str]:
        owner, _, short = wanted.rpartition(".")
        if not owner:
            return set(self.by_short.get(short, ()))
        paths = (self.exact(f"{name}.{short}") for name in self._inherited(owner))
        return {path for path in paths if path is not None}
