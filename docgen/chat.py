"""The chat model of a command that may not import who builds it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from hydra.utils import get_method
from omegaconf import OmegaConf

from sandbox.command import CONF, UsageError, read_group
from sandbox.environments import cache_folder

if TYPE_CHECKING:  # slow to import
    from langchain_core.language_models import BaseChatModel


@asynccontextmanager
async def open_model(
    name: str, overrides: Mapping[str, Any], *, concurrency: int = 8, priced: bool = False
) -> AsyncIterator[BaseChatModel]:
    """The chat model ``conf/model/<name>.yaml``, open for as long as the context lasts.

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
    config = read_group("model", name, overrides)
    build = get_method(str(OmegaConf.select(OmegaConf.load(CONF / "chat.yaml"), "_target_")))
    opened = build(config, concurrency=concurrency, cache=cache_folder(), priced=priced)
    async with AsyncExitStack() as stack:
        try:
            model: BaseChatModel = await stack.enter_async_context(opened)
        except ValueError as error:
            raise UsageError(f"model={name}: {error}") from error
        yield model
