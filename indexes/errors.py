"""Errors that callers must know without importing what raises them."""

from __future__ import annotations

from matsmith.core.errors import ActionableError


class GraphError(ActionableError):
    """The graph cannot be built or queried; says what to do next."""
