"""Everything that reads a model's text takes linear time: of anything much is read at once."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from agents import drafts, prompts
from agents.answer import has_code, read_answer, same_code
from agents.answer_formats import Block, Choices, File, Json, Letters, Number, Text
from agents.systems import agentic
from docgen.reading import fences, last_tagged, spoken
from docgen.replies import check_reply, clean_reply, section_of, split_reply
from retrieval.linking import Linker
from retrieval.rerank import read_order
from sandbox.inside import formats

SIZE = 300_000
FORMS = (Letters(), Choices(), Block("cif"), File("POSCAR"), Text(), Number("eV"), Json({"a": 1}))
#: Of the processor, not of the clock. Quadratic reading takes many seconds, linear reading less
#: than a fifth of one.
SECONDS = 0.7


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
    "linking": Linker([], {}).named,
    "packages": Linker([], {}).packages,
    "tags": lambda text: last_tagged(text, "query"),
    "thoughts": spoken,
    "fences": lambda text: list(fences(text)),
    "format": formats.read_format,
    "attempt": lambda text: prompts.render_attempt(prompts.Attempt(1, text, "ok", text)),
    **{f"answer, {form.name}": form.read for form in FORMS},
    "documentation, check": check_reply,
    "documentation, clean": clean_reply,
    "documentation, several symbols": lambda text: split_reply(text, ["a.b", "a.c"]),
    "documentation, one section": lambda text: section_of(text, "Returns"),
}


def _filled(unit, head="", tail=""):
    return head + unit * ((SIZE - len(head) - len(tail)) // len(unit)) + tail


TEXTS = {
    "blanks in code": _filled(" ", "<code>"),
    "blanks in an answer": _filled(" \n", "<answer><code>"),
    "blanks in feedback": _filled(" ", "<feedback>"),
    "blanks in a query": _filled("\t\n", "<query>", "</quer"),
    "blank lines": _filled("\n"),
    "blanks after a fence": _filled(" ", "```python"),
    "fences": _filled("```\n"),
    "backticks": _filled("`"),
    "code tags": _filled("<code>"),
    "answers": _filled("<answer><code>```python\n"),
    "queries": _filled("<queries><query><indices><names>"),
    "choices": _filled("<question1><answer_choices1><choice>A. <correct_answer1>"),
    "choice lists": _filled("</question> <answer_choices>", "<question>", "</answer_choices>"),
    "thoughts": _filled("<think></reasoning><thinking>"),
    "names": _filled("_."),
    "imports": _filled("from a import (\n"),
    "sections": _filled("<symbol>\n<facts>\n"),
    "prompts": _filled('<question>\n<document name="'),
    "attempts": _filled('<attempt number="1">\n', "<question>\n- `a`: Format: int\n</question>"),
    "braces": _filled('{"a":'),
    "brackets": _filled("["),
    "digits": _filled("9", "<indices>", "</indices>"),
    "answer is": _filled("answer is ", "", "E"),
    "parentheses": _filled("(", "<code>def f():", "</code>"),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("parser", PARSERS.values(), ids=PARSERS)
def test_much_of_anything_is_read_at_once(parser, text):
    began = time.process_time()
    parser(text)
    assert time.process_time() - began < SECONDS
