"""``matsmith``: the assistant's command line."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from agents.assistant.config import AssistantConfig, read_config
from agents.composition import help_text
from retrieval.base import RetrievalError
from sandbox.cache import main as cache
from sandbox.command import HELP, UsageError, guarded, run_one_of

_ASK = """\
usage: matsmith ask [QUESTION] [--file PATH ...] [--out PATH] [--continue] [--timeout SECONDS]
                    [--json] [GROUP=CHOICE ...] [KEY=VALUE ...]

Executed materials-science code for your question; without one, a conversation. @PATH in a
question is the same as --file PATH.

  --file                 an input file or folder, shown to the code read-only
  --out                  also write the answer: a script (.py), a notebook (.ipynb), or a folder
                         with a script and the files that the code made
  --continue             go on with the last conversation
  --timeout              seconds of wall time for one question
  --json                 each answer as one line of JSON

exit code: 0 answered, 1 no working code, 2 the command or the setup has to change, 3 something is
missing that only you can give, 130 interrupted"""
_SERVE = """\
usage: matsmith serve [--port N] [--open] [--continue] [GROUP=CHOICE ...] [KEY=VALUE ...]

The assistant in a browser, on this machine only; Ctrl-C ends it.

  --port                 where to listen (default: any free port)
  --open                 open the page in a browser
  --continue             resume the last conversation"""
_MCP = """\
usage: matsmith mcp [GROUP=CHOICE ...] [KEY=VALUE ...]

Serves the assistant over the Model Context Protocol, on standard input and output."""


@dataclass
class Asked:
    """The command line of ``matsmith ask``."""

    words: list[str] = field(default_factory=list)
    overrides: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    out: Path | None = None
    timeout: float | None = None
    resume: bool = False
    as_json: bool = False


def read_command(arguments: Sequence[str]) -> Asked:
    """Read it.

    Raises
    ------
    UsageError
        When a value is missing, or is none.
    """
    asked = Asked()
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        name, equals, value = argument.partition("=")
        if name in {"--file", "--out", "--timeout"}:
            if not equals:
                if not rest:
                    raise UsageError(f"{name}: its value is missing")
                value = rest.pop(0)
            _set(asked, name, value)
        elif argument == "--continue":
            asked.resume = True
        elif argument == "--json":
            asked.as_json = True
        elif argument.startswith("-") or (equals and not set(name) & set(" \t\n@")):
            asked.overrides.append(argument)
        else:
            asked.words.append(argument)
    return asked


def _set(asked: Asked, name: str, value: str) -> None:
    if name == "--file":
        asked.files.append(value)
    elif name == "--out":
        asked.out = Path(value).expanduser()
        if not asked.out.absolute().parent.is_dir():
            raise UsageError(f"--out {value}: its folder does not exist")
    else:
        try:
            asked.timeout = float(value)
        except ValueError:
            asked.timeout = 0.0
        if not asked.timeout > 0:
            raise UsageError(f"--timeout {value}: a number of seconds above 0")


async def _answer(asked: Asked) -> int:
    # prompt_toolkit and what answers are slow to import: not for --help
    from agents.assistant import store  # noqa: PLC0415
    from agents.assistant.conversation import Conversation, Terminal, exit_code  # noqa: PLC0415
    from agents.assistant.files import attach, mentioned  # noqa: PLC0415
    from agents.assistant.session import open_assistant  # noqa: PLC0415

    config = read_config(asked.overrides)
    question = " ".join(asked.words)
    attach({}, [*asked.files, *mentioned(question)[1]])  # a mistake is said before anything begins
    folder = store.last_session() if asked.resume else store.new_session()
    progress = Console(stderr=True, soft_wrap=True, highlight=False)
    terminal = Terminal(
        Console(soft_wrap=True, highlight=False), progress, asked.timeout, asked.as_json
    )
    async with open_assistant(config, say=progress.print) as assistant:
        session = assistant.session(folder)
        if not question:
            session.files = attach(session.files, asked.files)
            return await Conversation(session, terminal).run()
        answer = await terminal.ask(session, question, asked.files)
        if asked.out is not None and answer.works:
            for path in store.deliver(answer, asked.out):
                progress.print(f"written to {path}")
        return exit_code(answer)


def _ask(arguments: Sequence[str]) -> int:
    if HELP & set(arguments):
        print(help_text(AssistantConfig, [_ASK], root="assistant"))
        return 0
    return guarded(lambda: _answer(read_command(arguments)), (RetrievalError,))


def _mcp(arguments: Sequence[str]) -> int:
    if HELP & set(arguments):
        print(help_text(AssistantConfig, [_MCP], root="assistant"))
        return 0
    from agents.mcp_server import serve  # noqa: PLC0415 -- the SDK is slow to import

    return guarded(lambda: serve(read_config(arguments)), (RetrievalError,))


def _serve(arguments: Sequence[str]) -> int:
    if HELP & set(arguments):
        print(help_text(AssistantConfig, [_SERVE], root="assistant"))
        return 0
    from agents.web.command import serve  # noqa: PLC0415 -- the server is slow to import

    return guarded(lambda: serve(arguments), (RetrievalError,))


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``matsmith ask --help`` for exit codes."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    about = "The coding assistant: a free question in, executed code out."
    commands = {"ask": _ask, "serve": _serve, "mcp": _mcp, "cache": cache}
    return run_one_of("matsmith", about, commands, arguments)
