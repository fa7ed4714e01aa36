"""Errors that callers must know without importing what raises them."""

from __future__ import annotations


class GraphError(Exception):
    """The graph cannot be built or queried; says what to do next."""
