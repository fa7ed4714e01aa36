"""What an endpoint can do: ``matsmith endpoint model=openai model.name=NAME``.

A few short requests, two minutes at most; prints what works, and the settings to use.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from agents.models import Message, ModelClient, ModelError, build_model, read_config
from matsmith.core.command import Command, Group
from matsmith.core.configuration import data_of
from matsmith.core.errors import UsageError
from matsmith.core.terminal import printable

#: Seconds for everything, and for one request at most.
LIMIT = 120.0
ONE_REQUEST = 60.0


class Options(BaseModel, extra="forbid", frozen=True):
    """Arguments of ``matsmith endpoint``."""

    model: Group = Field(
        Group("openai"),
        description="configuration of conf/model; its keys by model.KEY=VALUE",
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
    loose: bool = False  # another text will do, as long as it is whole

    @property
    def messages(self) -> list[Message]:
        """What is sent."""
        block = {"type": "image", "mime_type": "image/png", "base64": self.image}
        content: Any = (
            [{"type": "text", "text": self.asked}, block] if self.image else self.asked
        )
        before = [Message("system", self.system)] if self.system else []
        return [*before, Message("user", content)]


_DATA = data_of(__file__)
#: In the order of the table, which is also that of the requests.
CHECKS = {name: Check(**check) for name, check in _DATA["checks"].items()}
TOOL = {"type": "function", "function": _DATA["tool"]}


async def tried(client: ModelClient, check: Check, left: float) -> tuple[str, str]:
    """Result and detail of a check for which there are ``left`` seconds."""
    try:
        async with asyncio.timeout(min(left, ONE_REQUEST)):
            tools = [TOOL] if check.tool else []
            reply = await client.ask(check.messages, sample="0", tools=tools)
    except TimeoutError:
        over = left < ONE_REQUEST
        return (
            ("not tried", "no time left")
            if over
            else ("fails", f"no end after {ONE_REQUEST} s")
        )
    except ModelError as error:
        return "fails", str(error)
    seen = (
        str([dict(call.arguments) for call in reply.tool_calls])
        if check.tool
        else reply.text
    )
    whole = reply.fault != "length"
    if whole and re.search(check.wanted, seen, re.IGNORECASE):
        return "works", f"{reply.seconds:.1f} s, {reply.usage}"
    result = "differs" if whole and check.loose else "fails"
    return result, f"{reply.fault or 'it said'}: {seen[-80:]!r}"


async def _action(options: Options) -> int:
    config = read_config(options.model.read("model"))
    if config.provider in {"recorded", "none"}:
        raise UsageError(
            f"model={config.provider} has no endpoint; choose another model"
        )
    seconds, tries = min(config.timeout, ONE_REQUEST), min(config.max_retries, 1)
    changes = {"timeout": seconds, "max_retries": tries, "cache": False, "record": None}
    client = build_model(config.model_copy(update=changes))
    ends = time.monotonic() + LIMIT
    usable = True
    settings = {"model": options.model.name, "model.name": config.name}
    if config.base_url:
        settings["model.base_url"] = config.base_url
    for name, check in CHECKS.items():
        result, detail = await tried(client, check, ends - time.monotonic())
        print(f"{name:<15} {result:<10} {printable(' '.join(detail.split())[:200])}")
        usable &= result in {"works", "differs"} or not check.needed
        if detail.startswith("length"):
            settings["model.max_tokens"] = "8192"
        if name == "plain answer" and result == "fails":
            break  # nothing else can work
    for note in dict.fromkeys(client.adjustments):
        print(f"adjusted: {printable(note)}")
        if note.startswith("temperature "):
            settings["model.temperature"] = "null"
    refused = (
        "matsmith cannot use this endpoint: something that it requires does not work."
    )
    print("matsmith can use it." if usable else refused)
    print("settings:", *(f"{key}={value}" for key, value in settings.items()))
    return 0 if usable else 1


main = Command("matsmith endpoint", _DATA["about"], Options, _action, (ValueError,))
