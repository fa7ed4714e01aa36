"""Shared parts: one environment and one cache for all tests of this folder."""

from typing import Any

import pytest

from experiments.run.config import validate


@pytest.fixture
def configure(tmp_path):
    """A configuration of the tiny benchmark and the scripted agent, with changes."""

    def make(**changes):
        system = {"_target_": "tests.experiments.tiny.Scripted", "name": "scripted"}
        benchmark = {"_target_": "tests.experiments.tiny.TinyBenchmark", "name": "tiny"}
        plain: dict[str, Any] = {
            "system": system | changes.pop("system", {}),
            "benchmark": benchmark | changes.pop("benchmark", {}),
            "retrieval": {"name": "none"},
            "model": {"provider": "none", "name": "none"},
            "embedding": {"name": "none"},
            "sandbox": {"backend": "auto", "timeout": 3} | changes.pop("sandbox", {}),
            "out": str(tmp_path / "run"),
        }
        return validate(plain | changes)

    return make
