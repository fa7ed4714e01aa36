"""Parameters that endpoints refuse, the providers that models come from, and prices."""

import asyncio

import pytest

from agents import models
from agents.assistant import read_config
from agents.models import (
    Message,
    ModelConfig,
    ModelError,
    Price,
    build_model,
    find_price,
)
from agents.models.dialect import refused_parameter
from foundation.errors import UsageError
from tests.support.endpoint import Endpoint, config, late, refusing, status
from tests.support.samples import table

MESSAGES = [Message("user", "hello")]


async def test_a_temperature_of_null_is_not_sent(httpserver):
    endpoint = Endpoint(httpserver)
    await build_model(config(endpoint, temperature=None)).ask(MESSAGES, sample="0")
    assert "temperature" not in endpoint.bodies[0]


TABLES = table("requests")
LIMIT = "max_completion_tokens"


@pytest.mark.parametrize(
    ("play", "settings", "adjusted"),
    [
        (refusing("temperature"), {}, ["temperature not sent"]),
        (
            refusing("top_p", "min_p"),
            {"options": {"top_p": 0.9, "min_p": 0.1}},
            ["top_p not sent", "min_p not sent"],
        ),
        (
            refusing(LIMIT, instead="max_tokens"),
            {"max_tokens": 50},
            [f"{LIMIT} sent as"],
        ),
        (
            refusing(LIMIT, "max_tokens"),
            {"max_tokens": 50},
            [f"{LIMIT} sent as", "max_tokens not sent"],
        ),
    ],
)
async def test_what_is_refused_is_left_out_once_and_remembered(
    httpserver, caplog, play, settings, adjusted
):
    endpoint = Endpoint(httpserver).play(play)
    model = build_model(config(endpoint, **settings))
    replies = [await model.ask(MESSAGES, sample=str(n)) for n in range(2)]
    for reply in replies:
        assert reply.text == "hi"
        assert all(map(str.startswith, reply.adjusted, adjusted))
    assert len(endpoint.bodies) == 2 + len(adjusted)
    assert [r.name for r in caplog.records].count("agents.models.client") == len(
        adjusted
    )


async def test_requests_in_flight_together_change_it_once(httpserver):
    endpoint = Endpoint(httpserver).play(late(0.05, refusing("temperature", "top_p")))
    model = build_model(config(endpoint, options={"top_p": 0.5}))
    replies = await asyncio.gather(
        *(model.ask(MESSAGES, sample=str(n)) for n in range(4))
    )
    assert {reply.text for reply in replies} == {"hi"}
    assert len(model.adjustments) == 2


@pytest.mark.parametrize(
    ("said", "tries"),
    [
        ("max_tokens is too large for the context; lower temperature", 1),
        ("Unsupported parameter: 'temperature'", 2),  # also where it is not sent
    ],
)
async def test_another_400_is_an_error(httpserver, said, tries):
    endpoint = Endpoint(httpserver).play(status(400, said))
    with pytest.raises(ModelError, match=said):
        await build_model(config(endpoint, max_tokens=5)).ask(MESSAGES, sample="0")
    assert len(endpoint.bodies) == tries


@pytest.mark.parametrize(("code", "said", "name"), TABLES["refused"])
def test_which_parameter_an_error_refuses(code, said, name):
    assert refused_parameter(code, said, ["temperature", "top_p"]) == name


def test_a_wrong_provider_and_a_wrong_class_are_one_line():
    for wrong, said in (
        ({"provider": "nosuch"}, r"model\.provider: .*'openai'"),
        (
            {"provider": "class", "path": "nosuch.Model"},
            r"model\.path: .*'nosuch.Model'",
        ),
        (
            {"provider": "class", "path": f"{__name__}.Flaky", "options": {"x": 1}},
            r"model\.path",
        ),
    ):
        with pytest.raises(ValueError, match=said) as caught:
            build_model(models.read_config({"name": "x", **wrong}))
        assert "\n" not in str(caught.value)


class Flaky:
    """Fails as a broken connection does."""

    def __init__(self) -> None:
        self.failures = 2

    async def __call__(self, body):
        self.failures -= 1
        if self.failures >= 0:
            raise ConnectionError("reset")
        return {"choices": [{"message": {"content": f"{body['model']}, at last"}}]}


async def test_a_class_of_ones_own_is_tried_again_too(monkeypatch):
    monkeypatch.setattr("foundation.endpoint.LONGEST_PAUSE", 0.01)
    base = {"provider": "class", "name": "flaky", "path": f"{__name__}.Flaky"}
    reply = await build_model(ModelConfig(**base, max_retries=2)).ask(
        MESSAGES, sample="0"
    )
    assert reply.text == "flaky, at last"
    with pytest.raises(ModelError, match="reset"):
        await build_model(ModelConfig(**base, max_retries=1)).ask(MESSAGES, sample="0")


async def test_a_key_has_a_name_of_its_own_and_is_sent(httpserver, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-mine")
    endpoint = Endpoint(httpserver).play("hi")
    await build_model(config(endpoint, key="MY_KEY")).ask(MESSAGES, sample="0")
    assert endpoint.requests[0].headers["Authorization"] == "Bearer sk-mine"


def test_the_assistant_takes_the_same_settings():
    chosen = ["model=anthropic", "model.name=m", "model.temperature=null"]
    made = read_config(chosen).model
    assert (made.key, made.name, made.temperature) == ("ANTHROPIC_API_KEY", "m", None)
    with pytest.raises(UsageError, match=r"model\.temprature"):
        read_config([*chosen, "model.temprature=1"])


# -- prices

GOOGLE = "https://generativelanguage.googleapis.com/v1beta/openai"


def price(provider, name, base_url=None):
    return find_price(ModelConfig(provider=provider, name=name, base_url=base_url))


@pytest.mark.parametrize(("name", "base_url", "known"), TABLES["priced"])
def test_a_vendors_model_has_its_price_and_nothing_is_invented(
    name, base_url, known, monkeypatch
):
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(variable, raising=False)
    found = price("openai", name, base_url)
    assert (found is not None) is known
    assert found is None or 0 < found.prompt < found.completion < 1000
    assert price("class", name, base_url) is None


def test_an_address_in_the_environment_counts(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    assert price("openai", "gpt-4o") is None


def test_of_a_price_with_tiers_the_highest_counts():
    from genai_prices import Usage, calc_price

    tiers = calc_price(
        Usage(), "gemini-2.5-pro", provider_id="google"
    ).model_price.input_mtok
    found = price("openai", "gemini-2.5-pro", GOOGLE).prompt
    assert float(tiers.base) < found == max(float(t.price) for t in tiers.tiers)


def test_a_configured_price_wins():
    given = {"prompt": 1.0, "completion": 2.0}
    config = ModelConfig(provider="openai", name="gpt-4o", price=given)
    assert find_price(config) == Price(**given)
