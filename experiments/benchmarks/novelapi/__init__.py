"""NovelAPIBench."""
