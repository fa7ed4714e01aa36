"""``python -m experiments.run``: the command of :mod:`experiments.command`."""

import sys

from experiments.command import main

if __name__ == "__main__":
    sys.exit(main())
