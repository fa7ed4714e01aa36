"""``python -m experiments.build_tasks``: make questions from unit tests."""

from __future__ import annotations

import sys

from experiments.benchmarks.folder.build.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
