"""The tools that an agent, a client of the MCP server and the assistant work with."""

from agents.toolbox.box import DOCUMENTATION, Toolbox
from agents.toolbox.corpus import library_of, settled

__all__ = ["DOCUMENTATION", "Toolbox", "library_of", "settled"]
