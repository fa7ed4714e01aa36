"""Corpora of documents and the indexes built over them."""

from matsmith.core.errors import ActionableError


class RetrievalError(ActionableError):
    """Documents cannot be made, indexed or found; says what to do next."""
