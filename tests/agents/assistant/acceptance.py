"""Questions of a materials scientist, asked like a user asks them, and drafts to repair.

``python -m tests.agents.assistant.acceptance model.name=NAME model.base_url=URL``: what is shown
for each, and in how many calls and tokens; with ``model.record=TRAFFIC.jsonl`` it can be played
again. It is a check that a set-up works, no benchmark.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter
from rich.console import Console
from rich.table import Table

from agents.assistant.answers import Answer
from agents.assistant.config import AssistantConfig, read_config
from agents.assistant.conversation import Conversation
from agents.assistant.session import open_assistant
from agents.assistant.show import safe, spent
from agents.assistant.terminal import Terminal
from agents.base import Usage
from agents.models import ModelClient, Reply
from agents.models.reply import Sent, read
from foundation.command import guarded
from tests.support.scripted import code_reply

SECONDS = 600.0  # for one question
FILES = Path(__file__).with_name("acceptance_files")


class Case(BaseModel):
    """What is typed, and what may come of it; see the file itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    question: str
    kinds: tuple[str, ...] = ("answered",)
    value: int | float | str | None = None
    file: str = ""
    follows: bool = False
    warned: bool = False
    command: str = ""
    drafts: tuple[str, ...] = ()


def cases() -> list[Case]:
    """The questions, which name their files as seen from the folder that holds them."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    return TypeAdapter(list[Case]).validate_python(yaml.safe_load(text))


class Drafted:
    """Replies in a model's place, as long as there are drafts; what it is asked then is real."""

    def __init__(self, client: ModelClient) -> None:
        self.drafts: list[str] = []
        self._ask = client.ask
        client.ask = self.ask  # type: ignore[method-assign]

    async def ask(self, messages: Any, *, tools: Any = (), **about: Any) -> Reply:
        """See `ModelClient.ask`."""
        if not self.drafts:
            return await self._ask(messages, tools=tools, **about)
        sent = Sent(text=code_reply(draft := self.drafts.pop(0)))
        if tools:
            code = "def f():\n" + "\n".join(
                f"    {line}" for line in draft.splitlines()
            )
            given = {"code": code, "entry": "f"}
            sent = Sent(
                text="", calls=({"id": "draft", "name": "answer", "args": given},)
            )
        return replace(read(sent, messages, tools), usage=Usage())


def faults(case: Case, answer: Answer) -> list[str]:
    """What is wrong with an answer; empty where it is acceptable."""
    if answer.kind not in case.kinds:
        return [f"{answer.kind} instead of {' or '.join(case.kinds)}"]
    if not answer.works:
        return []
    found = []
    if case.value and not any(_holds(v.value, case.value) for v in answer.values):
        found.append(f"no value is {case.value}")
    if case.file and not any(file.name.endswith(case.file) for file in answer.files):
        found.append(f"no {case.file} file")
    worked_out = any(value.value is not None for value in answer.values)
    if case.warned and worked_out and not answer.notes:
        found.append("values without a warning")
    if len(answer.tried) < len(case.drafts):
        found.append("the failed draft is not told")
    return found


def _holds(value: Any, wanted: float | str) -> bool:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return any(_holds(item, wanted) for item in inner)
    if isinstance(wanted, float) and isinstance(value, int | float):
        return math.isclose(value, wanted, rel_tol=0.01)
    return bool((value.lower() if isinstance(value, str) else value) == wanted)


async def accept(config: AssistantConfig) -> int:
    """Ask all, show all; returns the exit code."""
    output, progress = Console(soft_wrap=True, highlight=False), Console(stderr=True)
    terminal = Terminal(output, progress, timeout=SECONDS, seed=1)
    rows: list[tuple[Case, Answer, list[str]]] = []
    async with contextlib.AsyncExitStack() as stack:
        assistant = await stack.enter_async_context(
            open_assistant(config, say=progress.print)
        )
        drafted = Drafted(assistant.runtime.model)
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="matsmith-acceptance-")
        )
        shutil.copytree(FILES, folder, dirs_exist_ok=True)
        stack.enter_context(contextlib.chdir(folder))
        for case in cases():
            if not case.follows:
                conversation = Conversation(assistant.session(), terminal)
            output.rule(safe(case.name))
            for line in filter(None, [case.command, case.question]):
                output.print(f"[bold]{safe(line)}[/bold]\n")
                drafted.drafts = list(case.drafts)
                await conversation.take(line)
            assert conversation.last is not None
            rows.append((case, conversation.last, faults(case, conversation.last)))
    output.rule("all")
    output.print(_table(rows))
    right = sum(not wrong for *_, wrong in rows)
    usage = sum((answer.usage for _, answer, _ in rows), Usage())
    repaired = [not wrong for case, _, wrong in rows if len(case.drafts) == 1]
    output.print(
        f"{right} of {len(rows)} acceptable; {sum(repaired)} of {len(repaired)} drafts "
        f"repaired; {spent(usage)}; model {safe(rows[0][1].model)}"
    )
    return 0 if right == len(rows) else 1


def _table(rows: Sequence[tuple[Case, Answer, list[str]]]) -> Table:
    table = Table("question", "answer", "calls", "tokens", "seconds", "files", "wrong")
    for case, answer, wrong in rows:
        usage = answer.usage
        table.add_row(
            case.name,
            answer.kind,
            str(usage.calls + usage.cached_calls),
            str(usage.tokens),
            f"{answer.seconds:.0f}",
            str(len(answer.files)),
            safe("; ".join(wrong)),
        )
    return table


def main(arguments: Sequence[str]) -> int:
    """Ask with these settings."""
    return guarded(lambda: accept(read_config(arguments)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
