"""Benchmarks, runs, scores and reports. The only place that knows expected values."""
