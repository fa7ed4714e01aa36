"""What an endpoint can do: ``matsmith endpoint model=openai model.name=NAME``.

A few short requests, two minutes at most; prints what works, and the settings to use.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents.base import Usage
from agents.models import (
    Message,
    ModelClient,
    ModelConfig,
    ModelError,
    Reply,
    Tools,
    build_model,
    read_config,
)
from matsmith.core.command import Command, Group
from matsmith.core.errors import UsageError
from matsmith.core.terminal import printable

#: Seconds for everything, and for one request at most.
LIMIT = 120.0
ONE_REQUEST = 60.0
TOGETHER = 4  # requests at once
COUNTED = 200  # numbers in a long answer, about 600 tokens

#: 32 x 32 pixels, red.
RED = (
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAg"
    "EAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC"
)
TOOL = {
    "type": "function",
    "function": {
        "name": "get_density",
        "description": "The measured density of a material in g/cm3.",
        "parameters": {
            "type": "object",
            "properties": {"formula": {"type": "string", "description": "chemical formula"}},
            "required": ["formula"],
        },
    },
}

Verdict = Literal["works", "fails", "differs", "not tried"]

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


@dataclass
class Probe:
    """An endpoint under examination; ``settings`` are what a user should set."""

    config: ModelConfig
    client: ModelClient
    replies: list[Reply] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)

    async def ask(
        self, text: str, *, system: str = "", image: str = "", tools: Tools = ()
    ) -> Reply:
        """The reply to a question."""
        block = {"type": "image", "mime_type": "image/png", "base64": image}
        asked = Message("user", [{"type": "text", "text": text}, block] if image else text)
        messages = [*([Message("system", system)] if system else []), asked]
        self.replies.append(await self.client.ask(messages, sample="0", tools=tools))
        return self.replies[-1]


Check = Callable[[Probe], Awaitable[tuple[Verdict, str]]]


async def plain_answer(probe: Probe) -> tuple[Verdict, str]:
    """A short question has a short answer."""
    reply = await probe.ask("What is 6 times 7? Reply with the number only.")
    if "42" not in reply.text:
        return "fails", f"{reply.fault or 'the text'}: {reply.text[:80]!r}"
    return "works", f"{reply.seconds:.1f} s"


async def system_prompt(probe: Probe) -> tuple[Verdict, str]:
    """A system message is accepted and obeyed."""
    system = "Whatever the user says, reply with the single word FELDSPAR."
    reply = await probe.ask("What is the capital of France?", system=system)
    obeyed = "feldspar" in reply.text.lower()
    return ("works", "") if obeyed else ("fails", f"ignored: {reply.text[:80]!r}")


async def long_answer(probe: Probe) -> tuple[Verdict, str]:
    """A long answer comes whole."""
    reply = await probe.ask(
        f"Write the integers from 1 to {COUNTED}, separated by commas, and nothing else."
    )
    if reply.fault == "length":
        probe.settings["model.max_tokens"] = "8192"
        return "fails", "cut off at the endpoint's own limit"
    if not all(str(number) in reply.text[-40:] for number in (COUNTED - 1, COUNTED)):
        return "differs", f"ends with {reply.text[-30:]!r}"
    return "works", f"{reply.usage.completion_tokens} tokens in {reply.seconds:.1f} s"


async def temperature(probe: Probe) -> tuple[Verdict, str]:
    """Whether the temperature of the configuration is accepted."""
    if probe.config.temperature is None:
        return "not tried", "model.temperature=null: none is sent"
    if any(note.startswith("temperature ") for note in probe.client.adjustments):
        probe.settings["model.temperature"] = "null"
        return "fails", "the endpoint refuses it; matsmith does without it"
    return "works", f"{probe.config.temperature} is accepted"


async def usage(probe: Probe) -> tuple[Verdict, str]:
    """Whether the endpoint reports what was spent."""
    spent = sum((reply.usage for reply in probe.replies), Usage())
    if spent.estimated:
        return "differs", "none, or counts that cannot be true: tokens are estimated, cost unknown"
    if spent.cost_usd is None:
        probe.settings["model.price"] = "'{prompt: USD, completion: USD}'"
    unknown = "" if spent.cost_usd is not None else "; the price is unknown"
    return "works", f"{spent.tokens} tokens so far{unknown}"


async def parallel(probe: Probe) -> tuple[Verdict, str]:
    """Several requests at once are answered."""
    started = time.monotonic()
    asked = [probe.ask(f"What is {n} plus {n}? The number only.") for n in range(TOGETHER)]
    replies = await asyncio.gather(*asked, return_exceptions=True)
    failed = [reply for reply in replies if isinstance(reply, BaseException)]
    if failed:
        probe.settings["concurrency"] = "1"
        return "fails", f"{len(failed)} of {TOGETHER} failed: {failed[0]}"
    return "works", f"{TOGETHER} at once in {time.monotonic() - started:.1f} s"


async def tool_calls(probe: Probe) -> tuple[Verdict, str]:
    """Whether the model calls a tool (only architectures with tools need it)."""
    asked = "Look up the measured density of NaCl with the tool."
    called = (await probe.ask(asked, tools=[TOOL])).tool_calls
    if not called:
        return "fails", "no call came (not needed)"
    refused = any(note.startswith("tools sent as text") for note in probe.client.adjustments)
    return ("differs" if refused else "works"), str(dict(called[0].arguments))


async def images(probe: Probe) -> tuple[Verdict, str]:
    """Whether an image is accepted (questions with pictures need it)."""
    said = (await probe.ask("Which colour has this image? One word.", image=RED)).text
    missing = f"{said[:60]!r} for a red one; questions with pictures need it"
    return ("works", "") if "red" in said.lower() else ("fails", missing)


#: In the order of the table, which is also that of the requests.
CHECKS: dict[str, Check] = {
    "plain answer": plain_answer,
    "system prompt": system_prompt,
    "temperature": temperature,
    "usage": usage,
    "parallel requests": parallel,
    "long answer": long_answer,
    "tool calls": tool_calls,
    "images": images,
}
#: Without these matsmith has no use for an endpoint.
NEEDED = ("plain answer", "system prompt", "long answer")
Findings = dict[str, tuple[Verdict, str]]


async def examine(config: ModelConfig, *, limit: float) -> tuple[Findings, Probe]:
    """Do every check that there is time for."""
    seconds, tries = min(config.timeout, ONE_REQUEST), min(config.max_retries, 1)
    changes = {"timeout": seconds, "max_retries": tries, "cache": False, "record": None}
    asked = config.model_copy(update=changes)
    probe = Probe(asked, build_model(asked, concurrency=TOGETHER))
    ends = time.monotonic() + limit
    findings: Findings = {}
    for name, check in CHECKS.items():
        left = ends - time.monotonic()
        verdict: Verdict = "fails"
        try:
            async with asyncio.timeout(min(left, ONE_REQUEST)):
                verdict, detail = await check(probe)
        except TimeoutError:
            detail = f"no end after {ONE_REQUEST:.0f} s"
            if left < ONE_REQUEST:
                verdict, detail = "not tried", f"the {limit:.0f} s were over"
        except ModelError as error:
            detail = str(error)
        findings[name] = verdict, " ".join(detail.split())[:200]
        if name == "plain answer" and verdict == "fails":
            break  # nothing else can work
    return findings, probe


def report(findings: Findings, probe: Probe, choice: str, console: Console) -> None:
    """Print the table and the settings."""
    table = Table(title=f"{probe.config.name} ({probe.config.provider})")
    for heading in ("check", "result", "what was seen"):
        table.add_column(heading)
    for name, (verdict, detail) in findings.items():
        table.add_row(name, verdict, Text(printable(detail)))
    console.print(table)
    for note in dict.fromkeys(probe.client.adjustments):
        console.print(Text(f"adjusted: {printable(note)}"))
    console.print(
        "matsmith can use it."
        if is_usable(findings)
        else "matsmith cannot use this endpoint: something that it requires does not work."
    )
    settings = {"model": choice, "model.name": probe.config.name}
    if probe.config.base_url:
        settings["model.base_url"] = probe.config.base_url
    line = " ".join(f"{key}={value}" for key, value in (settings | probe.settings).items())
    console.print("\nsettings:", style="bold")
    console.print(Text(f"  {line}"), soft_wrap=True)


def is_usable(findings: Findings) -> bool:
    """Whether everything works that matsmith needs."""
    return all(findings.get(name, ("fails",))[0] in {"works", "differs"} for name in NEEDED)


async def _action(options: Options) -> int:
    config = read_config(options.model.read("model"))
    if config.provider in {"recorded", "none"}:
        raise UsageError(f"model={config.provider} has no endpoint; choose another model")
    findings, probe = await examine(config, limit=LIMIT)
    report(findings, probe, options.model.name, Console())
    return 0 if is_usable(findings) else 1


main = Command("matsmith endpoint", _ABOUT, Options, _action, (ValueError,))


if __name__ == "__main__":
    sys.exit(main())
