"""What a variable of an answer depends on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple


class Tag(NamedTuple):
    """One thing that a value depends on."""

    kind: Literal["call", "file", "number", "text", "unknown"]
    text: str
    line: int = 0


class Cell:
    """What a variable depends on; shared by the names of one object, so that changes are seen."""

    def __init__(self, tags: Iterable[Tag] = (), keys: Mapping[str, Cell] | None = None) -> None:
        self.own = set(tags)
        self.keys = dict(keys) if keys is not None else None

    @property
    def tags(self) -> set[Tag]:
        """Its own and those of its parts."""
        if not self.keys:
            return self.own
        seen = {id(self): self}
        found = [self]
        for cell in found:  # each once: parts may be shared, or hold each other
            new = {id(part): part for part in (cell.keys or {}).values() if id(part) not in seen}
            seen |= new
            found += new.values()
        return set().union(*(cell.own for cell in found))


def merged(cells: Sequence[Cell]) -> Cell:
    """What depends on any of them; keys stay apart."""
    tags: set[Tag] = set().union(*(cell.own for cell in cells))
    if not any(cell.keys for cell in cells):
        return Cell(tags)
    keys: dict[str, list[Cell]] = {}
    for cell in cells:
        for key, part in (cell.keys or {}).items():
            keys.setdefault(key, []).append(part)
    return Cell(tags, {key: parts[0] if len(parts) == 1 else merged(parts)
                       for key, parts in keys.items()})  # fmt: skip


def without_numbers(cell: Cell) -> Cell:
    """Without short numbers, which count."""
    return Cell(tag for tag in cell.tags if tag.kind != "number" or len(tag.text) > 3)


def without_text(cell: Cell) -> Cell:
    """A text that is given by keyword says how something is done."""
    if cell.keys is None and all(tag.kind == "text" for tag in cell.own):
        return Cell()
    return cell
