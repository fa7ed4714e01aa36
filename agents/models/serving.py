"""The window of a model, asked of the server that serves it.

There is no common way: llama.cpp tells it under ``/props`` and in its list of models, vLLM, SGLang,
OpenRouter and Groq in theirs under different names, LM Studio and TGI at addresses of their own,
Ollama for the models that are loaded.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from agents.models.config import ModelConfig, address
from foundation.errors import EndpointError

SECONDS = 5.0  # for all questions together
#: Names of a window, those of a server as it was started before those of a model as it was trained.
_KEYS = (
    "loaded_context_length",
    "n_ctx",
    "max_model_len",
    "max_total_tokens",
    "context_window",
    "context_length",
    "max_context_length",
)
_PLACES = ("{base}/models", "{root}/props", "{root}/info", "{root}/api/v0/models")
_OLLAMA = "{root}/api/ps"
_DEEPEST = 4


async def window_of(config: ModelConfig) -> int | None:
    """Tokens that the model reads at most, as its server says; ``None`` where it says nothing."""
    if not config.asks_endpoint:
        return None
    try:
        async with asyncio.timeout(SECONDS):
            return await _asked(config)
    except (OSError, EndpointError):
        return None


async def _asked(config: ModelConfig) -> int | None:
    from httpx2 import HTTPError, InvalidURL  # noqa: PLC0415 - slow to import

    from foundation.http import BoundedClient  # noqa: PLC0415 - the same

    base = address(config).rstrip("/")
    root = base.removesuffix("/v1")
    key = os.environ.get(config.key)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    places = (_OLLAMA, *_PLACES)
    async with BoundedClient() as client:
        for place in places:
            try:
                answer = await client.get(
                    place.format(base=base, root=root), headers=headers
                )
                content = json.loads(answer.content) if answer.is_success else None
            except (HTTPError, InvalidURL, ValueError, RecursionError):
                continue
            if window := window_in(content, config.name):
                return window
    return None


def window_in(content: Any, name: str) -> int | None:
    """The window of the model ``name`` in what a server tells of itself or of its models."""
    listed = (
        content.get("data", content.get("models"))
        if isinstance(content, dict)
        else None
    )
    if isinstance(listed, list):
        models = [model for model in listed if isinstance(model, dict)]
        named = [model for model in models if name in _names(model)]
        if not named and len(models) > 1:
            return None
        content = next(iter(named or models), None)
    numbers = dict(_numbers(content))
    return next((numbers[key] for key in _KEYS if key in numbers), None)


def _names(model: Mapping[str, Any]) -> set[str]:
    names = [model.get(key) for key in ("id", "name", "model")]
    aliases = model.get("aliases")
    listed = [*names, *(aliases if isinstance(aliases, list) else [])]
    texts = {each for each in listed if isinstance(each, str)}
    return texts | {text.removesuffix(":latest") for text in texts}


def _numbers(value: Any, depth: int = 0) -> Iterator[tuple[str, int]]:
    """Windows by their names, in objects within objects; the outer ones count."""
    if not isinstance(value, dict) or depth == _DEEPEST:
        return
    for child in value.values():
        yield from _numbers(child, depth + 1)
    for key in _KEYS:
        number = value.get(key)
        if isinstance(number, int) and not isinstance(number, bool) and number > 0:
            yield key, number
