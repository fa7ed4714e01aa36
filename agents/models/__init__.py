"""Chat models by configuration, with usage, cost, cache and bounded failure.

Importing this package imports no LangChain: ``--help`` must answer at once.
"""

from agents.models.calls import ToolCall
from agents.models.client import ContextError, ModelClient, ModelError
from agents.models.config import ModelConfig, Price, read_config
from agents.models.counting import CHARACTERS_PER_TOKEN
from agents.models.prices import find_price
from agents.models.providers import build_model
from agents.models.reply import FAULTS, Fault, Reply

__all__ = [
    "CHARACTERS_PER_TOKEN",
    "FAULTS",
    "ContextError",
    "Fault",
    "ModelClient",
    "ModelConfig",
    "ModelError",
    "Price",
    "Reply",
    "ToolCall",
    "build_model",
    "find_price",
    "read_config",
]
