"""``python -m agents.assistant``: the same as ``matsmith``."""

import sys

from agents.assistant.command import main

sys.exit(main())
