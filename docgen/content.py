"""What documents hold: facts, examples that ran, prose, or all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from docgen.facts import Content
from docgen.facts_writer import FactsWriter
from docgen.replies import SECTIONS, sections_of
from docgen.symbols import Library
from docgen.texts import Text

FELL_BACK = "(The example of this symbol fails, or its source has changed since: only facts here.)"


def contents(
    content: Content, library: Library, written: Mapping[str, Text], examples: Mapping[str, Text]
) -> dict[str, Text]:
    """The text of every symbol of a library."""
    if content == "written":
        return FactsWriter(library, written).all()
    return arrange(content, FactsWriter(library, {}).all(), written, examples)


def arrange(
    content: Content,
    facts: Mapping[str, Text],
    written: Mapping[str, Text],
    examples: Mapping[str, Text],
) -> dict[str, Text]:
    """The text of every symbol, of its facts and of what was written about some."""
    found: dict[str, Text] = {}
    for name, fact in facts.items():
        text, example = fact, examples.get(name)
        if content in {"prose", "all"} and name in written:
            text = replace(written[name], text=_with(written[name].text, ""), example=None)
        if content in {"examples", "all"} and example is not None:
            body = sections_of(example.text).get("Example", "")
            if example.example != "runs":
                needs = body if body.startswith("Needs ") and example.example != "fails" else ""
                body = f"{needs or FELL_BACK}\n{sections_of(fact.text).get('Example', '')}"
            text = replace(text, text=_with(text.text, body), example=example.example)
        found[name] = text
    return found


def _with(text: str, example: str) -> str:
    """A text with another example, or none."""
    sections = {**sections_of(text), "Example": example.strip()}
    order = sorted(sections, key=lambda t: SECTIONS.index(t) if t in SECTIONS else len(SECTIONS))
    return "\n\n".join(f"## {title}\n{sections[title]}" for title in order if sections[title])
