"""The steps of a trajectory as titled blocks: for the page and for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: Characters of one block; the trajectory file holds all of it.
SHOWN = 30_000

#: Characters of arguments in the title of a call.
TITLE = 100

_Described = tuple[str, Sequence[tuple[str, object]]]


def describe_step(step: Mapping[str, Any]) -> dict[str, Any]:
    """The title of a step, and its blocks: pairs of a title and a text."""
    title, blocks = _DESCRIPTIONS.get(str(step.get("kind")), _other)(step)
    texts = [(name, "" if value is None else str(value)) for name, value in blocks]
    return {"title": title, "blocks": [(name, _cut(text)) for name, text in texts if text.strip()]}


def _cut(text: str) -> str:
    left = len(text) - SHOWN
    more = f"\n... {left} more characters in the trajectory file"
    return text[:SHOWN] + more if left > 0 else text


def _retrieve(step: Mapping[str, Any]) -> _Described:
    hits = step.get("hits") or []
    found = "\n".join(f"{_score(hit)}  {hit.get('name')}" for hit in hits)
    blocks = [(f"from {step.get('retriever')}", found), ("query", step.get("query"))]
    return f"retrieved {len(hits)} documents", blocks


def _score(hit: Mapping[str, Any]) -> str:
    score = hit.get("score")
    return f"{score:.3f}" if isinstance(score, float | int) else "-"


def _model(step: Mapping[str, Any]) -> _Described:
    usage = step.get("usage") or {}
    tokens = f"{usage.get('prompt_tokens', 0):,} + {usage.get('completion_tokens', 0):,} tokens"
    cached = ", from the cache" if step.get("cached") else ""
    outcome = "no reply" if step.get("error") else f"{tokens}{cached}"
    if step.get("earlier"):
        outcome += f", after the {step['earlier']} messages above"
    called = [
        f"{call.get('name')}({', '.join(call.get('arguments') or ())})"
        for call in step.get("calls") or ()
    ]
    messages = [(f"sent, {m.get('role')}", m.get("content")) for m in step.get("messages") or []]
    reply = [("reply", step.get("reply")), ("called", "\n".join(called))]
    title = f"asked the model: {step.get('purpose')} ({outcome})"
    return title, [*reply, ("error", step.get("error")), *messages]


def _parse(step: Mapping[str, Any]) -> _Described:
    words = {
        "strict": "the reply follows the format",
        "repaired": "an answer was read from a reply that does not follow the format",
        "error": "no answer could be read from the reply",
    }
    return words.get(str(step.get("status")), f"parsed: {step.get('status')}"), []


def _check(step: Mapping[str, Any]) -> _Described:
    findings = [str(finding) for finding in step.get("findings") or []]
    title = f"checked the returned values: {len(findings) or 'no'} findings"
    return title, [("", "\n".join(findings))]


def _execute(step: Mapping[str, Any]) -> _Described:
    title = f"executed the draft: {step.get('outcome')}, {step.get('seconds', 0.0):.2f} s"
    parts = ("result", "error", "stdout", "stderr")[step.get("outcome") != "ok" :]
    return title, [(part, step.get(part)) for part in parts]


def _tool(step: Mapping[str, Any]) -> _Described:
    arguments = dict(step.get("arguments") or {})
    code = arguments.pop("code", None)
    given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    name, seconds = step.get("name") or "(no name)", step.get("seconds", 0.0)
    title = f"called {name}({given[:TITLE]}), {seconds:.2f} s"
    long = given if len(given) > TITLE else None
    return title, [("arguments", long), ("code", code), ("result", step.get("result"))]


def _other(step: Mapping[str, Any]) -> _Described:
    rest = {key: value for key, value in step.items() if key != "kind"}
    return str(step.get("kind")), [("", rest)]


_DESCRIPTIONS = {
    "retrieve": _retrieve,
    "model": _model,
    "parse": _parse,
    "check": _check,
    "execute": _execute,
    "tool": _tool,
}
