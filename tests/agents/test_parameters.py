"""Parameters that endpoints refuse, and the providers that models come from."""

from __future__ import annotations

import asyncio
import importlib.util
import json

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from pytest_httpserver import HTTPServer

from agents.assistant import read_config
from agents.models import ModelConfig, ModelError, build_model
from agents.models.parameters import refused_parameter
from sandbox.command import UsageError
from tests.agents.test_reply_faults import config
from tests.endpoint import Endpoint, cut_off, late, refusing, status

MESSAGES = [HumanMessage("hello")]


async def test_a_temperature_of_null_is_not_sent(httpserver: HTTPServer):
    endpoint = Endpoint(httpserver)
    await build_model(config(endpoint, temperature=None)).ask(MESSAGES, sample="0")
    assert "temperature" not in endpoint.bodies[0]


async def test_a_refused_temperature_is_dropped_once_and_remembered(
    httpserver: HTTPServer, caplog: pytest.LogCaptureFixture
):
    endpoint = Endpoint(httpserver).play(refusing("temperature"))
    model = build_model(config(endpoint))
    replies = [await model.ask(MESSAGES, sample=str(n)) for n in range(2)]
    assert ["temperature" in body for body in endpoint.bodies] == [True, False, False]
    assert all("temperature not sent" in " ".join(reply.adjusted) for reply in replies)
    assert [r.name for r in caplog.records].count("agents.models.client") == 1


async def test_requests_in_flight_together_change_it_once(httpserver: HTTPServer):
    endpoint = Endpoint(httpserver).play(late(0.05, refusing("temperature", "top_p")))
    model = build_model(config(endpoint, options={"top_p": 0.5}))
    replies = await asyncio.gather(*(model.ask(MESSAGES, sample=str(n)) for n in range(4)))
    assert {reply.text for reply in replies} == {"hi"}
    assert len(model.adjustments) == 2


async def test_the_limit_is_sent_under_the_name_that_the_endpoint_knows(httpserver: HTTPServer):
    old = refusing("max_completion_tokens", instead="max_tokens", then=cut_off("x"))
    endpoint = Endpoint(httpserver).play(old)
    reply = await build_model(config(endpoint, max_tokens=50)).ask(MESSAGES, sample="0")
    assert [body.get("max_tokens") for body in endpoint.bodies] == [None, 50, 100]
    assert "max_completion_tokens sent as max_tokens" in reply.adjusted


async def test_a_limit_that_goes_by_neither_name_is_dropped(httpserver: HTTPServer):
    endpoint = Endpoint(httpserver).play(refusing("max_completion_tokens", "max_tokens"))
    reply = await build_model(config(endpoint, max_tokens=50)).ask(MESSAGES, sample="0")
    assert (reply.text, len(endpoint.bodies)) == ("hi", 3)


async def test_an_option_is_dropped_too(httpserver: HTTPServer):
    endpoint = Endpoint(httpserver).play(refusing("top_p", "min_p"))
    options = {"top_p": 0.9, "extra_body": {"min_p": 0.1}}
    reply = await build_model(config(endpoint, options=options)).ask(MESSAGES, sample="0")
    assert len(reply.adjusted) == 2
    assert not {"top_p", "min_p"} & endpoint.bodies[-1].keys()


async def test_another_400_is_an_error_at_once(httpserver: HTTPServer):
    body = {"error": {"message": "max_tokens is too large for the context; lower temperature"}}
    endpoint = Endpoint(httpserver).play(status(400, json.dumps(body)))
    with pytest.raises(ModelError, match="too large"):
        await build_model(config(endpoint, max_tokens=5)).ask(MESSAGES, sample="0")
    assert len(endpoint.bodies) == 1


async def test_an_endpoint_that_refuses_what_is_not_sent_is_an_error(httpserver: HTTPServer):
    body = {"error": {"message": "Unsupported parameter: 'temperature'", "param": "temperature"}}
    endpoint = Endpoint(httpserver).play(status(400, json.dumps(body)))
    with pytest.raises(ModelError, match="Unsupported parameter"):
        await build_model(config(endpoint)).ask(MESSAGES, sample="0")
    assert len(endpoint.bodies) == 2


@pytest.mark.parametrize(
    ("code", "said", "name"),
    [
        (400, "Unsupported value: 'temperature' does not support 0.7", "temperature"),
        (400, "`temperature` is deprecated for this model.", "temperature"),
        (422, "extra_forbidden: body.top_p", "top_p"),
        (400, "Unknown field top_powers", None),
        (400, "top_p must be below 1", None),
        (500, "temperature is not supported", None),
    ],
)
def test_which_parameter_an_error_refuses(code, said, name):
    assert refused_parameter(code, said, ["temperature", "top_p"]) == name


