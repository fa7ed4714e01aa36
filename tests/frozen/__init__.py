"""Behaviour that a rebuilt house must keep; see `tests.frozen.__main__`."""
