"""``matsmith``: the assistant's command line."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from agents.assistant.answers import Answer
from agents.assistant.config import AssistantConfig, read_config
from agents.assistant.events import Event
from agents.assistant.session import Session, open_assistant
from agents.assistant.show import print_answer, safe
from agents.composition import help_text
from retrieval.base import RetrievalError
from sandbox.command import HELP, UsageError, guarded, run_one_of


def write_script(answer: Answer, path: Path) -> None:
    """The code as a script that prints what its function returns."""
    path.write_text(
        f"{str(answer.code).rstrip()}\n\n\n"
        f'if __name__ == "__main__":\n    print({answer.entry}())\n',
        encoding="utf-8",
        errors="backslashreplace",
    )


async def ask(
    config: AssistantConfig, question: str, *, files: Sequence[str], out: Path | None
) -> int:
    """Answer one question, or hold a conversation; returns the exit code."""
    progress = Console(stderr=True, soft_wrap=True)
    output = Console(soft_wrap=True)

    def listen(event: Event) -> None:
        if event.done:
            progress.print(f"[dim]{safe(event.text)}[/dim]", highlight=False)

    async def deliver(session: Session, text: str, files: Sequence[str] = ()) -> int:
        answer = await session.ask(text, files=files, listen=listen)
        print_answer(answer, output)
        if out is not None and answer.works:
            write_script(answer, out)
            output.print(f"written to {out}")
        return 0 if answer.works else 1

    async with open_assistant(config, say=progress.print) as assistant:
        session = assistant.session()
        if question:
            return await deliver(session, question, files)
        code = 0
        prompting = "ask> " if sys.stdin.isatty() else ""
        while True:
            try:
                text = (await asyncio.to_thread(input, prompting)).strip()
            except EOFError:
                return code
            if text in {"quit", "exit"}:
                return code
            if text:
                code = await deliver(session, text)


_ASK = """\
usage: matsmith ask [QUESTION] [files=PATH,PATH] [out=SCRIPT.py] [GROUP=CHOICE ...] [KEY=VALUE ...]

Executed materials-science code for your question; without one, a conversation.

  files                  input files or folders, shown read-only
  out                    also write the code here"""
_MCP = """\
usage: matsmith mcp [GROUP=CHOICE ...] [KEY=VALUE ...]

Serves the assistant over the Model Context Protocol, on standard input and output."""


def _ask(arguments: Sequence[str]) -> int:
    if HELP & set(arguments):
        print(help_text(AssistantConfig, [_ASK], root="assistant"))
        return 0
    own: dict[str, str] = {}
    words, overrides = [], []
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if equals and key in {"files", "out"}:
            own[key] = value
        elif argument.startswith("-") or (equals and not set(key) & set(" \t\n")):
            overrides.append(argument)
        else:
            words.append(argument)

    async def answer() -> int:
        files = own["files"].split(",") if "files" in own else []
        out = Path(own["out"]) if "out" in own else None
        if out is not None and not out.absolute().parent.is_dir():
            raise UsageError(f"out={out}: its folder does not exist")
        return await ask(read_config(overrides), " ".join(words), files=files, out=out)

    return guarded(answer, (RetrievalError,))


def _mcp(arguments: Sequence[str]) -> int:
    if HELP & set(arguments):
        print(help_text(AssistantConfig, [_MCP], root="assistant"))
        return 0
    from agents.mcp_server import serve  # noqa: PLC0415 -- the SDK is slow to import

    return guarded(lambda: serve(read_config(arguments)), (RetrievalError,))


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; 0: the code ran, 1: there is no working code (see `sandbox.command`)."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    about = "The coding assistant: a free question in, executed code out."
    return run_one_of("matsmith", about, {"ask": _ask, "mcp": _mcp}, arguments)
