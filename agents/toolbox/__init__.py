"""The tools that an agent, a client of the MCP server and the assistant work with."""

from agents.toolbox.box import Result, Toolbox, library_of, open_toolbox, question_toolbox

__all__ = ["Result", "Toolbox", "library_of", "open_toolbox", "question_toolbox"]
