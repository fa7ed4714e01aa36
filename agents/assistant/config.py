"""What a user of the assistant can choose, and everything that works on a question."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from agents.assistant.events import heard
from agents.budget import Meter
from agents.composition import compose_plain, expand, parse
from agents.config import RuntimeConfig, validate
from sandbox import environments
from sandbox.command import UsageError

if TYPE_CHECKING:  # LangChain is slow to import
    from agents.runtime import Runtime

#: Import names that are documented where an environment has them.
LIBRARIES = ("pymatgen", "matminer", "robocrys", "phonopy")


class AssistantConfig(RuntimeConfig):
    """What a user of the assistant can choose."""

    env: str = Field("live", description="installed versions: a name or ./FOLDER")
    packages: tuple[str, ...] | None = Field(
        None, description=f"import names to look up; none: {', '.join(LIBRARIES)}, if installed"
    )

    @field_validator("packages", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value


def read_config(overrides: Sequence[str] = ()) -> AssistantConfig:
    """The configuration of ``conf/assistant.yaml`` with overrides.

    Raises
    ------
    UsageError
        In one line.
    """
    (chosen,) = expand(parse(overrides), multirun=False)
    plain = compose_plain(chosen, kind=AssistantConfig, root="assistant")
    if not any(override.partition("=")[0] == "system" for override in chosen):
        system = f"system={default_system(plain['model'])}"
        plain = compose_plain([system, *chosen], kind=AssistantConfig, root="assistant")
    return validate(plain, AssistantConfig, ("system",))


def default_system(model: Mapping[str, object]) -> str:
    """The architecture for a model, as its configuration says what it can do.

    A model that calls tools decides for itself what it looks up; one that cannot drafts first,
    and sees only the documents of what a draft got wrong. The model without an LLM knows nothing
    by itself: it gets documents at once.
    """
    if model["provider"] == "rules":
        return "reflect"
    return "adaptive" if model.get("tools") == "text" else "tools"


@asynccontextmanager
async def open_parts(
    config: AssistantConfig, *, say: Callable[[str], None], warm: bool = True
) -> AsyncIterator[Runtime]:
    """Model, documents, sandbox and architecture; see :func:`agents.runtime.open_runtime`.

    Raises
    ------
    UsageError, SandboxError, RetrievalError
        When something is not available; the message says what to do.
    """
    from agents.runtime import open_client, open_runtime, open_writer  # noqa: PLC0415 - slow

    client = open_client(config.model)
    try:
        await asyncio.to_thread(environments.build, config.env, say=say)
        installed = environments.source_folders(config.env)
        wanted = config.packages or LIBRARIES
        there = [name for name in wanted if any((site / name).is_dir() for site in installed)]
        if missing := sorted(set(config.packages or ()) - set(there)):
            raise UsageError(f"packages={','.join(missing)}: is not installed in {config.env!r}")
        writer = open_writer(config, client, Meter())
        opened = open_runtime(
            config, config.env, there, client=client, writer=writer, say=say, executes=True,
            on_step=heard, warm=warm,
        )  # fmt: skip
        async with opened as runtime:
            yield runtime
    finally:
        await client.close()
