"""Tests of the assistant."""
