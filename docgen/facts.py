"""Documents without a model: docstring, signature and call graph of a symbol, arranged.

Deterministic. Nothing is invented; where the source has no docstring the document says so. What a
model wrote, and examples that ran, are put in their places.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from docgen.docstrings import Described, Input, described, first_sentence, unit_of
from docgen.render import RELATIONS
from docgen.replies import SECTIONS, read_sections, summary_of
from docgen.symbols import FIRST, Library, Section, SectionItem, Symbol
from docgen.texts import (
    FAILS,
    VERSION,
    WrittenText,
    documented,
    source_hash,
    with_sections,
)
from docgen.writing import Content

NAME = "facts"  # of this writer; what it wrote is never kept, as it costs nothing
FELL_BACK = "(The example of this symbol fails, or its source has changed since: only facts here.)"
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_RELATED, _CALLERS = 6, 3  # symbols that are named
_TEXT = 160  # characters about one
_LINE, _LINES = 160, 8  # characters and lines of a definition that are shown


def contents(
    content: Content,
    library: Library,
    written: Mapping[str, WrittenText],
    examples: Mapping[str, WrittenText],
) -> list[Symbol]:
    """Every symbol with its document: of its facts, and of what was written about some."""
    if content == "written":
        return FactsWriter(library, written).all()
    writer = FactsWriter(library, {})
    prose = written if content in {"prose", "all"} else {}
    selection = examples if content in {"examples", "all"} else {}
    return [
        _composed(writer.facts(symbol), prose.get(name), selection.get(name))
        for name, symbol in library.symbols.items()
    ]


def _composed(
    facts: Symbol, prose: WrittenText | None, example: WrittenText | None
) -> Symbol:
    """A document by facts, or the prose without its example; with an example that ran."""
    composed = facts
    if prose is not None:
        without_example = _with_example(read_sections(prose.text), "")
        text = replace(prose, example=None)
        composed = with_sections(facts, without_example, text)
    if example is None:
        return composed
    body = _shown_example(example, facts.section("Example"))
    sections = _with_example(composed.sections, body, fails=example.example == "fails")
    return replace(composed, sections=tuple(sections), example=example.example)


def _shown_example(example: WrittenText, fallback: str) -> str:
    """An example that runs; else what it needs, or that it fails, above the fallback."""
    sections = read_sections(example.text)
    body = next((s.body for s in sections if s.title == "Example"), "")
    if example.example == "runs":
        return body
    needs = body.startswith("Needs ") and example.example != "fails"
    return f"{body if needs else FELL_BACK}\n{fallback}"


def _with_example(
    sections: Iterable[Section], example: str, *, fails: bool = False
) -> list[Section]:
    """The sections in the order of a document, with another example or none."""
    by_title: dict[str, Section] = {}
    for section in sections:
        if section.title and section.body:
            by_title.setdefault(section.title, _tidied(section))
    by_title.pop("Example", None)
    if example.strip():
        note = FAILS if fails else ""
        by_title["Example"] = Section("Example", f"{note}\n{example.strip()}\n\n")
    return sorted(by_title.values(), key=lambda section: _place(section.title))


def _place(title: str) -> int:
    return SECTIONS.index(title) if title in SECTIONS else len(SECTIONS)


def _tidied(section: Section) -> Section:
    """A section with one line break before its text and one empty line behind it."""
    if not section.items:
        return replace(section, text=f"\n{section.body}\n\n")
    *items, last = section.items
    last = replace(last, text=f"{last.text.rstrip()}\n\n")
    return replace(section, text=f"\n{section.text.lstrip()}", items=(*items, last))


class FactsWriter:
    """Documents the symbols of a library; a model wrote the ``texts`` of some."""

    def __init__(self, library: Library, texts: Mapping[str, WrittenText]) -> None:
        self._library, self._texts = library, texts
        self._callers = library.callers()

    def all(self) -> list[Symbol]:
        """Every symbol with its document: the model's where there is one, else by facts."""
        return [
            documented(symbol, self._texts[name])
            if name in self._texts
            else self.facts(symbol)
            for name, symbol in self._library.symbols.items()
        ]

    def facts(self, symbol: Symbol) -> Symbol:
        """The symbol with a document by facts."""
        sections = list(self._sections(symbol))
        origin = WrittenText(
            symbol.qualname, source_hash(symbol), VERSION, NAME, "", ""
        )
        return with_sections(symbol, sections, origin)

    def _sections(self, symbol: Symbol) -> Iterator[Section]:
        """In the order of a written document."""
        description = described(symbol.docstring)
        given = symbol.signature
        returns = given.returns if given is not None and given.is_python else ""
        listed = "Attributes" if symbol.kind in {"class", "module"} else "Parameters"
        bodies = {
            FIRST: description.summary or _named(symbol, description),
            listed: "",
            "Returns": description.returns or ("" if returns == "None" else returns),
            "Raises": description.raises or ", ".join(symbol.raises),
            "Details": description.details or _assignment(symbol),
            RELATIONS: "\n".join(self._relations(symbol)),
            "Notes": description.notes,
            "Example": description.example or _example(symbol),
        }
        for title, body in bodies.items():
            if title == listed and description.inputs:
                yield Section(title, "\n", tuple(_items(description.inputs)))
            elif body:
                yield Section(title, f"\n{body}\n\n")

    def _relations(self, symbol: Symbol) -> Iterator[str]:
        symbols = self._library.symbols
        bases = [base for base in symbol.bases if base in symbols]
        callees = [
            name for name in symbol.calls if name in symbols and name not in bases
        ]
        for label, names in (
            ("Built on", bases[:_RELATED]),
            ("Uses", callees[:_RELATED]),
        ):
            for name in names:
                summary = self._summary(symbols[name])
                yield f"- {label} `{seen_from(symbol, symbols[name])}`{summary and f': {summary}'}"
        if len(callees) > _RELATED:
            yield f"- and {len(callees) - _RELATED} more"
        callers = self._callers.get(symbol.qualname, ())
        for name in callers[:_CALLERS]:
            caller = symbols.get(name) or self._library.helpers[name]
            yield f"- Used by `{seen_from(symbol, caller)}`"
        if len(callers) > _CALLERS:
            yield f"- and {len(callers) - _CALLERS} more"

    def _summary(self, symbol: Symbol) -> str:
        written = self._texts.get(symbol.qualname)
        summary = (
            summary_of(written.text) if written else first_sentence(symbol.docstring)
        )
        return short(summary, _TEXT)


