"""Untrusted code in, Execution out. Imports nothing else of the project."""
