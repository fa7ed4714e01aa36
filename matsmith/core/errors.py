"""What ends a command with one line instead of a traceback."""

from __future__ import annotations


class ActionableError(Exception):
    """Its text tells the user what happened, where, and what to do next."""


class UsageError(ActionableError):
    """A user's mistake; one line that names the key and what is valid."""


class EndpointError(Exception):
    """An endpoint failed, with the ``status`` of its response, if there was one.

    ``passing`` means that the same request may succeed later (`OSError` and `TimeoutError` always
    may), ``wait`` how many seconds the endpoint asks to wait before.
    """

    def __init__(
        self,
        said: str,
        status: int | None = None,
        *,
        passing: bool = False,
        wait: float = 0.0,
    ) -> None:
        super().__init__(said)
        self.status, self.passing, self.wait = status, passing, wait
