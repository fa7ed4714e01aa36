"""Every template that an architecture sends, in one place.

Inputs stand in tagged sections (``<question>``, ``<documents>``, ``<attempt>``) so that any
model, the one without an LLM included, reads the same text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

SYSTEM = (
    "You are a materials scientist who writes Python with pymatgen and its add-on packages. "
    "You write code that runs as it stands and returns exactly what was asked for."
)

CONTRACT = """\
Answer with one function and nothing else, in exactly this form:
<answer><code>```python
(all imports, and one function without arguments that returns the dict)
```</code><name>function_name</name></answer>"""

NOTES = """\
Notes:
- Where the question and a document name different import paths or files, use the question's.
- Where the question gives code, keep that code; replace every [MASK] by what belongs there.
- A property that cannot be computed is None; the others must still be returned."""

REPAIR = """\
Your reply could not be read. Send the same solution again.
"""

FEEDBACK_NOTE = """\
The attempts above were executed. Correct what went wrong; keep what is right."""

CRITIC = """\
Review the last attempt at the question. Its execution is real. Say what is wrong and how to \
correct it, property by property, and name the class, function or module whose documentation \
would help most. Answer in exactly this form:
<feedback>what to change and why</feedback>
<query>a search query for the documentation</query>"""


@dataclass(frozen=True)
class Attempt:
    """One draft and what became of it, as later prompts show it.

    Every text is optional, so that an ablation can leave one out.
    """

    number: int
    code: str
    outcome: str
    traceback: str = ""
    returned: str = ""
    printed: str = ""
    checks: Sequence[str] = ()
    critique: str = ""


def render_documents(documents: Sequence[Document]) -> str:
    """Documents as a ``<documents>`` section; empty text for none."""
    if not documents:
        return ""
    parts = ["<documents>"]
    for document in documents:
        meta = document.metadata
        parts.append(
            f'<document name="{meta.get("qualname", "")}" path="{meta.get("path", "")}" '
            f'version="{meta.get("version", "")}">\n{document.page_content}\n</document>'
        )
    parts.append("</documents>")
    return "\n".join(parts)


def render_attempt(attempt: Attempt) -> str:
    """One attempt as an ``<attempt>`` section."""
    parts = [
        f'<attempt number="{attempt.number}">',
        f"<draft>\n{attempt.code}\n</draft>",
        f"<outcome>{attempt.outcome}</outcome>",
    ]
    if attempt.traceback:
        parts.append(f"<traceback>\n{attempt.traceback}\n</traceback>")
    if attempt.returned:
        parts.append(f"<returned>\n{attempt.returned}\n</returned>")
    if attempt.printed:
        parts.append(f"<printed>\n{attempt.printed}\n</printed>")
    if attempt.checks:
        parts.append("<checks>\n" + "\n".join(f"- {c}" for c in attempt.checks) + "\n</checks>")
    if attempt.critique:
        parts.append(f"<critique>\n{attempt.critique}\n</critique>")
    parts.append("</attempt>")
    return "\n".join(parts)


def _question(prompt: str) -> str:
    return f"<question>\n{prompt.strip()}\n</question>"


def generate(
    prompt: str, documents: Sequence[Document] = (), attempts: Sequence[Attempt] = ()
) -> list[BaseMessage]:
    """Messages that ask for the function."""
    parts = [_question(prompt)]
    if documents:
        parts.append(render_documents(documents))
    if attempts:
        parts.extend(render_attempt(attempt) for attempt in attempts)
        parts.append(FEEDBACK_NOTE)
    parts.extend([NOTES, CONTRACT])
    return [SystemMessage(SYSTEM), HumanMessage("\n\n".join(parts))]


def repair(messages: Sequence[BaseMessage], reply: BaseMessage) -> list[BaseMessage]:
    """Messages that ask once more for a readable answer."""
    return [*messages, reply, HumanMessage(REPAIR + CONTRACT)]


def criticise(
    prompt: str, documents: Sequence[Document], attempts: Sequence[Attempt]
) -> list[BaseMessage]:
    """Messages that ask for feedback on the last attempt and for the next search query."""
    parts = [_question(prompt)]
    if documents:
        parts.append(render_documents(documents))
    parts.extend(render_attempt(attempt) for attempt in attempts)
    parts.append(CRITIC)
    return [SystemMessage(SYSTEM), HumanMessage("\n\n".join(parts))]
