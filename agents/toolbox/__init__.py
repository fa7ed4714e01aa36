"""The tools that an agent, a client of the MCP server and the assistant work with."""
