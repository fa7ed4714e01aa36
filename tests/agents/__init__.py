"""Tests of the architectures and their models."""
