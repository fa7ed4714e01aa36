"""What a user can set about retrieval (``conf/retrieval/*.yaml``)."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import (
    BaseModel,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    model_validator,
)

from docgen.writing import Content, WriteOptions
from foundation.targets import checked, describe, load, parameters
from indexes import RetrievalError

Source = Literal[
    "none", "llm_doc", "llm_doc_semantic", "official_doc", "code", "live", "class"
]
Mode = Literal["lexical", "dense", "hybrid", "graph"]


class _Group(BaseModel, extra="forbid", frozen=True): ...


#: Documents of a package that is small enough to be all that a question is about.
SMALL_PACKAGE = 5000


class Evidence(_Group):
    """Weights of what the structure of a library adds to scores; zero switches a kind off.

    A class gains ``members`` of the score of its best own method, ``types`` of that of each of the
    thirty best documents whose parameters need it, and ``second`` of that of the best of the eight
    first ones after that whose parameters need it. A module-level function, which has no methods
    that could speak for it, gains ``functions`` of its own score. What the query names gains
    ``links`` of the best score, and what is in a package that it names ``packages`` times its own
    score times the logarithm of how rare the package is in the corpus.
    """

    members: NonNegativeFloat = Field(
        0.75, description="from its best method to a class"
    )
    functions: NonNegativeFloat = Field(0.5, description="for module-level functions")
    types: NonNegativeFloat = Field(
        0.15, description="from a symbol to its parameters' classes"
    )
    second: NonNegativeFloat = Field(
        0.3, description="from the best ones to theirs in turn"
    )
    links: NonNegativeFloat = Field(1.0, description="for symbols that the query names")
    packages: NonNegativeFloat = Field(
        0.2, description="for what is in a package it names"
    )


class GraphConfig(_Group):
    """How the knowledge graph is asked (``mode: graph``)."""

    mode: Literal["local", "global", "hybrid", "mix", "naive"] = Field(
        "mix", description="LightRAG's query mode"
    )


class RetrievalConfig(_Group):
    """One retriever.

    Attributes
    ----------
    source, mode
        Where documents come from; how they are found.
    k
        Documents in a prompt; ``None``: as many as the model is configured for.
    per_property
        Ask also once per listed property, and fuse the rankings.
    small_package
        Documents of the largest package within which each property is looked for, with the
        definitions of what these say that they need (`indexes.references`); zero: never.
    index
        Put a map of the library in front: names with signatures and one line, the best for the
        question; ``alone``: instead of documents.
    index_tokens
        Maximum size of the map, in tokens.
    evidence
        Weights of what the structure of the library adds. Sources of chunks do not use it.
    default_embedding
        Used with ``embedding=none``, for what cannot do without vectors.
    path
        For ``class``: name of a function that takes import names and the folder that holds the
        packages, and returns LangChain documents; or of a class whose objects can be called so.
    content
        For ``llm_doc``: documents as they were written, or ``facts``, these with ``examples`` that
        ran, ``prose`` without examples, or ``all`` (:func:`docgen.facts.contents`).
    graph, writer
        How a graph is asked (``mode: graph``); how documents are written that are not there yet.
    params
        For ``class``: further parameters of the function, or those of the constructor. All keys
        that are none of these here belong to it.
    """

    name: str
    source: Source = "none"
    mode: Mode = "lexical"
    k: PositiveInt | None = None
    per_property: bool = False
    small_package: NonNegativeInt = SMALL_PACKAGE
    index: bool | Literal["alone"] = False
    index_tokens: PositiveInt = 2000
    evidence: Evidence = Evidence()
    graph: GraphConfig = GraphConfig()
    default_embedding: Literal["hashing"] | None = None
    path: str | None = None
    params: Mapping[str, Any] = Field(default_factory=dict)
    #: Of missing documentation (sources ``llm_doc`` and ``llm_doc_semantic``).
    writer: WriteOptions = WriteOptions()
    content: Content = "written"

    @model_validator(mode="before")
    @classmethod
    def _own(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or data.get("source") != "class":
            return data
        known = {key: value for key, value in data.items() if key in cls.model_fields}
        given = {
            key: value for key, value in data.items() if key not in cls.model_fields
        }
        source, _ = own_source(data)
        params = {**known.get("params", {}), **given}
        return {
            **known,
            "params": checked("retrieval", source, params, _injected(source)),
        }


def own_source(content: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The function or class of a source of the user's own, and its parameters; else none."""
    if content.get("source") != "class":
        return None, {}
    source = load(str(content.get("path")), key="retrieval.path")
    return source, parameters(source, _injected(source))


def _injected(source: object) -> int:
    return 0 if inspect.isclass(source) else 2


def read_config(values: Mapping[str, Any]) -> RetrievalConfig:
    """Validate a configuration; a `RetrievalError` names the key and the choices."""
    try:
        return RetrievalConfig.model_validate(dict(values))
    except ValidationError as error:
        raise RetrievalError(
            describe(error, RetrievalConfig, prefix="retrieval.")
        ) from None