def _named(symbol: Symbol, description: Described) -> str:
    if description.returns:
        return first_sentence(description.returns)
    *_, owner, name = ("", *symbol.qualname.split("."))
    inside = symbol.kind in {"method", "property", "attribute"}
    place = f" of {owner}" if inside else f" in {owner}" if owner else ""
    words = " ".join(_WORD.findall(name)).lower()
    return f"{words.capitalize()}{place} (from its name; the source has no docstring)."


def _items(inputs: Mapping[str, Input]) -> Iterator[SectionItem]:
    """What a docstring says of each parameter or attribute, as lines of a section."""
    for number, (name, given) in enumerate(inputs.items(), start=1):
        kind = f" ({given.type})" if given.type else ""
        line = f"{name}{kind}: {given.text}".replace("\n", "\n    ")
        end = "\n\n" if number == len(inputs) else "\n"
        unit = unit_of(line)
        yield SectionItem(name.strip(), f"{line}{end}", unit, given.type)


def _assignment(symbol: Symbol) -> str:
    """How a constant comes about; its first lines, when it is a table."""
    if symbol.kind not in {"constant", "attribute"} or not symbol.source:
        return ""
    lines = symbol.source.splitlines()
    source = "\n".join(line[:_LINE] for line in lines[:_LINES])
    more = f"\n... ({len(lines) - _LINES} more lines)" if len(lines) > _LINES else ""
    return f"```python\n{source}{more}\n```"


def _example(symbol: Symbol) -> str:
    """A call with the required parameters as placeholders."""
    if symbol.kind == "module":
        return ""
    parent, _, name = symbol.import_path.rpartition(".")
    given = symbol.signature
    parameters = given.parameters if given is not None and given.is_python else ()
    required = [p.name for p in parameters or () if p.required]
    call = f"{name}({', '.join(required)})"
    line = f"from {parent} import {name}\n"
    if symbol.kind == "class":
        body = f"{line}{_variable(name)} = {call}"
    elif symbol.kind == "constant":
        body = f"{line}value = {name}"
    elif symbol.kind == "function":
        body = f"{line}result = {call}"
    else:
        owner = parent.rpartition(".")[2]
        static = {"classmethod", "staticmethod"}.intersection(
            symbol.modifiers
        ) or name.isupper()
        read = symbol.kind in {"property", "attribute"}
        body = (
            f"result = {owner if static else _variable(owner)}.{name if read else call}"
        )
    return f"```python\n{body}\n```"


def _variable(name: str) -> str:
    return "_".join(_WORD.findall(name)).lower() or name.lower()


def seen_from(user: Symbol, symbol: Symbol) -> str:
    """The name of a symbol, without its module where that is the user's."""
    file = PurePosixPath(symbol.path).with_suffix("")
    module = ".".join(file.parts).removesuffix(".__init__")
    same = symbol.path == user.path and symbol.kind != "module"
    return symbol.qualname.removeprefix(f"{module}.") if same else symbol.qualname


def short(text: str, limit: int) -> str:
    """The text, cut between words where it is longer than ``limit`` characters."""
    return text if len(text) <= limit else f"{text[:limit].rpartition(' ')[0]} ..."
