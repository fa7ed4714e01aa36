"""What an endpoint can do: ``matsmith endpoint model=openai model.name=NAME``.

A few requests, five minutes at most; prints what works, and the settings to use.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, Field, PositiveFloat

from agents.models import (
    Message,
    ModelClient,
    ModelConfig,
    ModelError,
    Reply,
    build_model,
    read_config,
)
from agents.models.client import LATE
from agents.models.serving import window_of
from foundation.command import Command, Group
from foundation.configuration import data_of
from foundation.errors import UsageError
from foundation.terminal import printable

#: Seconds for one request at most.
ONE_REQUEST = 60.0
#: What is advised: tokens of a reply, as far as the window allows, and seconds of a slow one.
REPLY_TOKENS = 8192
SLOW_TIMEOUT = 600
TIMED = 20  # tokens of a reply from which its speed is told

Result = Literal["works", "differs", "slow", "fails", "not tried"]


class EndpointOptions(BaseModel, extra="forbid", frozen=True):
    """Arguments of ``matsmith endpoint``."""

    model: Group = Field(
        Group("openai"),
        description="configuration of conf/model; its keys by model.KEY=VALUE",
    )
    seconds: PositiveFloat = Field(300.0, description="time for all checks together")


@dataclass(frozen=True)
class Check:
    """A request, and the pattern of what its reply must hold: in the text, or in a tool call.

    Attributes
    ----------
    filler
        A sentence with a number, repeated before the question until it has ``tokens`` tokens.
    tool
        Whether a tool is offered, and has to be called.
    needed
        Whether matsmith has no use for an endpoint without it.
    loose
        Whether another text will do, as long as it is whole.
    """

    asked: str
    wanted: str
    system: str = ""
    image: str = ""
    filler: str = ""
    tokens: int = 0
    tool: bool = False
    needed: bool = True
    loose: bool = False

    @property
    def messages(self) -> list[Message]:
        """What is sent."""
        text = self.asked
        if self.filler:
            number = 4 * self.tokens // len(self.filler)
            sentences = [self.filler.format(number=n) for n in range(number)]
            text = "\n".join([*sentences, text])
        block = {"type": "image", "mime_type": "image/png", "base64": self.image}
        content: Any = [{"type": "text", "text": text}, block] if self.image else text
        before = [Message("system", self.system)] if self.system else []
        return [*before, Message("user", content)]


_DATA = data_of(__file__)
#: In the order of the table, which is also that of the requests.
CHECKS = {name: Check(**check) for name, check in _DATA["checks"].items()}
TOOL = {"type": "function", "function": _DATA["tool"]}


@dataclass(frozen=True)
class CheckResult:
    """What came of a check; ``reply`` where there was one."""

    result: Result
    detail: str
    reply: Reply | None = None


@dataclass
class Examination:
    """The checks of one endpoint, and what they say about it.

    ``ends`` is when its time is over, on the monotonic clock.
    """

    client: ModelClient
    ends: float
    outcomes: dict[str, CheckResult] = field(default_factory=dict)
    window: int | None = None

    async def check(self, name: str) -> CheckResult:
        """Make one check, as far as there is time."""
        outcome = await self._outcome(CHECKS[name])
        self.outcomes[name] = outcome
        return outcome

    async def _outcome(self, check: Check) -> CheckResult:
        left = self.ends - time.monotonic()
        if left <= 0:
            return CheckResult("not tried", "no time left; set seconds=N to allow more")
        if self.window is not None and check.tokens > self.window:
            return CheckResult("differs", f"the window has {self.window} tokens")
        tools = [TOOL] if check.tool else []
        try:
            async with asyncio.timeout(left):
                reply = await self.client.ask(check.messages, sample="0", tools=tools)
        except TimeoutError:
            return CheckResult("slow", f"no end after {left:.0f} s")
        except ModelError as error:
            late = LATE in str(error)
            return CheckResult("slow" if late else "fails", str(error))
        return _judged(check, reply)

    @property
    def is_usable(self) -> bool:
        """Whether all that matsmith needs works, if need be with other settings."""
        needed = [name for name, check in CHECKS.items() if check.needed]
        results = [self.outcomes[n].result for n in needed if n in self.outcomes]
        return len(results) == len(needed) and not {"fails", "not tried"} & set(results)

    @property
    def speed(self) -> float | None:
        """Tokens of a reply a second; ``None`` where no reply was long enough to tell."""
        replies = [outcome.reply for outcome in self.outcomes.values() if outcome.reply]
        longest = max(replies, key=lambda r: r.usage.completion_tokens, default=None)
        if longest is None or longest.usage.completion_tokens < TIMED:
            return None
        return longest.usage.completion_tokens / max(longest.seconds, 1e-3)

    def advice(self) -> dict[str, str]:
        """Settings of the model that the checks speak for."""
        settings: dict[str, str] = {}
        cut = any(o.reply and o.reply.fault == "length" for o in self.outcomes.values())
        slow = any(outcome.result == "slow" for outcome in self.outcomes.values())
        if cut and not slow:
            room = REPLY_TOKENS if self.window is None else self.window // 2
            settings["model.max_tokens"] = str(min(REPLY_TOKENS, room))
        if slow:
            settings["model.timeout"] = str(SLOW_TIMEOUT)
        if self.window is not None and self.window < 4 * REPLY_TOKENS:
            settings["model.context_tokens"] = str(self.window)
        if any(note.startswith("temperature ") for note in self.client.adjustments):
            settings["model.temperature"] = "null"
        if any(note.startswith("tools ") for note in self.client.adjustments):
            settings["model.tools"] = "text"
        return settings


def _judged(check: Check, reply: Reply) -> CheckResult:
    """Whether a reply is what was asked for."""
    calls = [dict(call.arguments) for call in reply.tool_calls]
    text = str(calls) if check.tool else reply.text
    if check.tokens and reply.fault == "context":
        detail = f"the endpoint read {reply.usage.prompt_tokens} tokens of about {check.tokens}"
        return CheckResult("differs", detail, reply)
    whole = reply.fault != "length"
    if whole and re.search(check.wanted, text, re.IGNORECASE):
        return CheckResult("works", f"{reply.seconds:.1f} s, {reply.usage}", reply)
    detail = f"{reply.fault or 'it replied'}: {text[-80:]!r}"
    return CheckResult("differs" if whole and check.loose else "fails", detail, reply)


async def _examine(client: ModelClient, seconds: float) -> Examination:
    """Make all checks that can be made, and print what comes of each."""
    examination = Examination(client, time.monotonic() + seconds)
    for number, name in enumerate(CHECKS):
        outcome = await examination.check(name)
        detail = printable(" ".join(outcome.detail.split())[:200])
        print(f"{name:<15} {outcome.result:<10} {detail}")
        if number == 0:
            if outcome.result == "fails" and outcome.reply is None:
                break  # nothing else can work
            examination.window = await window_of(client.config)
    if examination.window is None:
        cut = examination.outcomes.get("long prompt")
        if cut is not None and cut.reply is not None and cut.reply.fault == "context":
            examination.window = cut.reply.usage.prompt_tokens
    return examination


async def _action(options: EndpointOptions) -> int:
    config = read_config(options.model.read("model"))
    if not config.is_live:
        raise UsageError(
            f"model={config.provider} has no endpoint; choose another model"
        )
    client = build_model(_hurried(config))
    examination = await _examine(client, options.seconds)
    await client.close()
    for note in dict.fromkeys(client.adjustments):
        print(f"adjusted: {printable(note)}")
    if examination.window is not None:
        print(f"window: {examination.window} tokens")
    if (speed := examination.speed) is not None:
        print(f"speed: {speed:.0f} tokens of a reply per second")
    settings = {"model": options.model.name, "model.name": config.name}
    if config.base_url:
        settings["model.base_url"] = config.base_url
    settings |= examination.advice()
    refused = (
        "matsmith cannot use this endpoint: something that it requires does not work."
    )
    print("matsmith can use it." if examination.is_usable else refused)
    print("settings:", *(f"{key}={value}" for key, value in settings.items()))
    return 0 if examination.is_usable else 1


def _hurried(config: ModelConfig) -> ModelConfig:
    """The model as it is examined: soon, and without a cache."""
    changes = {
        "timeout": min(config.timeout, ONE_REQUEST),
        "max_retries": min(config.max_retries, 1),
        "cache": False,
        "record": None,
    }
    return config.model_copy(update=changes)


main = Command(
    "matsmith endpoint", _DATA["about"], EndpointOptions, _action, (ValueError,)
)
