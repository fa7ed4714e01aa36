"""The chat model of a replayed run."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import ChatResult


class Unreachable(BaseChatModel):
    """Stands where a replayed run needs no model, and refuses to be one."""

    @property
    def _llm_type(self) -> str:
        return "replay"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise RuntimeError(
            "this run replays recorded traffic (model.replay); no new request can be made"
        )
