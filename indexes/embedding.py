"""Texts to vectors: an OpenAI-compatible endpoint, or an offline embedding of our own."""

from __future__ import annotations

import hashlib
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, FiniteFloat, PositiveFloat, PositiveInt, ValidationError

from foundation.endpoint import OPENAI, Endpoint, tried
from foundation.errors import EndpointError, UsageError
from foundation.targets import built, describe
from indexes.pages.words import tokens
from indexes.vectors import Embedding

DIMENSIONS = 1024  # of hashed vectors


class EmbeddingConfig(BaseModel, extra="forbid", frozen=True):
    """Content of ``conf/embedding/<name>.yaml``.

    ``none``: no vectors; ``hashing``: :class:`HashingEmbedding`; ``openai``: any OpenAI-compatible
    endpoint, whose key comes from OPENAI_API_KEY.
    """

    name: str = "none"
    provider: Literal["none", "hashing", "openai"] = "none"
    base_url: str | None = None
    dimensions: PositiveInt | None = None
    timeout: PositiveFloat = 60.0
    max_retries: int = 4
    batch: PositiveInt = 64


def build_embedding(config: Mapping[str, Any]) -> Embedding | None:
    """An embedding from ``conf/embedding/<name>.yaml``; ``None`` for ``embedding=none``."""
    if "_target_" in config:
        plugin: Embedding = built("embedding", config, Embedding)
        return plugin
    try:
        checked = EmbeddingConfig.model_validate(dict(config))
    except ValidationError as error:
        raise UsageError(
            describe(error, EmbeddingConfig, prefix="embedding.")
        ) from None
    if checked.provider == "none":
        return None
    if checked.provider == "hashing":
        return HashingEmbedding(checked.dimensions or DIMENSIONS)
    key = os.environ.get("OPENAI_API_KEY")
    if not key and checked.base_url is None:
        raise UsageError(
            "embedding=openai needs OPENAI_API_KEY, or embedding.base_url of a local endpoint"
        )
    return EndpointEmbedding(checked, key)


class EndpointEmbedding:
    """Vectors of an OpenAI-compatible endpoint."""

    def __init__(self, config: EmbeddingConfig, key: str | None) -> None:
        self.name = "-".join(map(str, filter(None, [config.name, config.dimensions])))
        self._config, self._key = config, key

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text; raises `EndpointError` when there are none to be had."""
        config, found = self._config, list[list[float]]()
        given = config.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
        endpoint = Endpoint(given, "/embeddings", self._key)
        try:
            for start in range(0, len(texts), config.batch):
                batch = list(texts[start : start + config.batch])
                body: dict[str, Any] = {"model": config.name, "input": batch}
                body |= {"dimensions": config.dimensions} if config.dimensions else {}

                async def once(body: dict[str, Any] = body) -> _Vectors:
                    return _Vectors.model_validate(await endpoint(body))

                made = await tried(once, config.max_retries, config.timeout)
                if len(made.data) != len(batch):
                    raise EndpointError(
                        f"{len(made.data)} vectors came for {len(batch)} texts"
                    )
                found += [
                    each.embedding for each in sorted(made.data, key=lambda v: v.index)
                ]
        except ValidationError:
            raise EndpointError(
                f"the endpoint sent no embeddings ({config.name})"
            ) from None
        finally:
            await endpoint.close()
        lengths = sorted({len(vector) for vector in found})
        if len(lengths) > 1:
            raise EndpointError(
                f"the endpoint sent vectors of different lengths: {lengths[0]} and {lengths[-1]}"
            )
        return found


class _Vector(BaseModel):
    index: int = 0
    embedding: list[FiniteFloat]


class _Vectors(BaseModel):
    data: list[_Vector]


class HashingEmbedding:
    """Feature hashing of identifier-aware tokens with damped counts and unit length.

    Each token goes to four of the dimensions with a sign, both given by its hash. No training,
    no files: the same text gives the same vector everywhere.
    """

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        self.dimensions = dimensions
        self.name = f"HashingEmbedding-{dimensions}"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of unit length per text (zeros where a text has no token)."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector: NDArray[np.float64] = np.zeros(self.dimensions)
        for token, count in Counter(tokens(text)).items():
            weight = (1 + math.log(count)) * math.sqrt(
                len(token)
            )  # long tokens tell more
            for place, sign in _places(token, self.dimensions):
                vector[place] += sign * weight
        norm = float(np.linalg.norm(vector))
        return [float(x) for x in (vector / norm if norm else vector)]


@lru_cache(maxsize=100_000)
def _places(token: str, dimensions: int) -> tuple[tuple[int, int], ...]:
    hashed = hashlib.blake2b(
        token.encode("utf-8", errors="replace"), digest_size=16
    ).digest()
    numbers = (int.from_bytes(hashed[i : i + 4], "big") for i in range(0, 16, 4))
    return tuple(
        (number // 2 % dimensions, 1 if number % 2 else -1) for number in numbers
    )
