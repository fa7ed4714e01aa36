"""Query in, ranked documents out."""
