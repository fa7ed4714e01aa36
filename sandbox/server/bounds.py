"""Limits of what a run hands over, and the frames it travels in, on both sides."""

from __future__ import annotations

import json
import struct
from typing import Any

from sandbox.inside.tagged import MB

KEEP = 64 << 10  # bytes of each stream that are kept
OUT = "out"  # folder of the run whose content is handed over
OUT_FILES = 32  # of it
OUT_BYTES = 8 * MB  # of it, all files together
MAX_CAUGHT = 20  # exceptions reported that the code caught itself
MAX_MESSAGE = 300  # characters of the message of one of them


def frame(header: dict[str, Any], *blobs: bytes) -> bytes:
    """4 bytes big-endian length of a JSON header, which lists lengths of the blobs that follow."""
    text = json.dumps({**header, "blobs": [len(blob) for blob in blobs]}).encode()
    return b"".join([struct.pack(">I", len(text)), text, *blobs])
