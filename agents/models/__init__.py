"""Language models by configuration, with usage, cost, cache and bounded failure."""

from agents.models.calls import Message, ToolCall
from agents.models.chat import Chat
from agents.models.client import ModelClient, build_model
from agents.models.config import ModelConfig, Price, find_price, read_config
from agents.models.recordings import RecordingKey, RecordingScope
from agents.models.reply import FAULTS, ContextError, Fault, ModelError, Reply

__all__ = [
    "FAULTS",
    "Chat",
    "ContextError",
    "Fault",
    "Message",
    "ModelClient",
    "ModelConfig",
    "ModelError",
    "Price",
    "RecordingKey",
    "RecordingScope",
    "Reply",
    "ToolCall",
    "build_model",
    "find_price",
    "read_config",
]
