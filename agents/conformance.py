"""What an endpoint can do: ``python -m agents.conformance model=openai model.name=NAME``.

A few short requests, two minutes at most; prints what works, and the settings to use.
"""

from __future__ import annotations

import asyncio
import base64
import struct
import sys
import time
import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents.models import ModelClient, ModelConfig, ModelError, Reply, build_model, read_config
from sandbox.command import Group, UsageError, run
from sandbox.terminal import printable

if TYPE_CHECKING:  # slow to import
    from langchain_core.messages import BaseMessage

#: Seconds for everything, and for one request at most.
LIMIT = 120.0
ONE_REQUEST = 60.0
TOGETHER = 4  # requests at once
COUNTED = 200  # numbers in a long answer, about 600 tokens
FEW_TOKENS = 16  # where a reply is cut off on purpose

Verdict = Literal["works", "fails", "differs", "not tried"]

_ABOUT = """\
Asks an endpoint a few short questions (two minutes at most) and prints what works and the settings
to use. Exit code 0: matsmith can use it; 1: it cannot.

examples:
  python -m agents.conformance model=openai model.name=gpt-4o-mini
  python -m agents.conformance model=openai model.name=qwen3 model.base_url=http://localhost:11434/v1
  python -m agents.conformance model=anthropic model.name=claude-sonnet-4-5"""


