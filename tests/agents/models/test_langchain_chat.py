"""LangChain on both sides: its chat models answer our questions, its agents use our parts."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from pytest_httpserver import HTTPServer

from agents.models.langchain_chat import LangChainChat
from foundation.errors import EndpointError, UsageError
from matsmith.langchain import DocumentRetriever, tools
from sandbox.factory import available
from tests.support.endpoint import Endpoint, status

TOOL = {
    "type": "function",
    "function": {
        "name": "run",
        "description": "Run code.",
        "parameters": {"type": "object", "properties": {"code": {"type": "string"}}},
    },
}
CALL = {
    "id": "a",
    "type": "function",
    "function": {"name": "run", "arguments": json.dumps({"code": "1"})},
}


@pytest.fixture
def chat(httpserver: HTTPServer) -> tuple[LangChainChat, Endpoint]:
    endpoint = Endpoint(httpserver)
    options = {"base_url": endpoint.url, "api_key": "x", "max_retries": 0}
    return LangChainChat(**options), endpoint


async def test_a_conversation_with_tools_reaches_the_provider_as_it_was_sent(chat):
    model, endpoint = chat
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Run 1."},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
    ]
    body = {"model": "openai:local", "messages": messages, "tools": [TOOL]}
    completion = await model({**body, "temperature": 0.5, "max_completion_tokens": 9})
    (choice,) = completion["choices"]
    assert choice["message"] == {"role": "assistant", "content": "hi"}
    assert choice["finish_reason"] == "stop"
    assert completion["usage"]["prompt_tokens"] == 7
    (request,) = endpoint.bodies
    assert request["model"] == "local"
    assert request["temperature"] == 0.5
    assert request["max_completion_tokens"] == 9
    assert [message["role"] for message in request["messages"]] == [
        message["role"] for message in messages
    ]
    assert request["messages"][2]["tool_calls"] == [CALL]
    assert request["tools"][0]["function"]["name"] == "run"


async def test_a_refusal_is_the_endpoints_with_its_status(chat):
    model, endpoint = chat
    endpoint.play(status(429))
    body = {"model": "openai:local", "messages": [{"role": "user", "content": "?"}]}
    with pytest.raises(EndpointError) as refused:
        await model(body)
    assert refused.value.status == 429


async def test_an_unknown_provider_is_one_line():
    body = {"model": "nobody:local", "messages": []}
    with pytest.raises(UsageError, match="PROVIDER:NAME") as refused:
        await LangChainChat()(body)
    assert "\n" not in str(refused.value)


@pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine")
def test_a_run_with_a_model_of_langchain(httpserver: HTTPServer, tmp_path):
    endpoint = Endpoint(httpserver).play("<answer>A</answer>")
    words = [
        "benchmark=mattools_qa",
        "limit=2",
        "model=langchain",
        "model.name=openai:local",
        f"model.options.base_url={endpoint.url}",
        "model.options.api_key=x",
        f"out={tmp_path}",
    ]
    command = [sys.executable, "-m", "experiments.run", *words]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert len(endpoint.bodies) == 2
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert len(lines) == 2


class ScriptedChat(GenericFakeChatModel):
    """A fake chat model that may be offered tools."""

    def bind_tools(self, tools: Any, **_: Any) -> ScriptedChat:
        return self


@pytest.mark.long
@pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine")
def test_an_agent_of_langgraph_uses_the_documents_and_the_sandbox():
    code = "from pymatgen.core import Lattice\ndef f():\n    return Lattice.cubic(3).volume"
    calls = [
        {"name": "search", "args": {"queries": ["cubic lattice"]}, "id": "1"},
        {"name": "run", "args": {"code": code, "entry": "f"}, "id": "2"},
        {"name": "run", "args": {"code": ""}, "id": "3"},
    ]
    replies = [AIMessage("", tool_calls=[call]) for call in calls]
    model = ScriptedChat(messages=iter([*replies, AIMessage("27")]))
    agent = create_agent(model, tools())
    state = agent.invoke({"messages": [("user", "Volume of a cube of 3 angstrom?")]})
    found, ran, refused = [m.content for m in state["messages"] if m.type == "tool"]
    assert "Lattice.cubic" in found
    assert "27.0" in ran
    assert refused.startswith("error:")
    assert state["messages"][-1].content == "27"


@pytest.mark.long
def test_the_retriever_is_one_of_langchains():
    retriever = DocumentRetriever(k=3)
    documents = retriever.invoke("powder diffraction pattern")
    assert len(documents) == 3
    assert "XRDCalculator" in "\n".join(d.page_content for d in documents)
    assert all(document.metadata["qualname"] for document in documents)
    retriever.close()
