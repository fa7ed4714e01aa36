"""Runs inside the sandbox; see test_run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tests.sandbox.called_by import times

if TYPE_CHECKING:
    from sandbox.pool import PooledSandbox


def back(*values: Any) -> list[Any]:
    """What came in."""
    return list(values)


def late(value: Any) -> Any:
    """What came in, after a while."""
    time.sleep(0.4)
    return value


def doubled(array: Any) -> Any:
    """Twice the array."""
    return times(array, 2)


def fails(sandbox: PooledSandbox | None = None) -> None:
    """Raise."""
    raise ValueError("here")
