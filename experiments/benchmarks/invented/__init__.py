"""Invented libraries: packages whose content no model can know, with questions about them."""
