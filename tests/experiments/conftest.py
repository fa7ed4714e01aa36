"""Shared parts: one environment and one cache for all tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.config import RunConfig, validate

Configure = Callable[..., RunConfig]


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    """A configuration of the tiny benchmark and the scripted agent, with changes."""

    def make(**changes: Any) -> RunConfig:
        system = {"_target_": "tests.experiments.tiny.Scripted", "name": "scripted"}
        benchmark = {"_target_": "tests.experiments.tiny.TinyBenchmark", "name": "tiny"}
        plain: dict[str, Any] = {
            "system": system | changes.pop("system", {}),
            "benchmark": benchmark | changes.pop("benchmark", {}),
            "retrieval": {"name": "none"},
            "model": {"provider": "rules", "name": "rules"},
            "embedding": {"name": "none"},
            "sandbox": {"backend": "auto", "timeout": 3},
            "out": str(tmp_path / "run"),
        }
        return validate(plain | changes)

    return make
