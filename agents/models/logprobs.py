"""Log-probabilities, where an endpoint has them: of a reply's tokens, and of a given text's.

What an endpoint sends is read under caps and as data; without any, the answer is ``None``:
unavailable, never zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # slow to import
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage

#: Tokens of a reply whose alternatives are kept, and alternatives kept of each.
FIRST, MOST = 5, 20
#: Alternatives of each token of a given text: what every endpoint with `echo` allows.
ECHOED = 5


@dataclass(frozen=True)
class Token:
    """A token of a text that a model has read.

    Attributes
    ----------
    logprob
        Natural logarithm of its probability after the tokens before it.
    rank
        Its place among all tokens that could stand there, from 1; ``None``: unknown, it is not
        among the alternatives that the endpoint lists.
    """

    text: str
    logprob: float
    rank: int | None


@dataclass(frozen=True)
class Read:
    """What an endpoint says of a text: its tokens, and how many it counted."""

    tokens: tuple[Token, ...] | None
    count: int | None


def asking(chat: BaseChatModel, top: int) -> BaseChatModel | None:
    """``chat`` that asks for ``top`` alternatives of each token; ``None`` where it cannot."""
    if not {"logprobs", "top_logprobs"} <= set(type(chat).model_fields):
        return None
    return chat.model_copy(update={"logprobs": True, "top_logprobs": top})


def first_tokens(message: AIMessage) -> tuple[dict[str, float], ...] | None:
    """Alternatives of the first tokens of a reply, with their log-probabilities."""
    sent = message.response_metadata.get("logprobs")
    listed = sent.get("content") if isinstance(sent, Mapping) else None
    if not isinstance(listed, list):
        return None
    found = []
    for token in listed[:FIRST]:
        if not isinstance(token, Mapping):
            return None
        given = token.get("top_logprobs") or [token]
        alternatives = {
            str(each.get("token"))[:100]: number
            for each in given[:MOST]
            if isinstance(each, Mapping) and (number := _number(each.get("logprob"))) is not None
        }
        if not alternatives:
            return None
        found.append(alternatives)
    return tuple(found) or None


async def read_prompt(chat: BaseChatModel, prompt: str) -> Read | None:
    """Have ``chat`` read a text; ``None`` where it or its endpoint cannot."""
    read = getattr(chat, "read_prompt", None)
    sent = None if read is None else await read(prompt)
    if sent is None:
        return None
    count = (sent.get("usage") or {}).get("prompt_tokens")
    choices = sent.get("choices") or [{}]
    known = isinstance(count, int) and count > 0
    return Read(prompt_tokens(choices[0], prompt), count if known else None)


def prompt_tokens(choice: Mapping[str, Any], prompt: str) -> tuple[Token, ...] | None:
    """The tokens of ``prompt`` in a completion that was asked for them.

    Reads ``prompt_logprobs`` (vLLM: one mapping for each token, the token itself first, with its
    rank) and the ``logprobs`` of ``echo`` (older completions: ranks only among the alternatives).
    The first token has no log-probability and is left out.
    """
    listed = choice.get("prompt_logprobs")
    if isinstance(listed, list):
        own = [next(iter(each.values()), None) for each in listed if isinstance(each, Mapping)]
        return _complete(
            [
                (each.get("decoded_token"), each.get("logprob"), each.get("rank"))
                for each in own
                if isinstance(each, Mapping)
            ],
            len(listed) - 1,
        )
    echoed = choice.get("logprobs")
    if not isinstance(echoed, Mapping):
        return None
    texts, numbers, tops, places = (
        echoed.get(key) or [] for key in ("tokens", "token_logprobs", "top_logprobs", "text_offset")
    )
    if not isinstance(places, list) or len(places) != len(texts) or len(numbers) != len(texts):
        return None  # nobody could tell the prompt from what the model added
    inside = [place for place in range(1, len(texts)) if places[place] < len(prompt)]
    return _complete(
        [
            (texts[n], numbers[n], _rank(numbers[n], tops[n] if n < len(tops) else None))
            for n in inside
        ],
        len(inside),
    )


def _rank(logprob: object, alternatives: object) -> int | None:
    """Place among the alternatives; unknown below the last of them."""
    number = _number(logprob)
    if number is None or not isinstance(alternatives, Mapping):
        return None
    others = [other for each in alternatives.values() if (other := _number(each)) is not None]
    better = sum(other > number for other in others)
    # One more may be listed than was asked for: the token itself, from wherever it stands.
    return better + 1 if others and better < ECHOED else None


def _complete(
    found: Sequence[tuple[object, object, object]], wanted: int
) -> tuple[Token, ...] | None:
    """Tokens of which every one has a log-probability, else ``None``: half a text is none."""
    tokens = []
    for text, logprob, rank in found:
        number = _number(logprob)
        if number is None:
            return None
        known = rank if isinstance(rank, int) and not isinstance(rank, bool) and rank > 0 else None
        tokens.append(Token(str(text), number, known))
    return tuple(tokens) if tokens and len(tokens) == wanted else None


def _number(value: object) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known and not math.isnan(value) else None  # type: ignore[arg-type]
