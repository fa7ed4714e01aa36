"""Corpora of documents and the indexes built over them."""

from foundation.errors import ActionableError


class RetrievalError(ActionableError):
    """Documents cannot be made, indexed or found; says what to do next."""
