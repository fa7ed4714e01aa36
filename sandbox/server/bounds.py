"""Limits of what a run hands over, on both sides."""

from __future__ import annotations

from sandbox.inside.tagged import MB

KEEP = 64 << 10  # bytes of each stream that are kept
OUT = "out"  # folder of the run whose content is handed over
OUT_FILES = 32  # of it
OUT_BYTES = 8 * MB  # of it, all files together
MAX_CAUGHT = 20  # exceptions reported that the code caught itself
MAX_MESSAGE = 300  # characters of the message of one of them
