"""The ``model`` group of the configuration, and what models cost.

Prices are those of the package ``genai-prices``, as bundled with its version: what one may have to
pay at most, so that a budget is never overrun unseen. Of a price that depends on the length of a
request or on the hour the highest counts, and cached input costs as much as new input.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError, ValidationInfo, field_validator

from foundation.endpoint import OPENAI
from foundation.targets import describe

#: How the name of a model ends whose replies are played.
MARK = " (recorded)"


class Price(BaseModel, extra="forbid", frozen=True):
    """Dollars per million tokens."""

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)


class ModelConfig(BaseModel, extra="forbid", frozen=True):
    """The ``model`` group of the configuration.

    Attributes
    ----------
    provider
        ``openai`` for any OpenAI-compatible endpoint, ``recorded`` for recorded replies, ``none``
        for no model, ``class`` for what ``path`` names.
    name
        Name of the model as the endpoint knows it; also the name in every table.
    base_url
        Address of the endpoint; ``None``: ``OPENAI_BASE_URL``, else OpenAI's own.
    key
        Environment variable that holds the key.
    temperature
        ``None`` sends none: what models that refuse one need.
    max_tokens
        Tokens of a reply at most; ``None`` leaves it to the endpoint.
    timeout
        Seconds for one request.
    max_retries
        Further tries (with exponential backoff) after a 429, a 5xx or a timeout.
    price
        Overrides the price table; unknown stays unknown.
    cache
        Keep replies, so that a repeated run asks nothing twice.
    documents
        Documents in a prompt, unless ``retrieval.k`` says otherwise.
    document_characters
        Characters of a document in a prompt, on average; ``None`` shows every document whole.
    record
        JSONL file to which replies are appended (see :mod:`agents.models.recordings`).
    recordings
        File or folder whose replies ``provider=recorded`` plays; ``None``: those that are shipped.
    strict
        Whether a recorded reply is played to the prompt only that it was given to.
    path
        Dotted name of a class of yours, for ``provider=class`` (docs/adding-a-provider.md).
    tools
        How tools are offered: ``native``, as ``text`` in the prompt, or ``auto``: native until the
        endpoint refuses them.
    context_tokens
        Tokens that the model reads at most; ``None`` is unknown. A prompt beyond it (at four
        characters per token) is not sent, and the answer counts as wrong.
    max_reply_bytes
        Bytes of a reply at most; a longer one is not kept, and is the model's failure.
    images
        Whether the model takes pictures; else questions with a picture are listed as unavailable.
    options
        Further fields of a request; for ``provider=class``, arguments of the class.
    """

    provider: Literal["openai", "class", "recorded", "none"]
    name: str
    base_url: str | None = None
    key: str = "OPENAI_API_KEY"
    temperature: float | None = Field(default=0.7, ge=0, le=2)
    max_tokens: int | None = Field(default=None, gt=0)
    timeout: float = Field(default=120.0, gt=0)
    max_retries: int = Field(default=4, ge=0, le=20)
    price: Price | None = None
    cache: bool = True
    documents: int = Field(default=5, ge=1)
    document_characters: int | None = Field(default=None, ge=200)
    record: Path | None = None
    recordings: Path | None = None
    strict: bool = False
    path: str | None = None
    tools: Literal["auto", "native", "text"] = "auto"
    context_tokens: int | None = Field(default=None, ge=1000)
    max_reply_bytes: int = Field(default=2_000_000, ge=1000)
    images: bool = True
    options: dict[str, Any] = Field(default_factory=dict)

    @field_validator("name")
    @classmethod
    def _marked(cls, name: str, info: ValidationInfo) -> str:
        played = info.data.get("provider") == "recorded" and not name.endswith(MARK)
        return f"{name}{MARK}" if played else name

    @property
    def asks_endpoint(self) -> bool:
        """Whether an OpenAI-compatible endpoint is behind the model."""
        return self.provider == "openai"

    @property
    def plays(self) -> bool:
        """Whether recorded replies are played."""
        return self.provider == "recorded"

    @property
    def is_live(self) -> bool:
        """Whether somebody is asked: replies cost time and money."""
        return self.replies and not self.plays

    @property
    def replies(self) -> bool:
        """Whether there is a model at all, live or recorded."""
        return self.provider != "none"

    @property
    def settings(self) -> dict[str, Any]:
        """Fields of a request besides what is asked."""
        named = {
            "model": self.name,
            "temperature": self.temperature,
            "max_completion_tokens": self.max_tokens,
        }
        fields = {name: value for name, value in named.items() if value is not None}
        if not self.asks_endpoint:
            return fields
        return fields | {"stream": False} | self.options


def read_config(values: Mapping[str, Any]) -> ModelConfig:
    """The configuration of plain ``values``; a `ValueError` names the key as a user types it."""
    try:
        return ModelConfig.model_validate(dict(values))
    except ValidationError as error:
        # A key of an endpoint that was typed into the wrong place is not repeated.
        raise ValueError(
            describe(error, ModelConfig, prefix="model.", secret=True)
        ) from None


def address(config: ModelConfig) -> str:
    """Where the endpoint is."""
    given = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
    return config.base_url or given or OPENAI


def find_price(config: ModelConfig) -> Price | None:
    """What the model costs: as configured, else from the table; ``None`` is unknown.

    The table goes by the address of the endpoint: a local server may give its model any name.
    """
    if config.price is not None:
        return config.price
    url = address(config)
    if not config.asks_endpoint or not url.startswith("https://"):
        return None
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - half a second

    now = datetime.now(UTC)
    try:
        hourly = [
            calc_price(
                Usage(),
                config.name,
                provider_api_url=url,
                genai_request_timestamp=now.replace(hour=hour),
            ).model_price
            for hour in range(24)  # some vendors are cheaper at night
        ]
    except LookupError:
        return None
    if any(price.requests_kcount is not None for price in hourly):
        return None  # a fee per request besides
    prices = [
        [price.input_mtok for price in hourly],
        [price.output_mtok for price in hourly],
    ]
    if None in prices[0] + prices[1]:
        return None
    prompt, completion = (max(map(_highest, each)) for each in prices)
    return Price(prompt=prompt, completion=completion)


def _highest(price: Any) -> float:
    """The most that a price per million tokens, possibly in tiers, can be."""
    tiers = [tier.price for tier in getattr(price, "tiers", [])]
    return float(max([getattr(price, "base", price), *tiers]))
