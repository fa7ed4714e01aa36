"""The chat model without an LLM: deterministic, offline, free.

It reads the prompts that any model gets and answers in the same formats. What it knows about a
library stands in the prompt; what it knows about questions is nothing.
"""

from agents.models.rules.model import RulesChatModel

__all__ = ["RulesChatModel"]
