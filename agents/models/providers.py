"""The chat model that a configuration names, and its client."""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from agents.models.cache import ReplyCache
from agents.models.client import ModelClient
from agents.models.config import ModelConfig
from agents.models.pace import Reserve, reserve_here
from agents.models.prices import OPENAI, address, find_price
from agents.models.traffic import Recorder, Replay

if TYPE_CHECKING:  # LangChain takes a second to import, langchain_openai two
    from langchain_core.language_models import BaseChatModel

#: Extras of this project that install the package of a provider.
_EXTRAS = {
    "anthropic": "anthropic",
    "bedrock": "bedrock",
    "bedrock_converse": "bedrock",
    "google_genai": "google",
    "ollama": "ollama",
}

#: Settings under the names that chat models give them, the common one first.
_NAMES = {
    "name": ("model", "model_name", "model_id"),
    "base_url": ("base_url", "endpoint_url", "endpoint"),
    "temperature": ("temperature",),
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict"),
    "timeout": ("timeout", "request_timeout"),
    "max_retries": ("max_retries",),
}


def build_model(
    config: ModelConfig,
    *,
    concurrency: int = 8,
    cache: Path | None = None,
    reserve: Reserve | None = None,
) -> ModelClient:
    """Build the chat model that ``config`` describes; for ``reserve`` see `agents.models.pace`.

    Raises
    ------
    ValueError
        When a key or a package is missing, the provider or ``path`` names no chat model, a
        setting does not exist there, or ``replay`` cannot be read.
    """
    replies = None
    # The model without an LLM is faster than its cache.
    if cache is not None and config.cache and config.llm:
        replies = ReplyCache(cache / "replies.sqlite")
    retries = True
    if config.replay:
        from agents.models.unreachable import Unreachable  # noqa: PLC0415 - see above

        chat: BaseChatModel = Unreachable()
    elif config.provider == "rules":
        # Imported here because the rules read prompts of every other part.
        from agents.models.rules import RulesChatModel  # noqa: PLC0415

        chat = RulesChatModel(**config.options)
    else:
        make = _class if config.provider == "class" else _provider
        chat, config, retries = make(config)
    return ModelClient(
        chat,
        config,
        price=find_price(config),
        cache=replies,
        record=Recorder(config.record) if config.record else None,
        replay=Replay.load(config.replay) if config.replay else None,
        concurrency=concurrency,
        retries=retries,
        reserve=reserve or reserve_here,
    )


def _provider(config: ModelConfig) -> tuple[BaseChatModel, ModelConfig, bool]:
    """The chat model of a provider; for what is returned see `_settings`."""
    if config.provider == "openai":
        return _openai(config)
    from langchain.chat_models import init_chat_model  # noqa: PLC0415 - see above

    def build(**settings: Any) -> BaseChatModel:
        made: BaseChatModel = init_chat_model(
            config.name, model_provider=config.provider, **settings
        )
        return made

    where = f"model.provider={config.provider}"
    # What the class calls its settings is known when there is one.
    kind = type(_attempt(where, config, build, config.options))
    config, settings, retries = _settings(config, kind)
    settings.pop(next((n for n in _NAMES["name"] if n in settings), ""), None)
    return _attempt(where, config, build, settings), config, retries


def _openai(config: ModelConfig) -> tuple[BaseChatModel, ModelConfig, bool]:
    url, key = address(config), os.environ.get("OPENAI_API_KEY")
    if not key and url == OPENAI:
        raise ValueError(
            "model: no OPENAI_API_KEY in the environment. Set it, or point model.base_url at an "
            "OpenAI-compatible endpoint that needs none, or use model=rules (no LLM)."
        )
    from openai import DefaultAsyncHttpxClient  # noqa: PLC0415 - see above

    from agents.models.openai_chat import OpenAIChat  # noqa: PLC0415 - see above

    config, settings, retries = _settings(config, OpenAIChat)
    # Without its own, every model of a process shares one, which is bound to an event loop.
    connections = DefaultAsyncHttpxClient(timeout=config.timeout)
    settings = {
        "api_key": key or "none", "http_async_client": connections, **settings, "base_url": url,
    }  # fmt: skip
    return _attempt("model", config, OpenAIChat, settings), config, retries


def _class(config: ModelConfig) -> tuple[BaseChatModel, ModelConfig, bool]:
    from langchain_core.language_models import BaseChatModel  # noqa: PLC0415 - see above

    module, _, name = (config.path or "").rpartition(".")
    try:
        target = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"model.path: cannot import {config.path!r}: {error}") from error
    config, settings, retries = _settings(config, target)
    chat = _attempt(f"model.path={config.path}", config, target, settings)
    if not isinstance(chat, BaseChatModel):
        raise ValueError(f"model.path: {config.path!r} is not a LangChain chat model")  # noqa: TRY004
    return chat, config, retries


def _settings(config: ModelConfig, target: Any) -> tuple[ModelConfig, dict[str, Any], bool]:
    """The settings of ``config`` under the names that ``target`` takes.

    Returns
    -------
    tuple
        The configuration as it is really sent (it identifies replies), the arguments, and whether
        ``target`` tries again itself; that, and the time limit, the client does otherwise.

    Raises
    ------
    ValueError
        When a setting that somebody chose cannot be sent.
    """
    accepted = _accepted(target)
    settings = dict(config.options)
    for key, names in _NAMES.items():
        value = getattr(config, key)
        if value is None or settings.keys() & set(names):
            continue
        known = next((name for name in names if name in accepted), None)
        if known is not None:
            settings[known] = value
        elif key == "temperature" and key not in config.model_fields_set:
            config = config.model_copy(update={"temperature": None})
        elif key in {"temperature", "max_tokens", "base_url"}:
            raise ValueError(
                f"model.{key}={value}: {getattr(target, '__name__', target)} has no such setting. "
                f"Set model.{key}=null; the provider's own settings go into model.options"
            )
    return config, settings, "max_retries" in accepted


def _accepted(target: Any) -> set[str]:
    """Names of the arguments of a chat model's class, or of a function that makes one."""
    fields = getattr(target, "model_fields", None)
    if isinstance(fields, Mapping):
        return {name for field, info in fields.items() for name in (field, info.alias) if name}
    return set(inspect.signature(target).parameters)


def _attempt(
    where: str, config: ModelConfig, make: Callable[..., Any], settings: Mapping[str, Any]
) -> Any:
    """Call ``make``; whatever it objects to becomes one line."""
    try:
        return make(**settings)
    except ImportError as error:
        extra = _EXTRAS.get(config.provider)
        how = f"uv pip install 'matsmith[{extra}]'" if extra else "install it"
        reason = str(error).partition(" Please")[0]
        raise ValueError(f"{where}: {reason} To install it: {how}") from error
    except ValidationError as error:  # its text would show the settings, keys included
        reasons = "; ".join(str(each["msg"]) for each in error.errors(include_input=False))
        raise ValueError(f"{where}: {' '.join(reasons.split())}") from None
    except Exception as error:
        raise ValueError(f"{where}: {' '.join(str(error).split())[:600]}") from error
