"""Hostile code in the sandbox, numbered as in docs/sandbox.md."""
