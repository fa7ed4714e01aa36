"""Everything that reads a model's text takes linear time: of anything much is read at once."""

import time
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from agents import drafts, prompts
from agents.answer import has_code, read_answer, same_code
from agents.answer_formats import Block, Choices, File, Json, Letters, Number, Text
from agents.models.written import read_calls
from agents.systems import agentic
from docgen.reading import fences, last_tagged, spoken
from docgen.replies import check_reply, clean_reply, section_of, split_reply
from indexes.table import SymbolTable
from retrieval.prompting import read_order
from sandbox.inside.formats import read_format
from tests.support.paths import DATA

SIZE = 300_000
FORMS = (
    Letters(),
    Choices(),
    Block("cif"),
    File("POSCAR"),
    Text(),
    Number("eV"),
    Json({"a": 1}),
)
#: Of the processor, not of the clock. Quadratic reading takes many seconds, linear reading less
#: than a fifth of one.
SECONDS = 3


def _or_refused(read):
    def tried(text):
        try:
            return read(text)
        except ValueError:
            return None

    return tried


#: Every parser of model text. A new one is a line here.
PARSERS: dict[str, Callable[[str], Any]] = {
    "answer": _or_refused(read_answer),
    "answer, strict": _or_refused(lambda text: read_answer(text, strict=True)),
    "answer, code": has_code,
    "answer, same": lambda text: same_code(text, text + "#"),
    "critique": drafts.read_critique,
    "critique, names": drafts.names_in,
    "draft, uses": drafts.used_names,
    "agentic, lines": lambda text: agentic.read_lines(text, "queries"),
    "agentic, names": agentic.read_names,
    "rerank": lambda text: read_order(text, 50),
    "linking": SymbolTable([], {}).named,
    "packages": SymbolTable([], {}).packages,
    "tags": lambda text: last_tagged(text, "query"),
    "thoughts": spoken,
    "fences": lambda text: list(fences(text)),
    "format": read_format,
    "calls": lambda text: read_calls(
        text, [{"function": {"name": "run", "parameters": {}}}]
    ),
    "attempt": lambda text: prompts.render_attempt(
        prompts.Attempt(1, text, "ok", text)
    ),
    **{f"answer, {type(form).__name__}": form.read for form in FORMS},
    "documentation, check": check_reply,
    "documentation, clean": clean_reply,
    "documentation, several symbols": lambda text: split_reply(text, ["a.b", "a.c"]),
    "documentation, one section": lambda text: section_of(text, "Returns"),
}


def _filled(unit, head="", tail=""):
    return head + unit * ((SIZE - len(head) - len(tail)) // len(unit)) + tail


GROWING = yaml.safe_load((DATA / "growing_texts.yaml").read_text())
TEXTS = {name: _filled(*parts) for name, parts in GROWING.items()}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("parser", PARSERS.values(), ids=PARSERS)
def test_much_of_anything_is_read_at_once(parser, text):
    began = time.process_time()
    parser(text)
    assert time.process_time() - began < SECONDS
