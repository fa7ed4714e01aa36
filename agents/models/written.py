"""Calls that a model wrote into its text, in the marks that its training taught it.

A server that has no parser for a model (or whose parser failed) leaves them there. Known are the
fenced block of our own protocol; JSON behind the marks of Hermes and Qwen, Mistral, Granite, Phi,
Nemotron, Command R and InternLM; a name and JSON (Mistral's later ones, DeepSeek, Kimi, Llama);
the XML of Qwen3-Coder, GLM, MiniMax and Claude; Python calls of LFM2 and Llama 4; and JSON that is
all of a reply. The text is hostile: it is read in linear time and under caps, and never evaluated.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from docgen.reading import fences, spoken

#: The argument that the text protocol writes plainly, below the JSON.
BODY = "code"
MAX_CALLS = 64  # of one reply that are read
MAX_MARKS = 200  # that are tried
MAX_ARGUMENTS = 200_000  # characters of the arguments of one call
MAX_NAME = 100  # characters of a tool's name

_FENCED = frozenset({"tool", "tool_call"})
_UNMARKED = frozenset({"json", ""})
_NAMES = ("name", "tool_name", "function", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input")

#: What a model may call, as OpenAI's API describes functions.
ToolSchemas = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class WrittenCall:
    """A call as it was written; ``arguments`` are an object, or the text that is none."""

    name: str
    arguments: Any

    @property
    def sent(self) -> dict[str, Any]:
        """As `agents.models.calls.calls_of` takes it."""
        return {"name": self.name, "args": self.arguments}


@dataclass(frozen=True)
class _Span:
    """Calls between two places of a text."""

    start: int
    end: int
    calls: tuple[WrittenCall, ...]


_Reader = Callable[[str, int, ToolSchemas], _Span | None]

_BAR = "[|\N{FULLWIDTH VERTICAL LINE}]"
_JSON_MARK = re.compile(
    rf"<(?:tool_calls?|TOOLCALL|function_calls?)>\s*|\[TOOL_CALLS\]\s*|\bfunctools(?=\[)"
    rf"|(?:<{_BAR}action_start{_BAR}>\s*)?"
    rf"<{_BAR}(?:tool_calls?|python_tag|START_ACTION|plugin|tool_call_start){_BAR}>\s*",
)
_CLOSING = re.compile(
    r"\s*(?:</(?:tool_calls?|TOOLCALL|function_calls?|function|minimax:tool_call|s)>"
    rf"|</(?:{_BAR}DSML{_BAR}|[a-z]{{1,20}}:)?(?:invoke|function_calls)>"
    rf"|<{_BAR}/?(?:tool_calls?|END_ACTION|action_end|tool_call_end|call|end|eom_id|eot_id){_BAR}>"
    rf"|<{_BAR}(?:tool_calls_section_end|im_end|tool▁calls?▁end|end▁of▁sentence){_BAR}>)"
)
_MISTRAL = re.compile(
    r"\[TOOL_CALLS\]\s*([\w.-]{1,100})(?:\[CALL_ID\]\w{0,100})?(?:\[ARGS\])?\s*(?=\{)"
)
_DEEPSEEK = re.compile(
    rf"<{_BAR}tool▁call▁begin{_BAR}>(?:function)?(?:<{_BAR}tool▁sep{_BAR}>)?\s*([\w.-]{{1,100}})"
    rf"(?:<{_BAR}tool▁sep{_BAR}>)?\s*(?:```json\s*)?(?=\{{)"
)
_KIMI = re.compile(
    r"<\|tool_call_begin\|>\s*([\w.:-]{1,100})\s*<\|tool_call_argument_begin\|>\s*(?=\{)"
)
_LLAMA = re.compile(r"<function=([\w.-]{1,100})>\s*(?=\{)")
_XML = re.compile(r"(?:<tool_call>\s*)?<function=([\w.-]{1,100})>")
_XML_VALUE = re.compile(r"\s*<parameter=([\w.-]{1,100})>")
_GLM = re.compile(r"<tool_call>\s*([\w.-]{1,100})\s*(?=<arg_key>|</tool_call>|\Z)")
_GLM_KEY = re.compile(r"\s*<arg_key>\s*([\w.-]{1,100})\s*</arg_key>\s*<arg_value>")
_DSML = rf"(?:{_BAR}DSML{_BAR}|[a-z]{{1,20}}:)?"
_INVOKE = re.compile(rf'<{_DSML}invoke name="([\w.-]{{1,100}})">')
_INVOKE_VALUE = re.compile(
    rf'\s*<{_DSML}parameter name="([\w.-]{{1,100}})"(?: string="\w{{0,5}}")?>'
)
_OPENING = re.compile(
    rf"(?:<(?:minimax:)?(?:tool_calls?|function_calls)>|<{_BAR}DSML{_BAR}function_calls>"
    rf"|<{_BAR}tool▁calls▁begin{_BAR}>|<\|tool_calls_section_begin\|>)\s*\Z"
)
_DECODER = json.JSONDecoder()


def read_calls(text: str, tools: ToolSchemas) -> tuple[str, tuple[WrittenCall, ...]]:
    """The calls that a text makes, and what it says before them.

    Of our own protocol the first call counts; of a model's own marks all that follow each other.
    What comes after was written without a result, and is dropped.
    """
    words = spoken(text)
    spans = [span for reader in _READERS if (span := reader(words, 0, tools))]
    if not spans:
        return text, ()
    span = min(spans, key=lambda span: span.start)
    return words[: span.start].strip(), span.calls[: MAX_CALLS + 1]


def calls_in_reasoning(thoughts: str, tools: ToolSchemas) -> tuple[WrittenCall, ...]:
    """The calls that end a model's thoughts: it made them, and a server mistook them for thoughts.

    A call amid thoughts was only considered.
    """
    for reader in _MARKED:
        start = 0
        for _ in range(MAX_MARKS):
            span = reader(thoughts, start, tools)
            if span is None:
                break
            if not thoughts[span.end :].strip():
                return span.calls[: MAX_CALLS + 1]
            start = span.end
    return ()


# -- readers; each gives the first call at or after a place, and those that follow it directly


def _fenced(text: str, start: int, tools: ToolSchemas) -> _Span | None:
    """Our own protocol, and JSON in a fence that names a tool."""
    whole = f"{text[start:]}\n```"  # the last block may not be closed
    names = _names(tools)
    for language, content in fences(whole):
        head, _, body = content.partition("\n---\n")
        value = _json(head)
        call = _call_of(value)
        offered = call is not None and call.name in names
        if language not in _FENCED and not (language in _UNMARKED and offered):
            continue
        before = whole[: whole.index(content)].rpartition("```")[0]
        place = start + len(before)
        return _Span(place, start + len(whole), (_request(value, head, body),))
    return None


def _request(value: Any, head: str, body: str) -> WrittenCall:
    """A call of the text protocol, with the code below its JSON."""
    if not isinstance(value, dict):
        return WrittenCall("", head)
    call = _call_of(value) or WrittenCall(str(value.get("name") or ""), {})
    arguments = call.arguments
    if body.strip() and isinstance(arguments, dict):
        arguments = {**arguments, BODY: body.removesuffix("\n")}
    return WrittenCall(call.name, arguments)


def _marked_json(text: str, start: int, tools: ToolSchemas) -> _Span | None:
    """JSON, or a Python call, behind a mark."""
    for mark in islice(_JSON_MARK.finditer(text, start), MAX_MARKS):
        calls, end = _json_at(text, mark.end())
        if not calls:
            calls, end = _python_at(text, mark.end(), tools)
        if calls:
            return _following(_Span(mark.start(), end, calls), text)
        if broken := _broken(text, mark):
            return broken
    return None


def _broken(text: str, mark: re.Match[str]) -> _Span | None:
    """A complete call whose JSON cannot be read, which the model is to be told."""
    closing = text.find("</tool_call>", mark.end())
    is_xml = text.startswith("<", mark.end()) or _GLM.match(text, mark.start())
    if closing < 0 or is_xml or not mark[0].startswith("<tool_call>"):
        return None
    call = WrittenCall("", text[mark.end() : closing])
    return _Span(mark.start(), closing + len("</tool_call>"), (call,))


def _following(span: _Span, text: str) -> _Span:
    """The calls and those that come directly after them."""
    calls, end = list(span.calls), _closed(text, span.end)
    while len(calls) <= MAX_CALLS:
        match = _JSON_MARK.match(text, end)
        if match is None:
            break
        more, after = _json_at(text, match.end())
        if not more:
            break
        calls += more
        end = _closed(text, after)
    return _Span(span.start, end, tuple(calls))


def _named_json(pattern: re.Pattern[str]) -> _Reader:
    """Readers of a name and JSON."""

    def read(text: str, start: int, _tools: ToolSchemas) -> _Span | None:
        first = pattern.search(text, start)
        match, calls, end = first, list[WrittenCall](), start
        while match is not None and len(calls) <= MAX_CALLS:
            value, after = _raw(text, match.end())
            arguments = text[match.end() :] if value is None else value
            calls.append(WrittenCall(match[1], arguments))
            end = _closed(text, len(text) if value is None else after)
            match = pattern.match(text, end)
        if first is None:
            return None
        return _Span(_opening(text, first.start()), end, tuple(calls))

    return read


def _elements(
    head: re.Pattern[str], key: re.Pattern[str], closing: str, end_mark: str
) -> _Reader:
    """Readers of a name and one element for each argument.

    An element that is not closed ends where the next one begins, or the call, or the text.
    """
    next_key = key.pattern.removeprefix(r"\s*")
    stop = re.compile(rf"{closing}|(?={next_key})|(?={end_mark})")

    def read(text: str, start: int, tools: ToolSchemas) -> _Span | None:
        first = head.search(text, start)
        match, calls, end = first, list[WrittenCall](), start
        while match is not None and len(calls) <= MAX_CALLS:
            arguments: dict[str, Any] = {}
            end = match.end()
            while argument := key.match(text, end):
                ending = stop.search(text, argument.end())
                until = ending.start() if ending else len(text)
                value = text[argument.end() : until]
                arguments[argument[1]] = _typed(
                    value, _schema(tools, match[1], argument[1])
                )
                end = ending.end() if ending else len(text)
            calls.append(WrittenCall(match[1], arguments))
            end = _closed(text, end)
            match = head.match(text, end)
        if first is None:
            return None
        return _Span(_opening(text, first.start()), end, tuple(calls))

    return read


def _whole(text: str, start: int, tools: ToolSchemas) -> _Span | None:
    """JSON or Python calls that are all of a reply and name tools that there are."""
    end = len(text.rstrip())
    begin = start + len(text[start:]) - len(text[start:].lstrip())
    for reader in (_json_at, lambda text, place: _python_at(text, place, tools)):
        calls, after = reader(text, begin)
        if calls and after >= end and all(call.name in _names(tools) for call in calls):
            return _Span(begin, after, calls)
    return None


_MARKED: tuple[_Reader, ...] = (
    _marked_json,
    _named_json(_MISTRAL),
    _named_json(_DEEPSEEK),
    _named_json(_KIMI),
    _named_json(_LLAMA),
    _elements(_XML, _XML_VALUE, r"</parameter>", r"</function>|</tool_call>"),
    _elements(_GLM, _GLM_KEY, r"</arg_value>", r"</tool_call>"),
    _elements(_INVOKE, _INVOKE_VALUE, rf"</{_DSML}parameter>", rf"</{_DSML}invoke>"),
)
_READERS: tuple[_Reader, ...] = (_fenced, *_MARKED, _whole)


# -- pieces


def _names(tools: ToolSchemas) -> set[str]:
    return {tool["function"]["name"] for tool in tools}


def _schema(tools: ToolSchemas, name: str, argument: str) -> Mapping[str, Any]:
    for tool in tools:
        if tool["function"]["name"] == name:
            properties = tool["function"].get("parameters", {}).get("properties", {})
            schema: Mapping[str, Any] = properties.get(argument, {})
            return schema
    return {}


def _typed(value: str, schema: Mapping[str, Any]) -> Any:
    """An argument that was written plainly: a text, or the JSON that its schema asks for."""
    value = value.removeprefix("\n").removesuffix("\n")
    if schema.get("type", "string") == "string" and "anyOf" not in schema:
        return value
    parsed = _json(value.strip())
    return value if parsed is None else parsed


def _opening(text: str, place: int) -> int:
    """Where the mark begins that opens the list of calls, if one stands before a call."""
    opened = _OPENING.search(text[max(0, place - 60) : place])
    return place - len(opened[0]) if opened else place


def _closed(text: str, place: int) -> int:
    """Behind the marks that close a call, and the blanks there."""
    if text.startswith("```", place + _blanks(text, place)):
        place += _blanks(text, place) + 3
    while match := _CLOSING.match(text, place):
        place = match.end()
    return place + _blanks(text, place)


def _blanks(text: str, place: int) -> int:
    match = _BLANKS.match(text, place)
    return len(match[0]) if match else 0


_BLANKS = re.compile(r"[\s;,]*")


def _json_at(text: str, place: int) -> tuple[tuple[WrittenCall, ...], int]:
    """The calls that JSON at a place is: an object, a list, or objects in a row."""
    calls: list[WrittenCall] = []
    while len(calls) <= MAX_CALLS:
        value, end = _raw(text, place)
        listed = value if isinstance(value, list) else [value]
        made = [_call_of(each) for each in listed]
        if not made or None in made:
            break
        calls += [call for call in made if call is not None]
        place = end + _blanks(text, end)
    return tuple(calls), place


def _raw(text: str, place: int) -> tuple[Any, int]:
    """JSON that begins at a place, and where it ends; ``None`` for none."""
    place += _blanks(text, place)
    if not text.startswith(("{", "["), place):
        return None, place
    try:
        return _DECODER.raw_decode(text, place)
    except (ValueError, RecursionError):
        return None, place


def _call_of(value: Any) -> WrittenCall | None:
    """The call that JSON is, under the names that models give its parts."""
    if not isinstance(value, dict):
        return None
    if isinstance(inner := value.get("function"), dict):
        value = inner
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    key = next((key for key in _ARGUMENTS if key in value), None)
    if name is None or key is None:
        return None
    return WrittenCall(name, value[key])


def _json(text: str) -> Any:
    """Parsed JSON; ``None`` for what is none."""
    try:
        return json.loads(text) if len(text) <= MAX_ARGUMENTS else None
    except (ValueError, RecursionError):
        return None


_PYTHON_CALLS = re.compile(r"\s*\[?\s*[A-Za-z_][\w.]{0,99}\(")


def _python_at(
    text: str, place: int, tools: ToolSchemas
) -> tuple[tuple[WrittenCall, ...], int]:
    """Python calls with literal arguments: ``[run(code="1"), run(code="2")]``."""
    if _PYTHON_CALLS.match(text, place) is None:
        return (), place
    mark = _CLOSING.search(text, place)
    end = mark.start() if mark else len(text)
    source = text[place:end].strip()
    if len(source) > MAX_ARGUMENTS:
        return (), place
    try:
        tree = ast.parse(source, mode="eval").body
        nodes = tree.elts if isinstance(tree, ast.List) else [tree]
        calls = tuple(_python_calls(nodes, tools))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return (), place
    return (calls, end) if len(calls) == len(nodes) else ((), place)


def _python_calls(
    nodes: Sequence[ast.expr], tools: ToolSchemas
) -> Iterator[WrittenCall]:
    names = _names(tools)
    for node in nodes:
        if not isinstance(node, ast.Call) or node.args:
            return
        name = ast.unparse(node.func)
        if name not in names:
            return
        values = {word.arg: ast.literal_eval(word.value) for word in node.keywords}
        if None in values:
            return
        yield WrittenCall(name, values)
