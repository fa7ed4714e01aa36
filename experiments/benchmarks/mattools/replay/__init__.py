"""Recorded generations of MatTools, run and judged again: ``python -m experiments.replay``."""
