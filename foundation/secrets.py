"""Keys never leave: one filter for all that is written, printed, logged or sent on.

Endpoints and gateways like to repeat a key in an error. The filter knows the keys that are
configured and what looks like one.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

HIDDEN = "[redacted]"
#: Characters of a secret: shorter ones are words, and so are longer ones of small letters only.
SHORTEST, LONGEST_WORD = 8, 11
_DEEPEST = 50

_KEY_NAMES = re.compile(r"(?:key|token|secret|password|passwd)\Z", re.IGNORECASE)
#: What looks like a key: those of vendors, what follows ``Bearer``, a password in an address.
_LOOKS_LIKE_ONE = re.compile(
    r"(?<![\w-])(?:"
    r"(?:sk|pk|rk)-(?=[\w-]*\d)[\w-]{16,}"
    r"|AIza[\w-]{20,}"
    r"|(?:gsk_|hf_|xai-|ghp_|github_pat_|glpat-|r8_)[\w-]{16,}"
    r"|AKIA[A-Z0-9]{16}"
    r")"
    r"|(?<=\bBearer )[\w.~+/=-]{16,}"
    r"|(?<=://)[^\s/:@]{1,200}:[^\s/@]{1,200}(?=@)"
)
_configured: set[str] = set()


def register(secret: str | None) -> None:
    """Keep a key that is configured out of everything from now on."""
    if secret and _is_secret(secret):
        _configured.add(secret)


def _is_secret(value: str) -> bool:
    """Whether a value is no ordinary word, such as a local server's ``none`` or ``ollama``."""
    word = value.islower() and value.isalpha() and len(value) <= LONGEST_WORD
    return len(value) >= SHORTEST and not word


def redact(text: str) -> str:
    """A text without keys."""
    return _without(text, _secrets())


def redacted(value: Any) -> Any:
    """Plain data of which every text is without keys; what is nested too deep is left out."""
    return _redacted(value, _secrets(), 0)


def _redacted(value: Any, secrets: Sequence[str], depth: int) -> Any:
    if isinstance(value, str):
        return _without(value, secrets)
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth == _DEEPEST:
        return HIDDEN
    if isinstance(value, Mapping):
        return {
            _redacted(key, secrets, depth + 1): _redacted(child, secrets, depth + 1)
            for key, child in value.items()
        }
    children = [_redacted(child, secrets, depth + 1) for child in value]
    return tuple(children) if isinstance(value, tuple) else children


def _without(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, HIDDEN)
    return _LOOKS_LIKE_ONE.sub(HIDDEN, text)


def _secrets() -> list[str]:
    """Those that were registered, and the environment's, by the names of its variables."""
    named = {
        value
        for name, value in os.environ.items()
        if _KEY_NAMES.search(name) and _is_secret(value)
    }
    return sorted(_configured | named, key=len, reverse=True)


class LogFilter(logging.Filter):
    """Takes keys out of log records."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the message of a record; all records pass."""
        record.msg, record.args = redact(record.getMessage()), ()
        return True


class RedactingStream:
    """A stream for text, to which no key is written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text without its keys."""
        self._stream.write(redact(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def guarded_output(output: TextIO, errors: TextIO) -> Iterator[None]:
    """While inside, ``sys.stdout`` and ``sys.stderr`` write without keys."""
    if isinstance(output, RedactingStream):
        yield
        return
    with (
        redirect_stdout(cast("TextIO", RedactingStream(output))),
        redirect_stderr(cast("TextIO", RedactingStream(errors))),
    ):
        yield
