"""``python -m experiments.build_qa``: make multiple-choice questions."""

from __future__ import annotations

import sys

from experiments.benchmarks.mattools.qa.build import main

if __name__ == "__main__":
    sys.exit(main())
