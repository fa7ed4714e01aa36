"""``python -m matsmith``: the same as the command ``matsmith``."""

import sys

from agents.assistant import main

if __name__ == "__main__":
    sys.exit(main())
