"""Symbols of a package and the documentation written about them."""
