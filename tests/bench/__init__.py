"""Benches: what takes how long, each against a baseline in the same run."""
