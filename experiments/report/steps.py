"""The steps of a trajectory as titled blocks: for the page and for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

#: Characters of one block; the trajectory file holds all of it.
SHOWN = 30_000

#: Characters of arguments in the title of a call.
TITLE = 100

#: So many lines of a prompt that stood in the prompt before are not shown again.
REPEATED = 12


def describe_steps(steps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """All steps of a trajectory; what a prompt repeats of an earlier one is only pointed at."""
    described, before = [], _Before("", 0)
    for number, step in enumerate(steps, start=1):
        shortened = dict(step)
        if step.get("kind") == "model":
            messages = []
            for message in step.get("messages") or []:
                content = str(message.get("content"))
                messages.append({**message, "content": _shorten(content, before)})
                if message.get("role") == "human":
                    before = _Before(content, number)
            shortened["messages"] = messages
        described.append(describe_step(shortened))
    return described


class _Before(NamedTuple):
    text: str
    step: int


def _shorten(text: str, before: _Before) -> str:
    """Point at runs of lines that stood before; in linear time, also where all lines are equal."""
    lines, earlier = text.splitlines(), before.text.splitlines()
    places: dict[tuple[str, ...], int] = {}
    for start in range(len(earlier) - REPEATED + 1):
        places.setdefault(tuple(earlier[start : start + REPEATED]), start)
    shown, position = [], 0
    while position < len(lines):
        start = places.get(tuple(lines[position : position + REPEATED]), -1)
        if start < 0:
            shown.append(lines[position])
            position += 1
            continue
        size = REPEATED
        while (
            position + size < len(lines)
            and start + size < len(earlier)
            and lines[position + size] == earlier[start + size]
        ):
            size += 1
        shown.append(f"[{size} lines as in step {before.step}]")
        position += size
    return "\n".join(shown)


def describe_step(step: Mapping[str, Any]) -> dict[str, Any]:
    """Title and blocks (``title`` with ``text``, or with ``lines`` of cells) of one step."""
    describe = _DESCRIPTIONS.get(str(step.get("kind")), _other)
    title, blocks = describe(step)
    return {"title": title, "blocks": [block for block in blocks if block]}


def _block(title: str, value: object) -> dict[str, Any] | None:
    text = "" if value is None else str(value)
    if not text.strip():
        return None
    if len(text) > SHOWN:
        text = text[:SHOWN] + f"\n... {len(text) - SHOWN} more characters in the trajectory file"
    return {"title": title, "text": text}


def _retrieve(step: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
    hits = step.get("hits") or []
    lines = [("score", "document"), *((_score(hit), str(hit.get("name"))) for hit in hits)]
    table = {"title": f"from {step.get('retriever')}", "lines": lines}
    return f"retrieved {len(hits)} documents", [table, _block("query", step.get("query"))]


def _score(hit: Mapping[str, Any]) -> str:
    score = hit.get("score")
    return f"{score:.3f}" if isinstance(score, float | int) else "-"


def _model(step: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
    usage = step.get("usage") or {}
    tokens = f"{usage.get('prompt_tokens', 0):,} + {usage.get('completion_tokens', 0):,} tokens"
    cached = ", from the cache" if step.get("cached") else ""
    outcome = "no reply" if step.get("error") else f"{tokens}{cached}"
    called = [
        f"{call.get('name')}({', '.join(call.get('arguments') or ())})"
        for call in step.get("calls") or ()
    ]
    if step.get("earlier"):
        outcome += f", after the {step['earlier']} messages above"
    messages = [
        _block(f"sent, {message.get('role')}", message.get("content"))
        for message in step.get("messages") or []
    ]
    reply = [
        _block("reply", step.get("reply")),
        _block("called", "\n".join(called)),
        _block("error", step.get("error")),
    ]
    return f"asked the model: {step.get('purpose')} ({outcome})", [*reply, *messages]


def _parse(step: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
    words = {
        "strict": "the reply follows the format",
        "repaired": "code was read from a reply that does not follow the format",
        "error": "no code could be read from the reply",
    }
    return words.get(str(step.get("status")), f"parsed: {step.get('status')}"), []


def _check(step: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
    findings = [str(finding) for finding in step.get("findings") or []]
    if not findings:
        return "checked the returned values: no findings", []
    return f"checked the returned values: {len(findings)} findings", [
        _block("", "\n".join(findings))
    ]


def _execute(step: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
    title = f"executed the draft: {step.get('outcome')}, {step.get('seconds', 0.0):.2f} s"
    blocks = [_block(part, step.get(part)) for part in ("result", "error", "stdout", "stderr")]
    return title, blocks if step.get("outcome") == "ok" else blocks[1:]


def _tool(step: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
    arguments = dict(step.get("arguments") or {})
    code = arguments.pop("code", None)
    given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    name, seconds = step.get("name") or "(no name)", step.get("seconds", 0.0)
    title = f"called {name}({given[:TITLE]}), {seconds:.2f} s"
    long = _block("arguments", given) if len(given) > TITLE else None
    return title, [long, _block("code", code), _block("result", step.get("result"))]


def _other(step: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
    rest = {key: value for key, value in step.items() if key != "kind"}
    return str(step.get("kind")), [_block("", rest)]


_DESCRIPTIONS = {
    "retrieve": _retrieve,
    "model": _model,
    "parse": _parse,
    "check": _check,
    "execute": _execute,
    "tool": _tool,
}
