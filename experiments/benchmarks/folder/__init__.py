"""A benchmark of one's own: questions written by hand, or made from a library's unit tests."""
