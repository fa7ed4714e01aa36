"""Reading a reply: the answer contract, strictly or with recorded repairs."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Literal

MAX_CODE_CHARACTERS = 200_000

_STRICT = re.compile(
    r"<answer>\s*<code>\s*```(?:python)?[ \t]*\n(?P<code>.*?)\n?[ \t]*```\s*</code>\s*"
    r"<name>\s*(?P<name>[A-Za-z_]\w*)\s*</name>\s*</answer>",
    re.DOTALL,
)
_CODE_TAG = re.compile(r"<code>\s*(.*?)\s*</code>", re.DOTALL)
_NAME_TAG = re.compile(r"<name>\s*`?([A-Za-z_]\w*)(?:\(\s*\))?`?\s*</name>")
_FENCE = re.compile(r"```[ \t]*(?:python|py)?[ \t]*\n(.*?)```", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """Code and the function to call in it; ``status`` says how it was read."""

    code: str
    entry: str
    status: Literal["strict", "repaired"]


def parse_answer(reply: str, *, strict: bool = False) -> Answer | None:
    """Read code and entry point from a reply.

    Parameters
    ----------
    reply
        The model's text.
    strict
        Accept only the tag contract, as the published benchmark does.

    Returns
    -------
    Answer or None
        ``None`` when no code can be read without guessing: several candidate blocks, or
        several functions and no name.
    """
    match = _STRICT.search(reply)
    if match and len(match["code"]) <= MAX_CODE_CHARACTERS and match["code"].strip():
        return Answer(match["code"], match["name"], "strict")
    if strict:
        return None
    code = _lenient_code(reply)
    if code is None or len(code) > MAX_CODE_CHARACTERS:
        return None
    name = _NAME_TAG.search(reply)
    entries = _callable_functions(code)
    if name and (entries is None or name[1] in entries):
        return Answer(code, name[1], "repaired")
    if entries is not None and len(entries) == 1:
        return Answer(code, entries[0], "repaired")
    return None


def _lenient_code(reply: str) -> str | None:
    tagged = _CODE_TAG.findall(reply)
    fenced = [block for block in _FENCE.findall(reply) if "def " in block]
    if len(tagged) == 1:
        inner = _FENCE.findall(tagged[0])
        return str(inner[0]) if len(inner) == 1 else str(tagged[0]).strip("`")
    return str(fenced[0]) if len(fenced) == 1 else None


def _callable_functions(code: str) -> list[str] | None:
    """Top-level functions that can be called without arguments; ``None`` for a syntax error."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            required = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
            keyword_only = sum(default is None for default in arguments.kw_defaults)
            if required == 0 and keyword_only == 0:
                found.append(node.name)
    return found
