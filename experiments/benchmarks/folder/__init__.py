"""A benchmark made from a library's own unit tests."""
