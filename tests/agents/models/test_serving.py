"""The window of a model, as servers of each kind tell it."""

import pytest

from agents.models import build_model
from agents.models.serving import window_in
from tests.support.endpoint import config

LLAMA_CPP = {"default_generation_settings": {"n_ctx": 8192, "params": {"n_keep": 0}}}
VLLM = {"data": [{"id": "local", "max_model_len": 32768}, {"id": "other"}]}
LM_STUDIO = {
    "data": [
        {"id": "local", "max_context_length": 131072, "loaded_context_length": 4096}
    ]
}
OLLAMA = {"models": [{"name": "local:latest", "context_length": 4096, "size": 5}]}
TGI = {"model_id": "local", "max_input_tokens": 3000, "max_total_tokens": 4096}
OPENROUTER = {
    "data": [
        {
            "id": "local",
            "context_length": 65536,
            "top_provider": {"context_length": 32768},
        },
        {"id": "big", "context_length": 10**6},
    ]
}
SERVERS = {
    "llama.cpp": ("/props", LLAMA_CPP, 8192),
    "vLLM": ("/v1/models", VLLM, 32768),
    "LM Studio": ("/api/v0/models", LM_STUDIO, 4096),
    "Ollama": ("/api/ps", OLLAMA, 4096),
    "TGI": ("/info", TGI, 4096),
    "OpenRouter": ("/v1/models", OPENROUTER, 65536),
}


@pytest.mark.parametrize("server", SERVERS)
async def test_a_server_is_asked_once_for_its_window(server, httpserver):
    path, content, window = SERVERS[server]
    httpserver.expect_request(path).respond_with_json(content)
    client = build_model(config(httpserver))
    assert [await client.window() for _ in range(2)] == [window, window]
    asked = [request.path for request, _ in httpserver.log]
    assert asked.count(path) == 1


async def test_a_window_that_is_configured_is_not_asked_for(httpserver):
    client = build_model(config(httpserver, context_tokens=2048))
    assert await client.window() == 2048
    assert httpserver.log == []


async def test_a_server_that_says_nothing(httpserver):
    assert await build_model(config(httpserver)).window() is None


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        "4096",
        {},
        {"data": []},
        {"data": [None, 7]},
        {"data": [{"id": "a", "n_ctx": 5}, {"id": "b", "n_ctx": 7}]},  # which one?
        {"n_ctx": True},
        {"n_ctx": -1},
        {"n_ctx": "4096"},
        {"a": {"b": {"c": {"d": {"n_ctx": 5}}}}},
    ],
)
def test_what_is_no_window(content):
    assert window_in(content, "local") is None
