"""The coding assistant: a free question in, executed code out.

``matsmith ask "question"``, without a question an interactive conversation; ``matsmith mcp``
serves the same over the Model Context Protocol. In code: :func:`open_assistant`, then
:meth:`AssistantService.session` and :meth:`Session.ask`.
"""

from agents.assistant.answers import (
    Answer,
    Event,
    Figure,
    InputFile,
    OutputFile,
    Source,
    Value,
)
from agents.assistant.config import LIBRARIES, AssistantConfig, read_config
from agents.assistant.session import AssistantService, Session, open_assistant
from agents.assistant.show import answer_html

__all__ = [
    "LIBRARIES",
    "Answer",
    "AssistantConfig",
    "AssistantService",
    "Event",
    "Figure",
    "InputFile",
    "OutputFile",
    "Session",
    "Source",
    "Value",
    "answer_html",
    "open_assistant",
    "read_config",
]
