"""What a model's window has to do with an error or a reply: the prompt, a setting, or a silent cut.

Servers word it in many ways. An error is about the window when it speaks of one and of too much. If
the prompt alone would fit, the limit on the reply is what is too large: a setting of the user's,
not the model's failure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from foundation.errors import EndpointError

_LONGEST = 4000  # characters of an error that are read
_STATUSES = (None, 400, 413, 422, 500)

_NUMBER = r"(\d{1,9})"
_WINDOW = re.compile(
    r"context[ _-]?(?:length|size|window|limit|overflow)|n_ctx"
    r"|(?:max\w*|model) (?:prompt|input|sequence|model|token)?\s?(?:length|limit)"
    r"|input length|prompt|input tokens?|`inputs`|token limit",
    re.IGNORECASE,
)
_TOO_MUCH = re.compile(
    r"exceed|too (?:long|large|many)|(?:longer|greater|larger|bigger|more) than|only \d"
    r"|must (?:be <=|have less than)|cannot exceed|out of range|should be \[|overflow"
    r"|please reduce|does(?: not|n't) fit|reached (?:the )?context|\d > \d"
    r"|maximum (?:context|prompt|model) length",
    re.IGNORECASE,
)
#: Wordings that hold neither, or say it by a name.
_BY_NAME = re.compile(
    r"context_length_exceeded|exceed_context_size|ContextWindowExceeded|context shift is disabled"
    r"|no user query found in messages|tokens to keep from the initial prompt"
    r"|(?:payload|content|request entity) too large|input is too long",
    re.IGNORECASE,
)
_NOT_A_WINDOW = re.compile(
    r"tokens per (?:minute|day)|\bTPM\b|rate[_ ]limit|too many (?:requests|messages|images)",
    re.IGNORECASE,
)
#: The limit on the reply by itself is refused, whatever the prompt.
_LIMIT_REFUSED = re.compile(
    r"max_?(?:completion_?|output_?|new_?)?tokens\W.{0,80}"
    r"(?:too (?:large|high|big)|less than|at most|valid range|supported range|out of range"
    r"|\d > \d)",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"(?:at most|less than or equal to|> |<= |valid range of max_tokens is \[1, ?)"
    rf"\D{{0,3}}{_NUMBER}",
    re.IGNORECASE,
)
_PROMPT_TOKENS = (
    re.compile(
        rf"{_NUMBER} (?:`inputs` tokens|(?:text )?input tokens|prompt tokens|of text input"
        r"|tokens (?:from|in) the (?:input|prompt|messages)"
        r"|in (?:the|your) (?:messages|prompt))",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:(?:request|prompt|messages?|input)\w* (?:has|have|contains?|is|of) "
        rf"|n_prompt_tokens\W{{1,4}}|decoder prompt \(length ){_NUMBER}",
        re.IGNORECASE,
    ),
)
_WINDOW_TOKENS = re.compile(
    rf"(?:must be <= |(?:length|limit|size|window)(?: is| of)?(?: only)?:? ?\(?|n_ctx\W{{1,4}}"
    rf"|cannot exceed |maximum of ){_NUMBER}",
    re.IGNORECASE,
)
_SUM = re.compile(rf"{_NUMBER} \+ {_NUMBER} > {_NUMBER}")  # Anthropic
_DIFFERENCE = re.compile(rf"{_NUMBER} > {_NUMBER} - {_NUMBER}")  # vLLM
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}\b)")


@dataclass(frozen=True)
class Excess:
    """What an endpoint found too long.

    Attributes
    ----------
    what
        The ``prompt``, or the ``limit`` on the reply (``model.max_tokens``).
    room
        Tokens that a reply may have; ``None`` where the error does not say so.
    always
        Whether that is so beside any prompt.
    """

    what: Literal["prompt", "limit"]
    room: int | None = None
    always: bool = False


def excess_of(error: Exception) -> Excess | None:
    """What an error says is too long; ``None`` where it is about something else."""
    status = error.status if isinstance(error, EndpointError) else None
    if status not in _STATUSES:
        return None
    text = _GROUPED.sub("", str(error)[:_LONGEST])
    if _NOT_A_WINDOW.search(text):
        return None
    prompt, window = _tokens(text)
    room = None if prompt is None or window is None else window - prompt
    if room is not None and room > 0:
        return Excess("limit", room)
    about_window = _WINDOW.search(text) and _TOO_MUCH.search(text)
    if _LIMIT_REFUSED.search(text) and room is None:
        limit = _LIMIT.search(text)
        return Excess("limit", int(limit[1]) if limit else None, always=True)
    if about_window or _BY_NAME.search(text):
        return Excess("prompt")
    return None


def _tokens(text: str) -> tuple[int | None, int | None]:
    """Tokens of the prompt and of the window, as an error tells them."""
    if match := _SUM.search(text):
        return int(match[1]), int(match[3])
    if match := _DIFFERENCE.search(text):
        return int(match[3]), int(match[2])
    prompts = (match for pattern in _PROMPT_TOKENS if (match := pattern.search(text)))
    prompt = next(prompts, None)
    window = _WINDOW_TOKENS.search(text)
    return (int(prompt[1]) if prompt else None, int(window[1]) if window else None)


# -- prompts that were cut without a word

#: Characters per token that no tokenizer reaches on prose or code, blanks and rows of one sign
#: counted once; and what is unusual, and tells only beside a count that is a window's.
IMPOSSIBLE, UNUSUAL = 7.0, 5.5
SHORTEST = 4000  # characters of a prompt that is judged
SMALLEST = 400  # tokens of a window; a lower count is not a window's
NEAR = 16  # tokens about a window's size
_STEP = 1024
_RUN = re.compile(r"(\S)\1{3,}")


def was_cut(texts: Sequence[str], prompt_tokens: int) -> bool:
    """Whether an endpoint that counted ``prompt_tokens`` cannot have read all of the ``texts``.

    Ollama and others drop the beginning, or messages, of a prompt that exceeds the window.
    """
    characters = sum(map(dense_length, texts))
    if characters < SHORTEST or prompt_tokens < SMALLEST:
        return False
    ratio = characters / prompt_tokens
    distance = min(prompt_tokens % _STEP, _STEP - prompt_tokens % _STEP)
    return ratio > IMPOSSIBLE or (ratio > UNUSUAL and distance <= NEAR)


def dense_length(text: str) -> int:
    """Characters of a text in which blanks, and rows of one sign, count about once."""
    return len(_RUN.sub(r"\1", " ".join(text.split())))
