"""The ``model`` group of the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


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
        ``openai`` for any OpenAI-compatible endpoint, ``rules`` for the model without an LLM,
        ``class`` for any LangChain chat model named by ``path`` (built with ``options``).
    name
        Name of the model as the endpoint knows it; also the name in every table.
    base_url
        Address of the endpoint; else ``OPENAI_BASE_URL``, else OpenAI's own.
    timeout
        Seconds for one request.
    max_retries
        Further tries (with exponential backoff) after a 429, a 5xx or a timeout.
    price
        Overrides the price table; unknown stays unknown.
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
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    provider: Literal["openai", "rules", "class"]
    name: str
    base_url: str | None = None
    temperature: float = Field(default=0.7, ge=0, le=2)
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
    options: dict[str, Any] = Field(default_factory=dict)

    @property
    def llm(self) -> bool:
        """Whether a language model is behind it."""
        return self.provider != "rules"
