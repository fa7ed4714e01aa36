"""What models cost: the table of the package ``genai-prices``, as bundled with its version.

A price is what one may have to pay at most, so that a budget is never overrun unseen: of a price
that depends on the length of a request or on the hour the highest counts, and cached input costs
as much as new input.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

from agents.models.config import ModelConfig, Price

#: Providers of `init_chat_model` whose vendor has another name in the table.
VENDORS = {
    "azure_openai": "azure",
    "bedrock": "aws",
    "bedrock_converse": "aws",
    "google_genai": "google",
    "google_vertexai": "google",
    "mistralai": "mistral",
    "xai": "x-ai",
}
OPENAI = "https://api.openai.com/v1"


def address(config: ModelConfig) -> str | None:
    """Where the endpoint is; ``None``: wherever the vendor of ``config.provider`` has it."""
    if config.base_url:
        return config.base_url
    if config.provider == "openai":
        given = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
        return given or OPENAI
    return os.environ.get(f"{config.provider.upper()}_BASE_URL")


def find_price(config: ModelConfig) -> Price | None:
    """What the model costs: as configured, else from the table; ``None`` is unknown.

    The table goes by the address of the endpoint: a local server may give its model any name.
    """
    if config.price is not None:
        return config.price
    url = address(config)
    local = url is not None and not url.startswith("https://")
    if local or config.provider in {"rules", "class", "ollama"}:
        return None
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - half a second

    where: dict[str, Any] = {"provider_api_url": url}
    if url is None:
        where = {"provider_id": VENDORS.get(config.provider, config.provider)}
    now = datetime.now(UTC)
    try:
        found = [
            calc_price(
                Usage(), config.name, genai_request_timestamp=now.replace(hour=hour), **where
            ).model_price
            for hour in range(24)  # some vendors are cheaper at night
        ]
    except LookupError:
        return None
    if any(price.requests_kcount is not None for price in found):
        return None  # a fee per request besides
    if any(price.input_mtok is None or price.output_mtok is None for price in found):
        return None
    return Price(
        prompt=max(_highest(price.input_mtok) for price in found),
        completion=max(_highest(price.output_mtok) for price in found),
    )


def _highest(price: Any) -> float:
    """The most that a price per million tokens, possibly in tiers, can be."""
    tiers = [tier.price for tier in getattr(price, "tiers", [])]
    return float(max([getattr(price, "base", price), *tiers]))
