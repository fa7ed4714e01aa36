"""What a user can set about retrieval (``conf/retrieval/*.yaml``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
)

from retrieval.base import RetrievalError

Source = Literal["none", "llm_doc", "llm_doc_semantic", "official_doc", "code", "live", "class"]
Mode = Literal["lexical", "dense", "hybrid", "graph"]


class RetrievalConfigError(RetrievalError):
    """A key or value of the retrieval configuration is wrong; names it and the choices."""


class WriterConfig(BaseModel):
    """How missing documentation is written (sources ``llm_doc`` and ``llm_doc_semantic``)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    concurrency: PositiveInt = Field(8, description="requests in flight")
    attempts: PositiveInt = Field(3, description="tries per symbol")
    max_calls: PositiveInt | None = Field(None, description="stop after this many requests")
    accept_missing: bool = Field(
        False, description="documents of facts only where the model failed, instead of an error"
    )
    shipped: bool = Field(True, description="use texts that were shipped or imported")


#: Documents of a package that is small enough to be all that a question is about.
SMALL_PACKAGE = 600


class EvidenceConfig(BaseModel):
    """Weights of :class:`retrieval.evidence.Evidence`; zero switches a kind off."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    members: NonNegativeFloat = Field(0.75, description="from its best method to a class")
    functions: NonNegativeFloat = Field(0.5, description="for module-level functions")
    types: NonNegativeFloat = Field(0.15, description="from a symbol to its parameters' classes")
    second: NonNegativeFloat = Field(0.3, description="from the best ones to theirs in turn")
    links: NonNegativeFloat = Field(1.0, description="for symbols that the query names")
    packages: NonNegativeFloat = Field(0.2, description="for what is in a package it names")


class GraphConfig(BaseModel):
    """How the knowledge graph is built and asked (``mode: graph``)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    build: Literal["symbols", "model"] = Field(
        "symbols", description="from the symbol graph without a model, or by the model"
    )
    mode: Literal["local", "global", "hybrid", "mix", "naive"] = Field(
        "mix", description="LightRAG's query mode"
    )


class RetrievalConfig(BaseModel):
    """One retriever.

    Attributes
    ----------
    k
        Documents per query when the caller does not say.
    tokens
        Estimated tokens that an answer may have in all; long documents are condensed to what
        the query asks about. ``None``: whole documents.
    per_property
        Ask also once per listed property, and fuse the rankings.
    small_package
        Documents of the largest package within which each property is looked for, with the
        definitions of what these say that they need (`retrieval.package`); zero: never.
    evidence
        Weights of what the structure of the library adds; see
        :class:`retrieval.evidence.Evidence`. Sources of chunks do not use it.
    rerank
        ``model``: the chat model chooses among the best ``candidates`` documents; see
        :class:`retrieval.rerank.ModelReranker`.
    default_embedding
        Used with ``embedding=none``, for what cannot do without vectors.
    path
        For ``class``: dotted name of a function that takes import names and the folder that holds
        the packages, and returns LangChain documents.
    pages
        For ``official_doc``: folder with the documentation; docstrings when not given.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    source: Source = "none"
    mode: Mode = "lexical"
    lexical: Literal["tfidf", "bm25", "both"] = "tfidf"
    k: PositiveInt = 5
    tokens: PositiveInt | None = None
    per_property: bool = False
    small_package: NonNegativeInt = SMALL_PACKAGE
    evidence: EvidenceConfig = EvidenceConfig()
    graph: GraphConfig = GraphConfig()
    rerank: Literal["none", "model"] = "none"
    candidates: PositiveInt = 20
    default_embedding: Literal["hashing"] | None = None
    pages: Path | None = None
    path: str | None = None
    writer: WriterConfig = WriterConfig()


def read_config(config: Mapping[str, Any] | RetrievalConfig) -> RetrievalConfig:
    """Validate a configuration.

    Raises
    ------
    RetrievalConfigError
        One line per mistake, with the valid keys or values.
    """
    if isinstance(config, RetrievalConfig):
        return config
    try:
        return RetrievalConfig.model_validate(dict(config))
    except ValidationError as error:
        lines = [_explain(dict(mistake)) for mistake in error.errors()]
        raise RetrievalConfigError("\n".join(lines)) from None


def _explain(mistake: Mapping[str, Any]) -> str:
    location = [str(part) for part in mistake["loc"]]
    key = ".".join(["retrieval", *location])
    if mistake["type"] == "extra_forbidden":
        groups: dict[str, type[BaseModel]] = {
            "writer": WriterConfig,
            "evidence": EvidenceConfig,
            "graph": GraphConfig,
        }
        model = groups.get(location[0], RetrievalConfig)
        return f"{key}: no such key; valid keys: {', '.join(model.model_fields)}"
    return f"{key}: {mistake['msg']} (got {mistake['input']!r})"
