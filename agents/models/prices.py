"""What models cost."""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from agents.models.config import ModelConfig, Price


def find_price(config: ModelConfig) -> Price | None:
    """What the model costs: as configured, else from the table; ``None`` is unknown."""
    if config.price is not None:
        return config.price
    table = yaml.safe_load((Path(__file__).parent / "prices.yaml").read_text())
    base_url = config.base_url or os.environ.get("OPENAI_BASE_URL") or table["endpoint"]
    entry = table["models"].get(config.name)
    # A local server may give its model any name: the vendor's prices hold for the vendor only.
    if config.provider != "openai" or entry is None:
        return None
    return Price(**entry) if base_url.rstrip("/") == table["endpoint"] else None
