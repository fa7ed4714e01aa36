"""Tests of `agents.web`."""
