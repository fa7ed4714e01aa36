"""What docstrings say about single names, in the styles of the materials ecosystem (by griffe)."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from inspect import cleandoc
from textwrap import indent
from typing import Any

logging.getLogger("griffe").setLevel(logging.CRITICAL)  # what it cannot read stays text
CONSTRUCTOR = (
    "\n\nConstructor: "  # between the docstring of a class and that of its constructor
)

_TITLES = (
    "Args|Arguments|Parameters|Params|Attributes|Keyword Args|Keyword Arguments|Other Parameters|"
    "Returns?|Yields?|Raises|Notes?|Examples?|References?|Warnings?|See Also"
)
# griffe wants an empty line before a section, and no text behind its title
_SECTION = re.compile(rf"(?<!\n)\n(?=(?:{_TITLES}):[ \t]*\n)")
_ONLY = re.compile(rf"(?:{_TITLES}):[ \t]*\n(?=\S)")
_INLINE = re.compile(r"(?:^|(?<=\n))((?:Returns?|Yields?|Raises|Notes?):)[ \t]+(?=\S)")
_SHORT = re.compile(r"^(Return|Yield|Arguments|Params)(?=:$)", re.MULTILINE)
_TYPED = re.compile(r"^([ \t]*):i?var[ \t]+\S+[ \t]+(?=\w+:)", re.MULTILINE)
_DIRECTIVE = re.compile(
    r"^\.\.[ \t]+attribute:{1,2}[ \t]*(\w+)\n((?:\n|[ \t]+.*(?:\n|$))*)", re.MULTILINE
)
_LONG = {"Return": "Returns", "Yield": "Yields", "Arguments": "Args", "Params": "Args"}
# a full stop and a blank, but not that of "e.g. "
_SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)(?<!et al)(?<!Ref)(?<!vs)\. ")
_UNIT = re.compile(
    r"(?:\bin(?: units of)? |[(\[]|\bunits?:? )"
    r"((?:m?eV|[kM]?J|[kMG]?Pa|bar|K|[ÅA]|[Aa]ngstroms?|nm|[fp]s|[GT]Hz|cm|degrees?|radians?|"
    r"[Bb]ohr|Ha(?:rtrees?)?|Ry|[km]?g|amu|mol|[mk]?V)(?:[ ]?[/*^][ ]?[\w^-]+|\^?-?\d)*)"
    r"(?=[\s).,;\]]|$)"
)
_FIRST = "."  # stands before a docstring
_LONGEST = 240  # characters told about one name


@dataclass(frozen=True)
class Input:
    """A parameter or attribute as its description has it; unit and type may be empty."""

    text: str
    type: str = ""

    @property
    def unit(self) -> str:
        """The unit that the description names, else empty."""
        return unit_of(self.text) or unit_of(self.type)


@dataclass(frozen=True)
class Described:
    """A docstring by its parts; ``summary`` is the first paragraph of the prose."""

    summary: str = ""
    details: str = ""
    inputs: Mapping[str, Input] = field(default_factory=dict)
    returns: str = ""
    raises: str = ""
    notes: str = ""
    example: str = ""


@lru_cache(maxsize=20_000)
def described(docstring: str) -> Described:
    """The parts of a docstring in Google, numpy or Sphinx style."""
    own, _, constructor = docstring.partition(CONSTRUCTOR)
    text, inputs, sections = _parts(own)
    summary, _, details = text.partition("\n\n")
    if constructor:
        intro, more, others = _parts(constructor)
        details = "\n\n".join(filter(None, [details, intro]))
        inputs = {**more, **inputs}
        sections = {
            key: sections.get(key) or others.get(key, "")
            for key in {**others, **sections}
        }
    return Described(" ".join(summary.split()), details.strip(), inputs, **sections)


def first_sentence(text: str) -> str:
    """First sentence of a docstring on one line; of one that only lists, what is returned."""
    paragraph = text.strip().partition("\n\n")[0]
    if re.match(rf"(?:{_TITLES}|:param .*|:returns?):?[ \t]*(?:\n|$)", paragraph):
        parts = described(cleandoc(text))
        paragraph = parts.summary or parts.returns
    line = " ".join(paragraph.split())
    end = _SENTENCE_END.search(line)
    return line[: end.start() + 1] if end else line


def described_names(docstring: str) -> dict[str, str]:
    """What a docstring says about attributes and parameters, one line for each name."""
    lines = {
        name: " ".join(i.text.split())
        for name, i in described(docstring).inputs.items()
    }
    return {
        name: text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
        for name, text in lines.items()
        if text
    }


def unit_of(text: str) -> str:
    """The first unit that a text names as one, else empty."""
    match = _UNIT.search(text)
    return match[1] if match else ""


def _parts(docstring: str) -> tuple[str, dict[str, Input], dict[str, str]]:
    import griffe  # noqa: PLC0415 -- half a second, and only where documents are made

    text = cleandoc(docstring)
    if _ONLY.match(text):  # cleaned of the margin that its items had
        title, _, items = text.partition("\n")
        text = f"{title}\n{indent(items, '    ')}"
    text = _DIRECTIVE.sub(_attribute, _TYPED.sub(r"\1:ivar ", text))
    text = _INLINE.sub(r"\1\n    ", _SECTION.sub("\n\n", text))
    text = _SHORT.sub(lambda match: _LONG[match[1]], text)
    prose: list[str] = []
    inputs: dict[str, Input] = {}
    sections: dict[str, list[str]] = {}
    # at the very beginning griffe sees no section
    for section in griffe.parse_auto(griffe.Docstring(f"{_FIRST}\n\n{text}")):
        kind = section.kind.value
        value = section.value
        if kind == "text":
            prose.append(str(value).removeprefix(_FIRST).strip("\n"))
        elif kind in {"parameters", "other parameters", "attributes"}:
            for item in value:
                name = str(item.name).lstrip("*")
                inputs.setdefault(
                    name, Input(item.description.strip(), str(item.annotation or ""))
                )
        elif kind in {"returns", "yields", "receives"}:
            sections.setdefault("returns", []).append(_listed(value))
        elif kind == "raises":
            sections.setdefault("raises", []).append(_listed(value))
        elif kind == "examples":
            sections.setdefault("example", []).append(
                "\n".join(str(part) for _, part in value)
            )
        elif kind == "admonition":
            sections.setdefault("notes", []).append(str(value.contents))
    return (
        "\n\n".join(filter(None, prose)).strip(),
        inputs,
        {k: "\n".join(v) for k, v in sections.items()},
    )


def _attribute(match: re.Match[str]) -> str:
    return f"\nAttributes:\n    {match[1]}: {' '.join(match[2].split())}\n\n"


def _listed(items: Iterable[Any]) -> str:
    """What is returned or raised, one item a line: name, type and description where there."""
    lines = []
    for item in items:
        head = ": ".join(
            filter(None, [getattr(item, "name", ""), str(item.annotation or "")])
        )
        text = item.description.strip()
        lines.append(f"{head}: {text}" if head and text else head or text)
    return "\n".join(lines)
