"""The chat model of a command that may not import who builds it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from hydra.utils import get_method
from omegaconf import OmegaConf

from sandbox.command import CONF, Group, UsageError
from sandbox.environments import cache_folder

if TYPE_CHECKING:  # slow to import
    from langchain_core.language_models import BaseChatModel


@asynccontextmanager
async def open_model(
    model: Group, *, concurrency: int = 8, priced: bool = False
) -> AsyncIterator[BaseChatModel]:
    """The chat model that ``model`` chooses, open for as long as the context lasts.

    Its ``name`` is the one under which its texts are stored. ``conf/chat.yaml`` says who builds
    it: chat models live in ``agents``, which is not imported from here.

    Parameters
    ----------
    priced
        Whether its cost is to be limited, for which its price must be known.

    Raises
    ------
    UsageError
        When there is no such configuration, or nothing can be built from it.
    """
    config = model.read("model")
    build = get_method(str(OmegaConf.select(OmegaConf.load(CONF / "chat.yaml"), "_target_")))
    opened = build(config, concurrency=concurrency, cache=cache_folder(), priced=priced)
    async with AsyncExitStack() as stack:
        try:
            chat: BaseChatModel = await stack.enter_async_context(opened)
        except ValueError as error:
            raise UsageError(f"model={model.name}: {error}") from error
        yield chat
