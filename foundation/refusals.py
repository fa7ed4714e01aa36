"""What a server's error means: may it pass, how long to wait, is the model being loaded.

Servers of the same API disagree about statuses: llama.cpp answers 500 for a template that refuses
a conversation, OpenRouter puts a 404 into a response of status 200, Google names the seconds to
wait in the body. So the words count beside the status.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from foundation.errors import EndpointError

#: Seconds that an endpoint may ask for, and that a model may take to load.
LONGEST_WAIT = 600.0
MAX_TEXT = 4000  # characters of an error that are read
_DEEPEST = 6  # levels of an error object

#: Statuses worth another try, besides 5xx.
PASSING = frozenset({408, 409, 425, 429})
#: Of a gateway or an overload: whatever the text says, it is not the request's fault.
_GATEWAY = frozenset({502, 503, 504, 529})

_LOADING = re.compile(
    r"\bloading\b|\bwarming up\b|\bcold start|\bstarting up\b|\bestimated_time\b"
    r"|\bmodel (?:is )?not (?:yet )?(?:ready|loaded)\b|\bbeing (?:loaded|pulled)\b",
    re.IGNORECASE,
)
_LOADING_FAILED = re.compile(
    r"(?:fail|error|unable|could not|cannot)\w*(?: \w+){0,3} (?:loading|load)\b",
    re.IGNORECASE,
)
#: Errors that the same request meets again, whatever their status.
_PERMANENT = re.compile(
    r"\bjinja|\bchat template\b|\btemplate\b.{0,40}\b(?:error|exception|fail)"
    r"|\braise_exception\b|\broles? must alternate\b|\bconversation roles\b"
    r"|\bonly user(?:,| and).{0,20}roles are supported"
    r"|\bsystem (?:role|message)s?\b.{0,30}\bnot supported"
    r"|\bmodel\b.{0,80}\b(?:not found|does not exist|unknown)\b"
    r"|\b(?:no such|unknown|invalid) model\b|\bmodel_not_found\b"
    r"|\binvalid_api_key\b|\binvalid api key\b|\bunauthorized\b"
    r"|\binsufficient[_ ](?:quota|credit|balance|funds)|\binvalid_request"
    r"|\bcontext[_ ](?:length|size|window)\b",
    re.IGNORECASE,
)
_IN_WORDS = re.compile(
    r"(?:try again|retry|available)(?: \w+){0,2} in:?\s{0,3}"
    r"(?:(\d{1,4})\s?m(?!s)(?:in(?:ute)?s?)?\s?)?(?:(\d{1,6}(?:\.\d{1,9})?)\s?(ms|s)\w*)?",
    re.IGNORECASE,
)
_SECONDS = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)s?")
_WAIT_KEYS = ("retryDelay", "retry_after", "retry_after_seconds", "estimated_time")


def refusal(status: int, text: str, headers: Mapping[str, str]) -> EndpointError:
    """The error that a response with a status of failure is."""
    message = " ".join(f"status {status}: {text[:MAX_TEXT]}".split())
    if 300 <= status < 400 and "location" in headers:
        target = headers["location"][:200]
        message += f" (it redirects to {target}; set that address instead)"
    insists = {"true": True, "false": False}.get(headers.get("x-should-retry", ""))
    wait = _wait_of_headers(headers) or _wait_of_text(text)
    return _error(message, status, text, wait=wait, insists=insists)


def refusal_in_body(error: Any) -> EndpointError:
    """The error that an error object in a response of status 200 is.

    Its ``code`` counts as the status where it is one; without any it may pass.
    """
    text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, str) and code.isdecimal() and len(code) == 3:
        code = int(code)
    status = code if isinstance(code, int) and 400 <= code <= 599 else None
    message = f"the endpoint says that it failed: {' '.join(text.split())[:300]}"
    return _error(message, status, text, wait=_wait_of_text(text))


def _error(
    message: str,
    status: int | None,
    text: str,
    *,
    wait: float,
    insists: bool | None = None,
) -> EndpointError:
    text = text[:MAX_TEXT]
    permanent = _PERMANENT.search(text) is not None and status not in _GATEWAY
    passing = status is None or status >= 500 or status in PASSING
    passing = passing and not permanent and wait <= LONGEST_WAIT
    loading = (
        status in {None, 429, 500, 503}
        and _LOADING.search(text) is not None
        and _LOADING_FAILED.search(text) is None
    )
    return EndpointError(
        message,
        status,
        passing=passing if insists is None else insists,
        wait=wait,
        loading=loading and not permanent,
    )


def _wait_of_headers(headers: Mapping[str, str]) -> float:
    milliseconds = _number(headers.get("retry-after-ms", "")) / 1000
    return milliseconds or _wait_of_header(headers.get("retry-after", ""))


def _wait_of_header(value: str) -> float:
    """Seconds of ``Retry-After``: a number, or a date as HTTP writes it."""
    if seconds := _number(value):
        return seconds
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


def _number(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        return 0.0
    return seconds if 0.0 < seconds < float("inf") else 0.0


def _wait_of_text(text: str) -> float:
    """Seconds that an error names: in a field made for it, else in words."""
    text = text[:MAX_TEXT]
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    for key, value in _fields(content):
        if key in _WAIT_KEYS and (match := _SECONDS.fullmatch(str(value))):
            return float(match[1])
    match = _IN_WORDS.search(text)
    if match is None:
        return 0.0
    minutes, number, unit = match.groups(default="")
    seconds = float(number or 0) / (1000 if unit.lower() == "ms" else 1)
    return 60 * float(minutes or 0) + seconds


def _fields(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Every key with its value, in objects and lists of objects."""
    if depth == _DEEPEST:
        return
    if isinstance(value, dict):
        yield from value.items()
        children = list(value.values())
    else:
        children = value if isinstance(value, list) else []
    for child in children:
        yield from _fields(child, depth + 1)
