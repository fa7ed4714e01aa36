"""Ranking and reranker by configuration (``conf/ranking``, ``conf/reranker``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foundation.targets import built
from retrieval.ranking import RankingMethod
from retrieval.reranker import Reranker


def build_ranking(content: Mapping[str, Any]) -> RankingMethod | None:
    """The ranking of a user's own; ``None`` for ours (``ranking=structure``)."""
    if "_target_" not in content:
        return None
    ranking: RankingMethod = built("ranking", content, RankingMethod)
    return ranking


def build_reranker(content: Mapping[str, Any]) -> Reranker | None:
    """The reranker; ``None`` for ``reranker=none``."""
    if "_target_" not in content:
        return None
    reranker: Reranker = built("reranker", content, Reranker)
    return reranker
