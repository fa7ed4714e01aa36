"""The coding assistant: a free question in, executed code out.

``matsmith ask "question"`` (or ``python -m agents.assistant ask ...``), without a question an
interactive conversation; ``matsmith mcp`` serves the same over the Model Context Protocol. In
code: :func:`open_assistant`, then :meth:`Assistant.session` and :meth:`Session.ask`.
"""

from agents.assistant.answers import (
    Answer,
    Figure,
    InputFile,
    Origin,
    OutputFile,
    Source,
    Value,
)
from agents.assistant.command import main
from agents.assistant.config import LIBRARIES, AssistantConfig, default_system, read_config
from agents.assistant.events import Event
from agents.assistant.session import Assistant, Session, open_assistant

__all__ = [
    "LIBRARIES", "Answer", "Assistant", "AssistantConfig", "Event", "Figure", "InputFile",
    "Origin", "OutputFile", "Session", "Source", "Value", "default_system", "main",
    "open_assistant", "read_config",
]  # fmt: skip
