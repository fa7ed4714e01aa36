"""Chat models for tests: deterministic, counted, without any network."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field

from docgen.replies import Said

_SECTION = re.compile(r"^<(\w+)>\n(.*?)\n</\1>$", re.MULTILINE | re.DOTALL)


def read_prompt(text: str) -> list[dict[str, str]]:
    """The marked sections of a documentation prompt, symbol by symbol."""
    found: list[dict[str, str]] = []
    for name, content in _SECTION.findall(text):
        if name == "symbol":
            found.append({})
        found[-1][name] = content
    return found


def write(prompt: str) -> str:
    """A reply to a documentation prompt: what the docstrings begin with."""
    return "\n\n".join(
        f"# {s['symbol']}\n## What it does\n"
        + (s.get("docstring", "").strip().partition("\n\n")[0] or "Something.")
        + "\n\n## Relations\n- Used by others.\n\n## Example\n```python\npass\n```"
        for s in read_prompt(prompt)
    )


@dataclass
class DocModel:
    """Writes documentation; keeps every prompt it was given."""

    name: str = "somebody"
    prompts: list[str] = field(default_factory=list)

    async def ask(self, prompt: str, instructions: str = "") -> Said:
        self.prompts.append(prompt)
        await asyncio.sleep(0)
        return Said(self.reply(prompt))

    def reply(self, prompt: str) -> str:
        return write(prompt)


@dataclass
class StubbornModel(DocModel):
    """Refuses the symbols it is told to refuse, with the given text or an exception."""

    refuse: dict[str, str] = field(default_factory=dict)

    def reply(self, prompt: str) -> str:
        for name, answer in self.refuse.items():
            if f"<symbol>\n{name}\n</symbol>" in prompt:
                if answer == "raise":
                    raise ConnectionError("refused")
                return answer
        return write(prompt)
