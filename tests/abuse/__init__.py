"""Hostile code in the sandbox, numbered as in docs/appendix/sandbox.md."""
