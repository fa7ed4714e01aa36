"""QMBench: quantum materials problems with four kinds of answers."""
