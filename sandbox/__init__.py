"""Untrusted code in, Execution out. Of the project it imports only ``foundation``."""
