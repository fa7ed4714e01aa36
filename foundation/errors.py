"""What ends a command with one line instead of a traceback."""

from __future__ import annotations


class ActionableError(Exception):
    """Its text tells the user what happened, where, and what to do next."""


class UsageError(ActionableError):
    """A user's mistake; one line that names the key and what is valid."""


class EndpointError(Exception):
    """An endpoint failed.

    Attributes
    ----------
    status
        Of its response, or the code in an error object; ``None`` where there was none.
    passing
        Whether the same request may succeed later (`OSError` and `TimeoutError` always may).
    wait
        Seconds that the endpoint asks to wait before; 0 where it names none.
    loading
        Whether it says that the model is still being loaded.
    """

    def __init__(
        self,
        message: str,
        status: int | None = None,
        *,
        passing: bool = False,
        wait: float = 0.0,
        loading: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.passing = passing
        self.wait = wait
        self.loading = loading
