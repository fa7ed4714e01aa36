"""Corpora of documents and the indexes built over them."""
