"""Chat models by configuration, with usage, cost, cache and bounded failure.

Importing this package imports no LangChain: ``--help`` must answer at once.
"""

from agents.models.client import CHARACTERS_PER_TOKEN, ModelClient, ModelError, Reply
from agents.models.config import ModelConfig, Price
from agents.models.prices import find_price
from agents.models.providers import build_model

__all__ = [
    "CHARACTERS_PER_TOKEN",
    "ModelClient",
    "ModelConfig",
    "ModelError",
    "Price",
    "Reply",
    "build_model",
    "find_price",
]