async def test_a_provider_through_langchain_gets_every_setting(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
):
    endpoint = Endpoint(httpserver, "/openai/deployments/mine").play("from azure")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "none")
    options = {"azure_endpoint": endpoint.url, "api_version": "2024-10-21"}
    wanted = config(
        endpoint, provider="azure_openai", name="mine", base_url=None, max_retries=3, timeout=7,
        max_tokens=9, options={**options, "azure_deployment": "mine"},
    )  # fmt: skip
    model = build_model(wanted)
    reply = await model.ask(MESSAGES, sample="0")
    assert reply.text == "from azure"
    (body,) = endpoint.bodies
    assert (body["temperature"], body["max_completion_tokens"]) == (0.7, 9)
    assert (model.chat.max_retries, model.chat.request_timeout) == (3, 7)


async def test_anthropic_refuses_filters_and_thinks(httpserver, monkeypatch):
    pytest.importorskip("langchain_anthropic", reason="the extra `anthropic` is not installed")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    bodies = []

    def answer(request):
        bodies.append(request.get_json())
        if "temperature" in bodies[-1]:
            error = {"type": "invalid_request_error",
                     "message": "`temperature` is deprecated for this model."}  # fmt: skip
            return status(400, json.dumps({"type": "error", "error": error}))
        content = [{"type": "thinking", "thinking": "hm", "signature": "s"},
                   {"type": "text", "text": "hi"}]  # fmt: skip
        reply = {"id": "m", "type": "message", "role": "assistant", "model": "claude",
                 "content": content, "stop_reason": "max_tokens", "stop_sequence": None,
                 "usage": {"input_tokens": 7, "output_tokens": 3}}  # fmt: skip
        return status(200, json.dumps(reply), content_type="application/json")

    httpserver.expect_request("/v1/messages").respond_with_handler(answer)
    wanted = ModelConfig(
        provider="anthropic", name="claude", base_url=httpserver.url_for(""), max_tokens=50
    )
    reply = await build_model(wanted).ask(MESSAGES, sample="0")
    assert (reply.text, reply.reasoning, reply.fault) == ("hi", "hm", "length")
    assert [body["max_tokens"] for body in bodies] == [50, 50, 100]
    assert reply.usage.tokens == 20


def test_a_missing_package_and_a_wrong_provider_are_one_line():
    if importlib.util.find_spec("langchain_google_genai"):
        pytest.skip("the extra `google` is installed")
    with pytest.raises(ValueError, match=r"langchain-google-genai.*matsmith\[google\]"):
        build_model(ModelConfig(provider="google_genai", name="gemini"))
    with pytest.raises(ValueError, match="Supported model providers are: anthropic") as caught:
        build_model(ModelConfig(provider="nosuch", name="x"))
    assert "\n" not in str(caught.value)


def test_what_a_provider_objects_to_does_not_show_a_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AZURE_OPENAI_API_KEY", raising=False)
    options = {"api_key": "sk-secret", "api_version": ["wrong"]}
    with pytest.raises(ValueError, match=r"provider=azure_openai") as caught:
        build_model(ModelConfig(provider="azure_openai", name="x", options=options))
    assert "secret" not in str(caught.value)


def test_a_class_gets_every_setting(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    wanted = config(Endpoint(httpserver), provider="class", path="langchain_openai.ChatOpenAI",
                    temperature=0.3, timeout=9, max_retries=2)  # fmt: skip
    chat = build_model(wanted).chat
    assert isinstance(chat, ChatOpenAI)
    assert (chat.temperature, chat.request_timeout, chat.max_retries) == (0.3, 9, 2)
    assert chat.model_name == "local"


def test_a_class_without_a_setting_says_so():
    path = f"{FakeListChatModel.__module__}.FakeListChatModel"
    base = {"provider": "class", "name": "fake", "path": path, "options": {"responses": ["a"]}}
    with pytest.raises(ValueError, match=r"model.temperature=0.2: FakeListChatModel has no such"):
        build_model(ModelConfig(**base, temperature=0.2))
    # A default that nobody chose is left out, also of what identifies a reply.
    assert build_model(ModelConfig(**base)).config.temperature is None


class Flaky(FakeListChatModel):
    """Fails as a broken connection does, and knows nothing of retries."""

    failures: int = 2

    def _call(self, *args, **kwargs) -> str:
        self.failures -= 1
        if self.failures >= 0:
            raise ConnectionError("reset")
        return "at last"


async def test_what_does_not_retry_itself_is_retried_by_the_client():
    options = {"responses": [""]}
    base = {"provider": "class", "name": "flaky", "path": f"{__name__}.Flaky", "options": options}
    reply = await build_model(ModelConfig(**base, max_retries=2)).ask(MESSAGES, sample="0")
    assert reply.text == "at last"
    with pytest.raises(ModelError, match="reset"):
        await build_model(ModelConfig(**base, max_retries=1)).ask(MESSAGES, sample="0")


def test_the_assistant_takes_the_same_settings():
    chosen = ["model=anthropic", "model.name=m", "model.temperature=null"]
    made = read_config(chosen).model
    assert (made.provider, made.name, made.temperature) == ("anthropic", "m", None)
    with pytest.raises(UsageError, match=r"model\.temprature"):
        read_config([*chosen, "model.temprature=1"])