class Options(BaseModel):
    """Arguments of ``python -m agents.conformance``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Group = Field(
        Group("openai"), description="configuration of conf/model; its keys by model.KEY=VALUE"
    )


@dataclass(frozen=True)
class Finding:
    """One line of the table."""

    check: str
    verdict: Verdict
    detail: str


@dataclass
class Probe:
    """An endpoint under examination.

    Attributes
    ----------
    settings
        What a user should set, by key of the command line.
    """

    config: ModelConfig
    client: ModelClient
    replies: list[Reply] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)

    async def ask(self, *messages: BaseMessage, client: ModelClient | None = None) -> Reply:
        """The reply to some messages; a cut one stays cut.

        Raises
        ------
        ModelError
            When there is none.
        """
        reply = await (client or self.client).ask(messages, sample="0", extend=False)
        self.replies.append(reply)
        return reply


Check = Callable[[Probe], Awaitable[tuple[Verdict, str]]]


async def plain_answer(probe: Probe) -> tuple[Verdict, str]:
    """A short question has a short answer."""
    started = time.monotonic()
    reply = await probe.ask(_human("What is 6 times 7? Reply with the number only."))
    if "42" not in reply.text:
        return "fails", f"{reply.fault or 'the text'}: {reply.text[:80]!r}"
    return "works", f"{time.monotonic() - started:.1f} s"


async def system_prompt(probe: Probe) -> tuple[Verdict, str]:
    """A system message is accepted and obeyed."""
    from langchain_core.messages import SystemMessage  # noqa: PLC0415 - slow to import

    system = SystemMessage("Whatever the user says, reply with the single word FELDSPAR.")
    reply = await probe.ask(system, _human("What is the capital of France?"))
    obeyed = "feldspar" in reply.text.lower()
    return ("works", "") if obeyed else ("fails", f"ignored: {reply.text[:80]!r}")


async def long_answer(probe: Probe) -> tuple[Verdict, str]:
    """A long answer comes whole."""
    started = time.monotonic()
    reply = await probe.ask(
        _human(f"Write the integers from 1 to {COUNTED}, separated by commas, and nothing else.")
    )
    seconds = time.monotonic() - started
    if reply.fault == "length":
        probe.settings["model.max_tokens"] = "8192"
        return "fails", "cut off at the endpoint's own limit"
    wanted = (str(COUNTED - 1), str(COUNTED))
    if not all(number in reply.text[-40:] for number in wanted):
        return "differs", f"ends with {reply.text[-30:]!r}"
    tokens = reply.usage.completion_tokens
    return "works", f"{tokens} tokens in {seconds:.1f} s"


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
    if any(reply.usage.estimated for reply in probe.replies):
        return "differs", "none, or counts that cannot be true: tokens are estimated, cost unknown"
    spent = sum(reply.usage.tokens for reply in probe.replies)
    priced = all(reply.usage.cost_usd is not None for reply in probe.replies)
    if not priced:
        probe.settings["model.price"] = "'{prompt: USD, completion: USD}'"
    return "works", f"{spent} tokens so far" + ("" if priced else "; the price is unknown")


async def parallel(probe: Probe) -> tuple[Verdict, str]:
    """Several requests at once are answered."""
    started = time.monotonic()
    asked = [probe.ask(_human(f"What is {n} plus {n}? The number only.")) for n in range(TOGETHER)]
    replies = await asyncio.gather(*asked, return_exceptions=True)
    failed = [reply for reply in replies if isinstance(reply, BaseException)]
    if failed:
        probe.settings["concurrency"] = "1"
        return "fails", f"{len(failed)} of {TOGETHER} failed: {failed[0]}"
    busy = sum(reply.seconds for reply in replies if isinstance(reply, Reply))
    seconds = time.monotonic() - started
    return "works", f"{TOGETHER} at once in {seconds:.1f} s ({busy:.1f} s added up)"


async def length(probe: Probe) -> tuple[Verdict, str]:
    """Whether a reply that is cut off says so."""
    config = probe.config.model_copy(update={"max_tokens": FEW_TOKENS})
    client = build_model(config)
    reply = await probe.ask(_human(f"Write the integers from 1 to {COUNTED}."), client=client)
    for note in client.adjustments:
        if note not in probe.client.adjustments:
            probe.client.adjustments.append(note)
    if reply.fault == "length":
        return "works", f"cut at {FEW_TOKENS} tokens, and says so"
    if len(reply.text) > 20 * FEW_TOKENS:
        return "fails", "model.max_tokens has no effect"
    return "fails", f"a cut reply is not marked as such (fault: {reply.fault})"


async def reasoning(probe: Probe) -> tuple[Verdict, str]:
    """Where a reasoning model puts its thoughts."""
    if any(reply.reasoning for reply in probe.replies):
        return "works", "in a field of its own; recorded, never parsed"
    if any("</think" in reply.text or "<think" in reply.text for reply in probe.replies):
        return "differs", "in the text, as <think> blocks"
    return "not tried", "no reasoning was seen"


async def tool_calls(probe: Probe) -> tuple[Verdict, str]:
    """Whether the model calls a tool (matsmith itself needs none)."""
    schema = {
        "title": "get_density",
        "description": "The measured density of a material in g/cm3.",
        "type": "object",
        "properties": {"formula": {"type": "string", "description": "chemical formula"}},
        "required": ["formula"],
    }
    bound = probe.client.chat.bind_tools([schema])
    message = await bound.ainvoke([_human("Look up the measured density of NaCl with the tool.")])
    calls = getattr(message, "tool_calls", [])
    return ("works", str(calls[0]["args"])) if calls else ("fails", "no call came (not needed)")


async def images(probe: Probe) -> tuple[Verdict, str]:
    """Whether an image is accepted (matsmith itself sends none)."""
    from langchain_core.messages import HumanMessage  # noqa: PLC0415 - slow to import

    block = {"type": "image", "mime_type": "image/png", "base64": base64.b64encode(_red()).decode()}
    question = {"type": "text", "text": "Which colour has this image? One word."}
    reply = await probe.ask(HumanMessage(content_blocks=[question, block]))  # type: ignore[list-item]
    seen = "red" in reply.text.lower()
    return ("works", "") if seen else ("fails", f"{reply.text[:60]!r} for a red one (not needed)")


#: In the order of the table, which is also that of the requests.
CHECKS: dict[str, Check] = {
    "plain answer": plain_answer,
    "system prompt": system_prompt,
    "temperature": temperature,
    "usage": usage,
    "length behaviour": length,
    "parallel requests": parallel,
    "long answer": long_answer,
    "reasoning": reasoning,
    "tool calls": tool_calls,
    "images": images,
}
#: Without these matsmith has no use for an endpoint.
NEEDED = ("plain answer", "system prompt", "long answer")


async def examine(config: ModelConfig, *, limit: float) -> tuple[list[Finding], Probe]:
    """Do every check that there is time for.

    Raises
    ------
    ValueError
        When the model cannot be built.
    """
    asked = config.model_copy(
        update={
            "timeout": min(config.timeout, ONE_REQUEST),
            "max_retries": min(config.max_retries, 1),
            "cache": False,
            "record": None,
            "replay": None,
        }
    )
    probe = Probe(asked, build_model(asked, concurrency=TOGETHER))
    ends = time.monotonic() + limit
    findings = []
    for name, check in CHECKS.items():
        left = ends - time.monotonic()
        try:
            async with asyncio.timeout(min(left, ONE_REQUEST)):
                verdict, detail = await check(probe)
        except TimeoutError:
            verdict, detail = ("fails", f"no end after {ONE_REQUEST:.0f} s")
            if left < ONE_REQUEST:
                verdict, detail = "not tried", f"the {limit:.0f} s were over"
        except ModelError as error:
            verdict, detail = "fails", str(error)
        except Exception as error:  # noqa: BLE001 - tools and images go past the client
            verdict, detail = "fails", f"{type(error).__name__}: {error}"
        findings.append(Finding(name, verdict, " ".join(detail.split())[:200]))
        if name == "plain answer" and verdict == "fails":
            break  # nothing else can work
    return findings, probe


def report(findings: Sequence[Finding], probe: Probe, choice: str, console: Console) -> None:
    """Print the table and the settings."""
    table = Table(title=f"{probe.config.name} ({probe.config.provider})")
    for heading in ("check", "result", "what was seen"):
        table.add_column(heading)
    for finding in findings:
        table.add_row(finding.check, finding.verdict, Text(printable(finding.detail)))
    console.print(table)
    for note in probe.client.adjustments:
        console.print(Text(f"adjusted: {printable(note)}"))
    console.print(
        "matsmith can use it."
        if is_usable(findings)
        else "matsmith cannot use this endpoint: something that it requires does not work."
    )
    settings = {"model": choice, "model.name": probe.config.name}
    if probe.config.base_url:
        settings["model.base_url"] = probe.config.base_url
    settings |= probe.settings
    line = " ".join(f"{key}={value}" for key, value in settings.items())
    console.print("\nsettings:", style="bold")
    console.print(Text(f"  {line}"), soft_wrap=True)


def is_usable(findings: Sequence[Finding]) -> bool:
    """Whether everything works that matsmith needs."""
    found = {finding.check: finding.verdict for finding in findings}
    return all(found.get(name) in {"works", "differs"} for name in NEEDED)


def _human(text: str) -> BaseMessage:
    from langchain_core.messages import HumanMessage  # noqa: PLC0415 - slow to import

    return HumanMessage(text)


def _red(size: int = 32) -> bytes:
    """A red square as PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\xff\0\0" * size) * size
    data = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + data


async def _action(options: Options) -> int:
    config = read_config(options.model.read("model"))
    if not config.llm:
        raise UsageError("model=rules has no endpoint; choose another model")
    findings, probe = await examine(config, limit=LIMIT)
    report(findings, probe, options.model.name, Console())
    return 0 if is_usable(findings) else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``."""
    program = "python -m agents.conformance"
    return run(program, _ABOUT, Options, _action, arguments, errors=(ValueError,))


if __name__ == "__main__":
    sys.exit(main())
