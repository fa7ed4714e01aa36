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
    heads = re.compile(_SECTION.format(heads=f"{_HEADS}|{_FIELDS}" if fields else _HEADS))
    for start, line in enumerate(lines):
        if found := heads.match(line):
            first, kind = start + 1, _GOOGLE
            if first < len(lines) and _UNDERLINE.match(lines[first]):
                first, kind = first + 1, _NUMPY
            end = _end_of_section(lines, first, len(found["indent"]), numpy=kind is _NUMPY)
            lines[first:end] = _reordered(lines[first:end], order, kind)
    if any(_REST.match(line) for line in lines):
        lines = _reordered(lines, order, _REST)
    return "\n".join(lines)


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
    heads = [
        (number, found)
        for number, line in enumerate(lines)
        if (found := kind.match(line)) and found["name"] in order
    ]
    depth = min((len(found["indent"]) for _, found in heads), default=0)
    starts = [(number, found["name"]) for number, found in heads if len(found["indent"]) == depth]
    names = [name for _, name in starts]
    if len(names) < 2 or len(set(names)) != len(names):
        return lines
    entries: dict[str, list[str]] = {}
    gaps: list[list[str]] = []
    for (start, name), (following, _) in zip(starts, [*starts[1:], (len(lines), "")], strict=True):
        end = _end_of_entry(lines, start, following, depth, kind)
        entries[name] = lines[start:end]
        gaps.append(lines[end:following])
    done = lines[: starts[0][0]]
    for name, gap in zip(sorted(names, key=order.index), gaps, strict=True):
        done += [*entries[name], *gap]
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
