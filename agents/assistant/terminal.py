"""Questions on a terminal: asked, watched and shown, each with an exit code; the recorded ones."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from agents.assistant import store
from agents.assistant.answers import Answer, Event
from agents.assistant.config import read_config
from agents.assistant.files import attach, mentioned
from agents.assistant.session import Session, open_assistant
from agents.assistant.show import print_answer, safe
from foundation.configuration import data_of
from foundation.progress import saying

#: Exit codes besides 0 (answered) and those of every command.
#: Exit codes: no working code, something is missing, numbers that nothing computed, and a failure
#: of the endpoint, the sandbox or the documents.
FAILED, NEEDS_INPUT, STATED, BROKEN = 1, 3, 4, 5


@dataclass
class Terminal:
    """Where a conversation is shown, and how questions are asked."""

    output: Console
    progress: Console
    timeout: float | None = None  # seconds of wall time for one question
    as_json: bool = False  # each answer as one line of JSON
    seed: int = field(
        default_factory=lambda: time.time_ns() // 1_000_000
    )  # counts up: /retry

    async def ask(
        self,
        session: Session,
        text: str,
        files: Sequence[str] = (),
        *,
        again: bool = False,
    ) -> Answer:
        """Answer one question and show it; ``again``: past the cache."""
        question, paths = mentioned(text, attach(session.files, files))
        self.seed += again
        with saying("", self.progress) as say:
            say("beginning")

            def listen(
                event: Event,
            ) -> None:  # what has ended is a line, what goes on a spinner
                if event.done:
                    self.progress.print(
                        f"[dim]{safe(event.text)}[/dim]", highlight=False
                    )
                else:
                    say(event.text)

            answer = await session.ask(
                question,
                files=[*files, *paths],
                timeout=self.timeout,
                listen=listen,
                seed=self.seed if again else 0,
            )
        folder = session.folder and session.folder / str(len(session.turns))
        if self.as_json:
            print(
                json.dumps(store.as_json(answer, folder)),
                file=self.output.file,
                flush=True,
            )
        else:
            print_answer(answer, self.output, folder)
        return answer


def exit_code(answer: Answer | None) -> int:
    """What a command that was asked for ``answer`` ends with; 0 too where nothing was asked."""
    if answer is None or answer.works:
        return 0
    if answer.kind == "explained":
        return STATED if answer.notes else 0
    return {"needs_input": NEEDS_INPUT, "broken": BROKEN}.get(answer.kind, FAILED)


async def play(overrides: Sequence[str], output: Console, progress: Console) -> int:
    """Ask what was recorded, or with ``model=`` another model; what is written runs now."""
    chosen = any(word.startswith("model") for word in overrides)
    config = read_config([*([] if chosen else ["model=recorded"]), *overrides])
    terminal = Terminal(output, progress)
    asked = data_of(__file__, "demo")
    codes = []
    with tempfile.TemporaryDirectory(prefix="matsmith-demo-") as name:
        (Path(name) / "POSCAR").write_text(asked["POSCAR"], encoding="utf-8")
        async with open_assistant(config, say=progress.print) as assistant:
            for conversation in asked["conversations"]:
                session = assistant.session()
                files = [str(Path(name) / file) for file in conversation["files"]]
                for question in conversation["questions"]:
                    output.rule()
                    output.print(f"[bold]ask>[/bold] {safe(question)}\n")
                    codes.append(
                        exit_code(await terminal.ask(session, question, files))
                    )
    return FAILED if FAILED in codes else 0
