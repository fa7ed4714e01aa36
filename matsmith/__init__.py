"""Correct materials-science code out of language models, and the bench that proves it."""
