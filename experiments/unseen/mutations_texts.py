"""Lists of parameters in docstrings, and calls that are shown in texts."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Sequence

_HEADS = "Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments"
_FIELDS = "Attributes|Fields"
_SECTION = r"^(?P<indent>[ \t]*)(?:{heads})[ \t]*:?[ \t]*$"
_REST = re.compile(r"^(?P<indent>[ \t]*):param(?:[ \t]+[^:\n]+?)?[ \t]+\*{0,2}(?P<name>\w+)[ \t]*:")
_GOOGLE = re.compile(
    r"^(?P<indent>[ \t]*)(?:[-*][ \t]+)?[`*]{0,2}(?P<name>\w+)`{0,2}[ \t]*(?:\(.*\))?[ \t]*:"
)
_NUMPY = re.compile(r"^(?P<indent>[ \t]*)\*{0,2}(?P<name>\w+)[ \t]*(?::.*)?$")
_UNDERLINE = re.compile(r"^[ \t]*-{3,}[ \t]*$")
_SAID = re.compile(r"\bdefault(?:s|ed)?\b", re.IGNORECASE)
_STATED = re.compile(
    r"\bdefault(?:s|ed)?\b(?:[\s:=`(]|\b(?:to|is|of|at|value)\b){0,8}"
    r"(?P<value>True\b|False\b|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w))",
    re.IGNORECASE,
)
_CALL = re.compile(r"\b(?P<name>[A-Za-z_]\w*)\((?=\s*(?P<first>[^\s)=,]+)\s*(?P<next>[,)=(\[]))")


def reorder_parameters(text: str, order: Sequence[str], *, fields: bool = False) -> str:
    """A docstring whose list of parameters stands in the order ``order``.

    Google, numpy and reST lists are known. Entries that are not in ``order`` stay where they are.

    Parameters
    ----------
    fields
        Whether a list of attributes counts too (a dataclass).
    """
    lines = text.split("\n")
    for first, end, kind in list(_lists(lines, fields=fields)):
        lines[first:end] = _reordered(lines[first:end], order, kind)
    return "\n".join(lines)


def change_default(text: str, name: str, before: str, after: str) -> str | None:
    """A docstring in which the default of a parameter is another.

    Returns
    -------
    str or None
        ``None`` when the text speaks of a default in another way: it cannot be made true.
    """
    lines = text.split("\n")
    known: set[int] = set()
    changed: dict[int, list[str]] = {}
    for first, end, kind in _lists(lines, fields=True):
        for start, stop, entry in _entries(lines[first:end], kind):
            place = range(first + start, first + stop)
            known |= set(place)
            if entry == name:
                new = _with_default("\n".join(lines[place.start : place.stop]), before, after)
                if new is None:
                    return None
                changed[place.start] = new.split("\n")
    if any(_SAID.search(line) for number, line in enumerate(lines) if number not in known):
        return None
    for start, new_lines in changed.items():
        lines[start : start + len(new_lines)] = new_lines
    return "\n".join(lines)


def _with_default(entry: str, before: str, after: str) -> str | None:
    """One entry with another default; ``None`` when it does not say the old one plainly."""
    if re.search(rf"=\s*{re.escape(before)}(?!\w)", entry):
        return None
    said = len(_SAID.findall(entry))
    found = [match for match in _STATED.finditer(entry) if _same(match["value"], before)]
    if said != len(found):
        return None
    for match in reversed(found):
        entry = entry[: match.start("value")] + after + entry[match.end("value") :]
    return entry


def _same(one: str, other: str) -> bool:
    words = {"True", "False"}
    if {one, other} & words:
        return one == other
    return float(one) == float(other)


def _lists(lines: Sequence[str], *, fields: bool) -> Iterator[tuple[int, int, re.Pattern[str]]]:
    """Lists of parameters in a docstring: first line, line after the last, how it is written."""
    heads = re.compile(_SECTION.format(heads=f"{_HEADS}|{_FIELDS}" if fields else _HEADS))
    for start, line in enumerate(lines):
        if found := heads.match(line):
            first, kind = start + 1, _GOOGLE
            if first < len(lines) and _UNDERLINE.match(lines[first]):
                first, kind = first + 1, _NUMPY
            end = _end_of_section(lines, first, len(found["indent"]), numpy=kind is _NUMPY)
            yield first, end, kind
    if any(_REST.match(line) for line in lines):
        yield 0, len(lines), _REST


def _entries(lines: Sequence[str], kind: re.Pattern[str]) -> Iterator[tuple[int, int, str]]:
    """Entries of a list: first line, line after the last, name."""
    heads = [(number, found) for number, line in enumerate(lines) if (found := kind.match(line))]
    depth = min((len(found["indent"]) for _, found in heads), default=0)
    starts = [(number, found["name"]) for number, found in heads if len(found["indent"]) == depth]
    ends = [*(start for start, _ in starts[1:]), len(lines)]
    for (start, name), following in zip(starts, ends, strict=False):
        yield start, _end_of_entry(lines, start, following, depth, kind), name


def _end_of_section(lines: Sequence[str], first: int, indent: int, *, numpy: bool) -> int:
    for number in range(first, len(lines)):
        line = lines[number]
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        if numpy:
            following = lines[number + 1] if number + 1 < len(lines) else ""
            if depth < indent or (depth == indent and _UNDERLINE.match(following)):
                return number
        elif depth <= indent:
            return number
    return len(lines)


def _reordered(lines: list[str], order: Sequence[str], kind: re.Pattern[str]) -> list[str]:
    """The lines with the entries of ``order`` in that order, in the places that they have."""
    found = [entry for entry in _entries(lines, kind) if entry[2] in order]
    names = [name for _, _, name in found]
    if len(names) < 2 or len(set(names)) != len(names):
        return lines
    texts = {name: lines[start:end] for start, end, name in found}
    starts = [start for start, _, _ in found]
    done = lines[: starts[0]]
    for name, (_, end, _), following in zip(
        sorted(names, key=order.index), found, [*starts[1:], len(lines)], strict=True
    ):
        done += [*texts[name], *lines[end:following]]
    return done


def _end_of_entry(
    lines: Sequence[str], start: int, following: int, depth: int, kind: re.Pattern[str]
) -> int:
    """An entry holds what is deeper, and what directly follows and is no entry itself."""
    end = start + 1
    for number in range(start + 1, following):
        line = lines[number]
        if not line.strip():
            continue
        if len(line) - len(line.lstrip()) <= depth and (
            number > end or kind.match(line) or line.lstrip().startswith(":")
        ):
            break
        end = number + 1
    return end


def shown_calls(source: str) -> Iterator[str]:
    """Names that are called with positional arguments in the texts and comments of a module."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            yield from shown_in_prose(token.string)


def shown_in_prose(text: str) -> Iterator[str]:
    """Names that are called with positional arguments in a text."""
    for found in _CALL.finditer(text):
        if found["next"] != "=" and found["first"] not in {"...", "self", "cls"}:
            yield found["name"]
