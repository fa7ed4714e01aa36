"""The chat model that a configuration names."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from agents.models.cache import ReplyCache
from agents.models.client import ModelClient
from agents.models.config import ModelConfig
from agents.models.prices import find_price
from agents.models.traffic import Recorder, Replay

if TYPE_CHECKING:  # LangChain takes a second to import, langchain_openai two
    from langchain_core.language_models import BaseChatModel


def build_model(
    config: ModelConfig, *, concurrency: int = 8, cache: Path | None = None
) -> ModelClient:
    """Build the chat model that ``config`` describes.

    Parameters
    ----------
    config
        The validated ``model`` group.
    concurrency
        Requests in flight at once.
    cache
        Folder of the response cache; ``None`` for none.

    Raises
    ------
    ValueError
        When a key is missing, ``path`` names no chat model, or ``replay`` cannot be read.
    """
    replies = None
    # The model without an LLM is faster than its cache.
    if cache is not None and config.cache and config.llm:
        replies = ReplyCache(cache / "replies.sqlite")
    return ModelClient(
        _chat(config),
        config,
        price=find_price(config),
        cache=replies,
        record=Recorder(config.record) if config.record else None,
        replay=Replay.load(config.replay) if config.replay else None,
        concurrency=concurrency,
    )


def _chat(config: ModelConfig) -> BaseChatModel:
    if config.replay:
        from agents.models.unreachable import Unreachable  # noqa: PLC0415 - see above

        return Unreachable()
    if config.provider == "rules":
        # Imported here because the rules read prompts of every other part.
        from agents.rules import RulesChatModel  # noqa: PLC0415

        return RulesChatModel(**config.options)
    if config.provider == "class":
        return _chat_class(config)
    base_url = config.base_url or os.environ.get("OPENAI_BASE_URL")
    key = os.environ.get("OPENAI_API_KEY")
    if not key and not base_url:
        raise ValueError(
            "model: no OPENAI_API_KEY in the environment. Set it, or point model.base_url at an "
            "OpenAI-compatible endpoint that needs none, or use model=rules (no LLM)."
        )
    from langchain_openai import ChatOpenAI  # noqa: PLC0415 - see above

    return ChatOpenAI(
        model=config.name,
        base_url=base_url,
        api_key=SecretStr(key or "none"),
        temperature=config.temperature,
        max_completion_tokens=config.max_tokens,
        timeout=config.timeout,
        max_retries=config.max_retries,
        **config.options,
    )


def _chat_class(config: ModelConfig) -> BaseChatModel:
    from langchain_core.language_models import BaseChatModel  # noqa: PLC0415 - see above

    module, _, name = (config.path or "").rpartition(".")
    try:
        target = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"model.path: cannot import {config.path!r}: {error}") from error
    chat = target(**config.options)
    if not isinstance(chat, BaseChatModel):
        raise ValueError(f"model.path: {config.path!r} is no LangChain chat model")  # noqa: TRY004
    return chat
