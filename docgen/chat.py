"""The chat model of a command that may not import who builds it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pydoc import locate
from typing import Any

from docgen.replies import Chat
from matsmith.core.command import Group
from matsmith.core.configuration import CONF, load
from matsmith.core.errors import UsageError
from sandbox.environments import cache_folder


@asynccontextmanager
async def open_writer(
    model: Group, *, concurrency: int = 8, priced: bool = False
) -> AsyncIterator[Chat | None]:
    """The chat model that ``model`` chooses, ``None`` where it names none.

    It is open for as long as the context lasts. ``conf/chat.yaml`` says who builds it: chat models
    live in ``agents``, which is not imported from here. With ``priced`` its price must be known.
    What cannot be built is a `UsageError`.
    """
    async with AsyncExitStack() as stack:
        chat: Chat | None = None
        if model.name:
            build: Any = locate(load(CONF / "chat.yaml")["_target_"])
            config, cache = model.read("model"), cache_folder()
            opened = build(config, concurrency=concurrency, cache=cache, priced=priced)
            try:
                chat = await stack.enter_async_context(opened)
            except ValueError as error:
                raise UsageError(f"model={model.name}: {error}") from error
        yield chat
