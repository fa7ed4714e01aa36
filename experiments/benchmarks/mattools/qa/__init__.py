"""Multiple-choice questions: files, asking, answers; the benchmark is `benchmarks.mattools_qa`."""
