"""The tools that an agent, a client of the MCP server and the assistant work with."""

from agents.toolbox.box import (
    DOCUMENTATION,
    Result,
    Toolbox,
    open_toolbox,
    question_toolbox,
    schema,
)
from agents.toolbox.corpus import library_of

__all__ = [
    "DOCUMENTATION",
    "Result",
    "Toolbox",
    "library_of",
    "open_toolbox",
    "question_toolbox",
    "schema",
]
