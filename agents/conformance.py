"""What an endpoint can do: ``matsmith endpoint model=openai model.name=NAME``.

A few short requests, two minutes at most; prints what works, and the settings to use.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents.base import Usage
from agents.models import Message, ModelConfig, ModelError, build_model, read_config
from matsmith.core.command import Command, Group
from matsmith.core.errors import UsageError
from matsmith.core.terminal import printable

#: Seconds for everything, and for one request at most.
LIMIT = 120.0
ONE_REQUEST = 60.0
COUNTED = 200  # numbers in a long answer, about 600 tokens

#: 32 x 32 pixels, red.
RED = (
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAg"
    "EAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC"
)
FORMULA = {"type": "string", "description": "chemical formula"}
TOOL = {
    "type": "function",
    "function": {
        "name": "get_density",
        "description": "The measured density of a material in g/cm3.",
        "parameters": {
            "type": "object",
            "properties": {"formula": FORMULA},
            "required": ["formula"],
        },
    },
}

_ABOUT = """\
Asks an endpoint a few short questions (two minutes at most) and prints what works and the settings
to use. Exit code 0: matsmith can use it; 1: it cannot.

examples:
  matsmith endpoint model=openai model.name=gpt-4o-mini
  matsmith endpoint model=openai model.name=qwen3 model.base_url=http://localhost:11434/v1
  matsmith endpoint model=anthropic model.name=claude-sonnet-4-5"""


class Options(BaseModel):
    """Arguments of ``matsmith endpoint``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Group = Field(
        Group("openai"), description="configuration of conf/model; its keys by model.KEY=VALUE"
    )


@dataclass(frozen=True)
class Check:
    """A request, and the pattern of what its reply must hold: in the text, or in a tool call."""

    asked: str
    wanted: str
    system: str = ""
    image: str = ""
    tool: bool = False
    needed: bool = True  # without it matsmith has no use for an endpoint

    @property
    def messages(self) -> list[Message]:
        """What is sent."""
        block = {"type": "image", "mime_type": "image/png", "base64": self.image}
        content: Any = [{"type": "text", "text": self.asked}, block] if self.image else self.asked
        before = [Message("system", self.system)] if self.system else []
        return [*before, Message("user", content)]


#: In the order of the table, which is also that of the requests.
CHECKS = {
    "plain answer": Check("What is 6 times 7? Reply with the number only.", "42"),
    "system prompt": Check(
        "What is the capital of France?",
        "feldspar",
        system="Whatever the user says, reply with the single word FELDSPAR.",
    ),
    "long answer": Check(
        f"Write the integers from 1 to {COUNTED}, separated by commas, and nothing else.",
        rf"(?s)\b{COUNTED - 1}\b.*\b{COUNTED}\b",
    ),
    "tool calls": Check(
        "Look up the measured density of NaCl with the tool.", "NaCl", tool=True, needed=False
    ),
    "images": Check("Which colour has this image? One word.", "red", image=RED, needed=False),
}


@dataclass
class Findings:
    """What was found: result and detail of each check, and the settings that a user needs."""

    checks: dict[str, tuple[str, str]]
    settings: dict[str, str]
    adjusted: tuple[str, ...]
    usage: Usage

    @property
    def usable(self) -> bool:
        """Whether everything works that matsmith needs."""
        works = {name for name, (result, _) in self.checks.items() if result == "works"}
        return {name for name, check in CHECKS.items() if check.needed} <= works


async def examine(config: ModelConfig, *, limit: float) -> Findings:
    """Do every check that there is time for."""
    seconds, tries = min(config.timeout, ONE_REQUEST), min(config.max_retries, 1)
    changes = {"timeout": seconds, "max_retries": tries, "cache": False, "record": None}
    client = build_model(config.model_copy(update=changes))
    ends = time.monotonic() + limit
    checks: dict[str, tuple[str, str]] = {}
    settings: dict[str, str] = {}
    spent = Usage()
    for name, check in CHECKS.items():
        left, result = ends - time.monotonic(), "fails"
        try:
            async with asyncio.timeout(min(left, ONE_REQUEST)):
                tools = [TOOL] if check.tool else []
                reply = await client.ask(check.messages, sample="0", tools=tools)
            spent += reply.usage
            calls = [dict(call.arguments) for call in reply.tool_calls]
            seen = str(calls) if check.tool else reply.text
            detail = f"{reply.fault or ('calls' if check.tool else 'text')}: {seen[-80:]!r}"
            if reply.fault == "length":
                settings["model.max_tokens"] = "8192"
            elif re.search(check.wanted, seen, re.IGNORECASE):
                result, detail = "works", f"{reply.seconds:.1f} s"
        except TimeoutError:
            detail = f"no end after {ONE_REQUEST:.0f} s"
            if left < ONE_REQUEST:
                result, detail = "not tried", f"the {limit:.0f} s were over"
        except ModelError as error:
            detail = str(error)
        checks[name] = result, " ".join(detail.split())[:200]
        if name == "plain answer" and result == "fails":
            break  # nothing else can work
    adjusted = tuple(dict.fromkeys(client.adjustments))
    if any(note.startswith("temperature ") for note in adjusted):
        settings["model.temperature"] = "null"
    if spent.cost_usd is None and not spent.estimated:
        settings["model.price"] = "'{prompt: USD, completion: USD}'"
    return Findings(checks, settings, adjusted, spent)


def report(found: Findings, config: ModelConfig, choice: str, console: Console) -> None:
    """Print the table and the settings."""
    table = Table("check", "result", "what was seen", title=f"{config.name} ({config.provider})")
    for name, (result, detail) in found.checks.items():
        table.add_row(name, result, Text(printable(detail)))
    console.print(table)
    for note in found.adjusted:
        console.print(Text(f"adjusted: {printable(note)}"))
    console.print(Text(f"spent: {found.usage}"))
    refused = "matsmith cannot use this endpoint: something that it requires does not work."
    console.print("matsmith can use it." if found.usable else refused)
    settings = {"model": choice, "model.name": config.name}
    if config.base_url:
        settings["model.base_url"] = config.base_url
    line = " ".join(f"{key}={value}" for key, value in (settings | found.settings).items())
    console.print("\nsettings:", style="bold")
    console.print(Text(f"  {line}"), soft_wrap=True)


async def _action(options: Options) -> int:
    config = read_config(options.model.read("model"))
    if config.provider in {"recorded", "none"}:
        raise UsageError(f"model={config.provider} has no endpoint; choose another model")
    found = await examine(config, limit=LIMIT)
    report(found, config, options.model.name, Console())
    return 0 if found.usable else 1


main = Command("matsmith endpoint", _ABOUT, Options, _action, (ValueError,))


if __name__ == "__main__":
    sys.exit(main())
