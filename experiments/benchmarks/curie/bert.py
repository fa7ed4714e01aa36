"""BERTScore, where its package and the weights of its model are on this machine."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def _scorer() -> Any:
    """The scorer of bert-score for English, never downloaded; ``None`` where it is not there."""
    try:
        from huggingface_hub import constants  # noqa: PLC0415 -- of the extra `bertscore`

        constants.HF_HUB_OFFLINE = True
        from bert_score import BERTScorer  # noqa: PLC0415

        return BERTScorer(lang="en", rescale_with_baseline=False)
    except (ImportError, OSError, ValueError):
        return None


def bertscore(reference: str, prediction: str) -> float | None:
    """F1 of BERTScore, without rescaling; ``None``: cannot be computed here."""
    scorer = _scorer()
    if scorer is None:
        return None
    if not prediction.strip():
        return 0.0
    return float(scorer.score([prediction], [reference])[2][0])
