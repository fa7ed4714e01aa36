"""The MCP server as a process, spoken to by the SDK's own client over stdio."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from pytest_httpserver import HTTPServer

from sandbox.factory import available
from tests.agents.scripted import code_reply
from tests.endpoint import Endpoint

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine"),
]


def server(*arguments: str) -> StdioServerParameters:
    variables = {n: v for n, v in os.environ.items() if not n.startswith("OPENAI_")}
    command = ["-m", "agents.assistant", "mcp", *arguments]
    return StdioServerParameters(command=sys.executable, args=command, env=variables)


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    content = result.structured_content
    assert content is not None
    return content.get("result", content)


async def test_tools_from_the_documents_and_the_sandbox():
    async with Client(server("model=rules")) as client:
        listed = await client.list_tools()
        names = {"lookup_api", "search_docs", "run_code", "solve"}
        assert {tool.name for tool in listed.tools} == names
        assert all(tool.description for tool in listed.tools)

        symbol = await call(client, "lookup_api", symbol="pymatgen.core.Structure.from_spacegroup")
        assert symbol["found"]
        assert "from_spacegroup(" in symbol["text"]
        assert "pymatgen" in symbol["version"]
        missing = await call(client, "lookup_api", symbol="SpacegroupAnalyser")
        assert not missing["found"]
        assert "pymatgen.symmetry.analyzer.SpacegroupAnalyzer" in missing["near"]

        hits = await call(client, "search_docs", query="powder diffraction pattern", k=3)
        assert len(hits) == 3
        assert any("diffraction" in hit["name"] for hit in hits)

        code = "from pymatgen.core import Lattice\ndef f():\n    return Lattice.cubic(2).volume"
        run = await call(client, "run_code", code=code, function="f")
        assert (run["outcome"], run["returned"]) == ("ok", "8.0 (float)")
        run = await call(client, "run_code", code="print('printed')\n1 / 0")
        assert (run["outcome"], run["stdout"]) == ("exception", "printed\n")
        assert "ZeroDivisionError" in run["error"]
        reach = "import socket\nsocket.create_connection(('192.0.2.1', 80), 1)"
        assert (await call(client, "run_code", code=reach))["outcome"] == "exception"

        solved = await call(client, "solve", question="What is the band gap of silicon?")
        assert not solved["works"]
        assert solved["model"] == "rules (no LLM)"
        assert "without an LLM" in solved["message"]


async def test_a_question_is_solved_with_an_endpoint(httpserver: HTTPServer):
    body = "from pymatgen.core import Lattice\nreturn {'volume_A3': Lattice.cubic(3).volume}"
    endpoint = Endpoint(httpserver).play(code_reply(body))
    options = [f"model.base_url={httpserver.url_for('/v1')}", "model.name=m", "retrieval=none"]
    async with Client(server(*options)) as client:
        solved = await call(client, "solve", question="Volume of a cube with an edge of 3?")
        assert solved["works"]
        assert "27." in solved["run"]["returned"]
        assert "Lattice.cubic(3)" in solved["code"]
        refused = await client.call_tool("search_docs", {"query": "x"})
        assert refused.is_error
    assert "edge of 3" in endpoint.prompts[0]
