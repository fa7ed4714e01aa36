"""CURIE: long scientific documents, after arXiv 2503.13517; generated, or the authors' archive."""
