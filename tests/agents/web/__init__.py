"""Tests of `agents.assistant.web`."""
