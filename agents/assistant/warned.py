"""Which warnings of libraries are about values; runs inside the sandbox."""

from __future__ import annotations

#: Warnings about code, not about values.
ABOUT_CODE = (
    DeprecationWarning,
    FutureWarning,
    ImportWarning,
    PendingDeprecationWarning,
    ResourceWarning,
)
