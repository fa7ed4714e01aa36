"""``python -m experiments.replay``: regrade recorded MatTools generations."""

from __future__ import annotations

import sys

from experiments.benchmarks.mattools.replay.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
