"""``matsmith ask``, ``serve`` and ``mcp``: their words, and what they begin with."""

from __future__ import annotations

import difflib
import os
import re
import signal
import stat
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, ValidationError
from rich.console import Console

from agents.assistant import store
from agents.assistant.config import USAGE, AssistantConfig, needs_model, read_config
from agents.assistant.files import attach, expanded, find, mentioned
from agents.assistant.session import open_assistant
from agents.assistant.terminal import Terminal, exit_code, play
from agents.config import help_text
from foundation.command import INTERRUPTED, asks_help, guarded, tell
from foundation.errors import UsageError

#: Options of `ask`.
ASK = ("--file", "--library", "--out", "--timeout", "--continue", "--json", "--demo")
_OPTION = re.compile(r"(\w[\w.]*)=.*", re.DOTALL)


def _in_a_folder(path: Path) -> Path:
    path = expanded(path).absolute()
    if not path.parent.is_dir():
        raise ValueError(path)
    return path


class AskWords(BaseModel):
    """The words of ``matsmith ask`` and ``serve``; what an option takes is its description."""

    words: list[str] = []
    overrides: list[str] = []
    files: list[str] = []
    out: Annotated[Path, AfterValidator(_in_a_folder)] | None = Field(
        None, description="its folder does not exist"
    )
    timeout: float | None = Field(None, gt=0, description="a number of seconds above 0")
    port: int = Field(
        0, ge=0, lt=2**16, description="a number from 0 (any free one) to 65535"
    )
    open: bool = Field(False, description="true or false")
    resume: str | None = None
    json_: bool = Field(False, alias="json", description="true or false")
    demo: bool = Field(False, description="true or false")


def read_command(arguments: Sequence[str], options: Sequence[str] = ASK) -> AskWords:
    """Read the words; an option that the command has not is an override, and refused as one."""
    found: dict[str, Any] = {"words": [], "overrides": [], "files": []}
    rest = list(arguments)
    bare = {option.removeprefix("--") for option in options}
    while rest:
        argument = rest.pop(0)
        if "=" in argument and argument.partition("=")[0] in bare:
            argument = f"--{argument}"  # file=POSCAR is --file=POSCAR
        name, equals, value = argument.partition("=")
        if argument == "--":
            found["words"] += rest
            break
        if name in options and name in {
            "--file",
            "--library",
            "--out",
            "--timeout",
            "--port",
        }:
            if not equals and not rest:
                raise UsageError(f"{name}: its value is missing")
            value = value if equals else rest.pop(0)
            if name == "--file":
                found["files"].append(value)
                while rest and find(rest[0]) is not None:  # a pattern, as a shell does
                    found["files"].append(rest.pop(0))
            elif name == "--library":
                found["overrides"].append(f"library={value}")
            else:
                found[name[2:]] = value
        elif name == "--continue":
            known = rest and (store.sessions_folder() / rest[0]).is_dir()
            found["resume"] = value or (rest.pop(0) if known and not equals else "")
        elif name in options:
            found[name[2:]] = value or True
        elif _names_setting(argument) and rest:
            found["overrides"].append(f"{argument[2:]}={rest.pop(0)}")
        else:
            found["overrides" if _is_setting(argument) else "words"].append(argument)
    try:
        return AskWords.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        why = next(
            field.description
            for key, field in AskWords.model_fields.items()
            if name in (key, field.alias)
        )
        raise UsageError(f"--{name} {first['input']}: {why}") from error


def _names_setting(argument: str) -> bool:
    """Whether it is ``--KEY``, whose value is the next word."""
    key = argument.removeprefix("--").partition(".")[0]
    return argument.startswith("--") and key in AssistantConfig.model_fields


def _is_setting(argument: str) -> bool:
    """Whether a word is KEY=VALUE or an option, and not (a part of) a question."""
    if argument.startswith("-"):
        return not set(argument.partition("=")[0]) & set(" \t\n")
    match = _OPTION.fullmatch(argument)
    head = match[1].partition(".")[0] if match else ""
    return bool(difflib.get_close_matches(head, AssistantConfig.model_fields, 1, 0.7))


async def _answer(asked: AskWords, config: AssistantConfig, progress: Console) -> int:
    # Imports keep the loop from its signals: until a question can be asked, Ctrl-C ends all,
    # at once: a thread that draws a spinner while the interpreter winds down can abort it.
    def end(*_: object) -> None:
        show = b"\x1b[?25h" if progress.is_terminal else b""
        os.write(2, show + b"\nInterrupted. Nothing had begun.\n")
        os._exit(INTERRUPTED)

    handler = signal.signal(signal.SIGINT, end)
    question = " ".join(asked.words)
    with progress.status("[dim]beginning[/dim]"):
        if not question:  # prompt_toolkit is slow to import: a spinner turns meanwhile
            from agents.assistant.conversation import Conversation  # noqa: PLC0415
        folder = store.find_session(asked.resume)
        mentioned(
            question, attach({}, asked.files)
        )  # a mistake is said before anything begins
        if question and (text := _piped()):
            path = store.private(
                folder / f"stdin-{len(list(folder.glob('*.json'))) + 1}.txt"
            )
            path.write_bytes(text)
            asked.files.append(str(path))
    output = Console(soft_wrap=True, highlight=False)
    terminal = Terminal(output, progress, asked.timeout, asked.json_)
    async with open_assistant(config, say=progress.print) as assistant:
        signal.signal(signal.SIGINT, handler)
        session = assistant.session(folder)
        if not question:
            session.files = attach(session.files, asked.files)
            return await Conversation(session, terminal).run()
        answer = await terminal.ask(session, question, asked.files)
        if asked.out is not None and answer.code is not None:
            for path in store.deliver(answer, asked.out):
                progress.print(f"written to {path}")
        return exit_code(answer)


def _piped() -> bytes:
    """What is piped into the command, or redirected to it."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):  # there is none
        return b""
    return sys.stdin.buffer.read() if stat.S_ISFIFO(mode) or stat.S_ISREG(mode) else b""


def _command(
    name: str, begin: Callable[[Sequence[str]], Any], arguments: Sequence[str]
) -> int:
    """A command that begins so; returns the exit code."""
    if not asks_help(arguments):
        return guarded(lambda: begin(arguments), (OSError,))
    if "all" in arguments:
        return tell(help_text(AssistantConfig, [USAGE[name]], root="assistant"))
    return tell(f"{USAGE[name]}\n\n{USAGE['settings']}")


def _ask(arguments: Sequence[str]) -> Any:
    asked = read_command(arguments)
    progress = Console(stderr=True, soft_wrap=True, highlight=False)
    if asked.demo:
        return play(asked.overrides, Console(soft_wrap=True, highlight=False), progress)
    return _answer(asked, needs_model(read_config(asked.overrides)), progress)


def _mcp(arguments: Sequence[str]) -> Any:
    from agents.assistant.mcp_server import serve as over_stdio  # noqa: PLC0415 -- slow to import

    return over_stdio(read_config(arguments))


def _serve(arguments: Sequence[str]) -> Any:
    asked = read_command(arguments, ("--port", "--open", "--continue"))
    config = needs_model(read_config([*asked.overrides, *asked.words]))
    from agents.assistant.web.app import serve as page  # noqa: PLC0415 -- slow to import

    return page(config, asked.resume, port=asked.port, opens=asked.open)


ask = partial(_command, "ask", _ask)
mcp = partial(_command, "mcp", _mcp)
serve = partial(_command, "serve", _serve)
