"""Architectures: one file each."""
