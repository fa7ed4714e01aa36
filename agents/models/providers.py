"""The model that a configuration describes, and its client."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

from agents.models.cache import ReplyCache
from agents.models.client import ModelClient, Send
from agents.models.config import ModelConfig, address, find_price
from agents.models.recordings import Recorder, Recordings, Scene
from matsmith.core.endpoint import OPENAI, Endpoint


def build_model(
    config: ModelConfig,
    *,
    concurrency: int = 8,
    cache: Path | None = None,
    scene: Scene = Scene(),  # noqa: B008 -- frozen
) -> ModelClient:
    """The client of the model that ``config`` describes, with recordings by ``scene``.

    A `ValueError` says which key is missing, or what cannot be made of ``path`` or recordings.
    """
    if config.provider in {"recorded", "none"}:
        played = Recordings(config, scene) if config.provider == "recorded" else None
        return ModelClient(None, config, price=config.price, recordings=played)
    send = _class(config) if config.provider == "class" else _endpoint(config)
    return ModelClient(
        send,
        config,
        price=find_price(config),
        cache=ReplyCache(cache / "replies.sqlite") if cache is not None and config.cache else None,
        record=Recorder(config.record, scene, config.name) if config.record else None,
        concurrency=concurrency,
    )


def _endpoint(config: ModelConfig) -> Endpoint:
    url, key = address(config).rstrip("/"), os.environ.get(config.key)
    if not key and url == OPENAI:
        raise ValueError(
            f"model: no {config.key} in the environment. Set it, or point model.base_url at an "
            "OpenAI-compatible endpoint that needs none, or use model=recorded."
        )
    return Endpoint(url, "/chat/completions", key)


def _class(config: ModelConfig) -> Send:
    module, _, name = (config.path or "").rpartition(".")
    try:
        made: Send = getattr(importlib.import_module(module), name)(**config.options)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise ValueError(f"model.path: cannot make {config.path!r}: {error}") from error
    return made
