"""A run: configuration, loop, store, record, workers."""
