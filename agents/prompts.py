"""Every prompt that an architecture sends, in one place; the wording is in ``prompts.yaml``.

Inputs stand in tagged sections (``<question>``, ``<documents>``, ``<attempt>``).
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents import base
from agents.answer import has_code
from agents.base import Image, Question
from agents.models import Message
from agents.templates import TEXTS
from docgen.reading import spoken
from retrieval.base import Hit

MAX_REPLY = 20_000  # characters of a reply that a repair shows

_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")


@dataclass(frozen=True)
class Attempt:
    """One draft and what became of it, as later prompts show it.

    Every text is optional, so that an ablation can leave one out. ``documents`` were found because
    of it and stand behind it, so that a prompt begins with the one before it.
    """

    number: int
    code: str
    outcome: str
    traceback: str = ""
    returned: str = ""
    printed: str = ""
    checks: Sequence[str] = ()
    critique: str = ""
    documents: Sequence[Hit] = ()


def render_documents(documents: Sequence[Hit]) -> str:
    """Documents as a ``<documents>`` section; empty text for none."""
    if not documents:
        return ""
    parts = []
    for document in documents:
        entry = document.entry
        parts.append(
            f'<document name="{entry.qualname}" path="{entry.path}" '
            f'version="{entry.version}">\n{document.text}\n</document>'
        )
    return "\n".join(["<documents>", *parts, "</documents>"])


def render_attempt(attempt: Attempt) -> str:
    """One attempt as an ``<attempt>`` section, and the documents that it led to."""
    told = {
        "traceback": attempt.traceback,
        "returned": attempt.returned,
        "printed": attempt.printed,
        "checks": "\n".join(f"- {check}" for check in attempt.checks),
        "critique": attempt.critique,
    }
    parts = [
        f'<attempt number="{attempt.number}">',
        f"<draft>\n{attempt.code}\n</draft>",
        f"<outcome>{attempt.outcome}</outcome>",
        *(f"<{tag}>\n{text}\n</{tag}>" for tag, text in told.items() if text),
        "</attempt>",
    ]
    text = without_addresses("\n".join(parts))
    return "\n\n".join(filter(None, [text, render_documents(attempt.documents)]))


def without_addresses(text: str) -> str:
    """Text in which no object shows where it lies: that would make every prompt a new one."""
    return _ADDRESS.sub("0x...", text)


def _question(prompt: str) -> str:
    return f"<question>\n{prompt.strip()}\n</question>"


def request_answer(question: Question, documents: Sequence[Hit] = ()) -> list[Message]:
    """Messages that ask for the answer to a question, in the form that it wants."""
    if question.wants_code:
        return generate(question.prompt, documents)
    given = [part for part in question.attachments if isinstance(part, base.Document)]
    shown = [
        f'<document name="{part.name}">\n{part.text}\n</document>' for part in given
    ]
    texts = [
        render_documents(documents),
        *shown,
        question.prompt,
        question.answer.instruction,
    ]
    return with_pictures(question, _ask(*texts))


def with_pictures(question: Question, messages: Sequence[Message]) -> list[Message]:
    """The messages, the first one of the user with the pictures of the question."""
    first = next(
        (i for i, message in enumerate(messages) if message.role == "user"), None
    )
    blocks: list[dict[str, Any]] = [
        {
            "type": "image",
            "base64": b64encode(picture.data).decode(),
            "mime_type": picture.mime,
            "key": picture.key,
        }
        for picture in question.attachments
        if isinstance(picture, Image)
    ]
    if first is None or not blocks:
        return list(messages)
    shown = Message("user", [{"type": "text", "text": messages[first].text}, *blocks])
    return [*messages[:first], shown, *messages[first + 1 :]]


def with_tools(question: Question, tools: Sequence[str]) -> list[Message]:
    """Messages that ask for the answer to a question with the help of ``tools``."""
    if question.wants_code:
        kept = TEXTS["note_mask" if "[MASK" in question.prompt else "note_code"]
        told = [
            "Notes:",
            kept,
            TEXTS["note_none"],
            TEXTS["tools"],
            TEXTS["tools_answer"],
        ]
        return _ask(_question(question.prompt), "\n".join(told))
    told = [TEXTS["tools"], *([TEXTS["tools_run"]] if "run" in tools else [])]
    return [Message("system", "\n".join(told)), *request_answer(question)]


def again(question: Question, said: str) -> Message:
    """What follows a reply that held no answer, where ``said`` is what is said of it."""
    return Message("user", f"{said} {question.answer.instruction}".strip())


def generate(
    prompt: str,
    documents: Sequence[Hit] = (),
    attempts: Sequence[Attempt] = (),
    sources: Mapping[str, str] | None = None,
) -> list[Message]:
    """Messages that ask for the function; ``sources`` is code by dotted name."""
    listed = [
        f'<source name="{n}">\n{code}\n</source>' for n, code in (sources or {}).items()
    ]
    notes = (
        ["note_documents"] if documents or any(a.documents for a in attempts) else []
    )
    if "[MASK" in prompt or "```" in prompt:
        notes.append("note_mask" if "[MASK" in prompt else "note_code")
    return _ask(
        _question(prompt),
        render_documents(documents),
        "\n".join(["<sources>", *listed, "</sources>"]) if listed else "",
        *map(render_attempt, attempts),
        TEXTS["feedback_note"] if attempts else "",
        "\n".join(["Notes:", *(TEXTS[note] for note in [*notes, "note_none"])]),
        TEXTS["contract"],
    )


def repair(prompt: str, reply: str, reason: str) -> list[Message]:
    """Messages that ask once more for a readable answer.

    A reply with code is shown alone, without the question and its documents; one without code
    leaves nothing to repair, so that the question stands again in its place.
    """
    said = spoken(reply)
    if has_code(said):
        shown = [TEXTS["repair"].format(reply=said[:MAX_REPLY], reason=reason)]
    else:
        shown = [_question(prompt), TEXTS["answer_with_code"].format(reason=reason)]
    return _ask(*shown, TEXTS["contract"])


def role(packages: Sequence[str]) -> Message:
    """Who the model is, for the import names of the libraries that a question is about."""
    listed = ", ".join(packages) or "the libraries that are installed"
    if "pymatgen" in packages:
        listed = "pymatgen and its add-on packages"
    return Message("system", TEXTS["role"].format(libraries=listed))


def ask_for(wanted: str, prompt: str, *shown: str, **filled: Any) -> list[Message]:
    """Messages about a question that ask for what the text of a name says, such as ``names``."""
    return _ask(_question(prompt), *shown, TEXTS[wanted].format(**filled))


def link(items: Sequence[tuple[str, str, Sequence[str]]]) -> list[Message]:
    """Messages that ask which definition each description (what it is of, its text) means."""
    told = []
    for number, (what, text, definitions) in enumerate(items, 1):
        told.append(f'<item number="{number}">\n{what}: {text}')
        told += [
            f"{place}. {definition}" for place, definition in enumerate(definitions, 1)
        ]
        told.append("</item>")
    return _ask("\n".join(told), TEXTS["link"])


def _ask(*parts: str) -> list[Message]:
    return [Message("user", "\n\n".join(filter(None, parts)))]


def free_question(
    question: str,
    files: Sequence[str] = (),
    turns: Sequence[str] = (),
    *,
    asks: bool = True,
    attempts: Sequence[Attempt] = (),
) -> str:
    """A user's own question as the prompt of a :class:`agents.base.Question`.

    ``files`` are paths as the code will see them, each with what is known of its content; ``turns``
    are earlier ones as `free_turn` shows them, ``attempts`` answers that did not work. The model
    may ask for what is missing, unless ``asks`` is off: not twice in a row.
    """
    parts = [TEXTS["earlier"].format(turns="\n\n".join(turns))] if turns else []
    parts += [
        TEXTS["free"].format(question=question.strip()),
        TEXTS["ask" if asks else "asked"],
    ]
    if files:
        parts.append(
            TEXTS["files"].format(paths="\n".join(f"- {file}" for file in files))
        )
    if attempts:
        parts += [*map(render_attempt, attempts), TEXTS["feedback_note"]]
    return "\n\n".join(parts)


def free_turn(question: str, said: str, code: str, became: str) -> str:
    """A turn of a conversation as later prompts show it.

    What the model ``said`` stands beside its code; what that returned, or how it ended, is what
    ``became`` of it.
    """
    shown = [f"Question: {question}", *([f"Your reply: {said}"] if said else [])]
    shown += [f"```python\n{code}\n```"] if code else []
    return "\n".join([*shown, became]).strip()
