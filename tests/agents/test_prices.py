"""Prices: from a maintained table, for the vendor's own endpoint, never invented."""

import pytest

from agents.models import ModelConfig, Price, find_price

pytest.importorskip("genai_prices", reason="make install has not run since it became a dependency")


GOOGLE = "https://generativelanguage.googleapis.com/v1beta/openai"


def price(provider, name, base_url=None):
    return find_price(ModelConfig(provider=provider, name=name, base_url=base_url))


@pytest.fixture(autouse=True)
def no_endpoint(monkeypatch):
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("name", "base_url"),
    [
        ("gpt-4o-2024-08-06", None),
        ("deepseek-chat", "https://api.deepseek.com/v1"),
        ("claude-sonnet-4-5", "https://api.anthropic.com/v1"),
        ("gemini-2.5-pro", GOOGLE),
        ("gpt-4o", "https://mine.openai.azure.com/openai/v1"),
    ],
)
def test_a_vendors_model_has_its_price(name, base_url):
    found = price("openai", name, base_url)
    assert found is not None
    assert 0 < found.prompt < found.completion < 1000


@pytest.mark.parametrize(
    ("provider", "name", "base_url"),
    [
        ("openai", "a-model-of-tomorrow", None),
        ("openai", "gpt-4o", "http://localhost:8000/v1"),
        ("openai", "gpt-4o", "https://models.example.org/v1"),
        ("class", "gpt-4o", None),
        ("openai", "sonar-pro", "https://api.perplexity.ai"),  # takes a fee per request besides
    ],
)
def test_an_unknown_price_is_none(provider, name, base_url):
    assert price(provider, name, base_url) is None


def test_an_address_in_the_environment_counts(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    assert price("openai", "gpt-4o") is None


def test_of_a_price_with_tiers_the_highest_counts():
    from genai_prices import Usage, calc_price

    tiers = calc_price(Usage(), "gemini-2.5-pro", provider_id="google").model_price.input_mtok
    found = price("openai", "gemini-2.5-pro", GOOGLE).prompt
    assert float(tiers.base) < found == max(float(t.price) for t in tiers.tiers)


def test_a_configured_price_wins():
    given = {"prompt": 1.0, "completion": 2.0}
    config = ModelConfig(provider="openai", name="gpt-4o", price=given)
    assert find_price(config) == Price(**given)
