"""The ``model`` group of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class Price(BaseModel):
    """Dollars per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)


class ModelConfig(BaseModel):
    """The ``model`` group of the configuration.

    Attributes
    ----------
    provider
        ``openai`` for any OpenAI-compatible endpoint, another provider of LangChain's
        ``init_chat_model`` (``anthropic``, ``google_genai``, ``azure_openai``, ``ollama``, ...),
        ``rules`` for the model without an LLM, ``class`` for the LangChain chat model that
        ``path`` names.
    name
        Name of the model as the endpoint knows it; also the name in every table.
    base_url
        Address of the endpoint; ``None``: the vendor's (for ``openai``: ``OPENAI_BASE_URL``, else
        OpenAI's own).
    temperature
        ``None`` sends none: what models that refuse one need.
    max_tokens
        Tokens of a reply at most; ``None`` leaves it to the endpoint. A reply that is cut off
        there is asked for once more with twice as many.
    timeout
        Seconds for one request.
    max_retries
        Further tries (with exponential backoff) after a 429, a 5xx or a timeout.
    price
        Overrides the price table (see :mod:`agents.models.prices`); unknown stays unknown.
    cache
        Keep replies, so that a repeated run asks nothing twice.
    documents
        Documents in a prompt, unless ``retrieval.k`` says otherwise.
    document_characters
        Characters of a document in a prompt, on average; ``None`` shows every document whole.
    record
        JSONL file to which all traffic is appended (see :mod:`agents.models.traffic`).
    replay
        JSONL file that answers in place of the model.
    path
        Dotted name of the chat model of ``provider=class``.
    tools
        How tools are offered: ``native``, as ``text`` in the prompt, or ``auto``: native until the
        endpoint refuses them.
    context_tokens
        Tokens that the model reads at most; ``None`` is unknown. Near it, a conversation with
        tools condenses old results; a prompt beyond it (at four characters per token) is not sent,
        and the answer counts as wrong.
    images
        Whether the model takes pictures; else questions with a picture are listed as unavailable.
    requests_per_minute, tokens_per_minute
        What the endpoint allows this key; ``None`` is no limit. Holds for all questions of a run
        together, on however many machines. What the chat model tries again is not counted.
    options
        Further arguments of the provider's chat model.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    provider: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    name: str
    base_url: str | None = None
    temperature: float | None = Field(default=0.7, ge=0, le=2)
    max_tokens: int | None = Field(default=None, gt=0)
    timeout: float = Field(default=120.0, gt=0)
    max_retries: int = Field(default=4, ge=0, le=20)
    price: Price | None = None
    cache: bool = True
    documents: int = Field(default=5, ge=1)
    document_characters: int | None = Field(default=None, ge=200)
    record: Path | None = None
    replay: Path | None = None
    path: str | None = None
    tools: Literal["auto", "native", "text"] = "auto"
    context_tokens: int | None = Field(default=None, ge=1000)
    images: bool = True
    requests_per_minute: int | None = Field(default=None, gt=0)
    tokens_per_minute: int | None = Field(default=None, gt=0)
    options: dict[str, Any] = Field(default_factory=dict)

    @property
    def llm(self) -> bool:
        """Whether a language model is behind it."""
        return self.provider != "rules"


def read_config(values: Mapping[str, Any]) -> ModelConfig:
    """The configuration of plain ``values``.

    Raises
    ------
    ValueError
        In one line, which names the key as a user types it.
    """
    try:
        return ModelConfig.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        key = ".".join(["model", *map(str, first["loc"])])
        if first["type"] == "extra_forbidden":
            known = ", ".join(ModelConfig.model_fields)
            raise ValueError(f"{key}: no such key; valid keys: {known}") from error
        raise ValueError(f"{key}: {first['msg']}") from error
