"""The tools that an agent, a client of the MCP server and the assistant work with."""

from agents.toolbox.box import DOCUMENTATION, Toolbox, settled
from agents.toolbox.links import library_of

__all__ = ["DOCUMENTATION", "Toolbox", "library_of", "settled"]
