"""Tests of `matsmith`, the library."""
