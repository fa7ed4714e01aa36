"""Many worlds through all gates, as far as it needs no sandbox."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.benchmarks.invented import sweep
from experiments.benchmarks.invented.knobs import Knobs
from experiments.benchmarks.invented.questions import WorldError


def test_a_sweep_keeps_what_is_proven_and_tells_what_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[int] = []

    def prove(knobs: Knobs, out: Path, *, backend: str) -> tuple[None, int]:
        asked.append(knobs.seed)
        if knobs.seed == 2:
            raise WorldError("a planted fault")
        return None, 700 + knobs.seed

    monkeypatch.setattr(sweep, "prove", prove)
    out = tmp_path / "sweep.jsonl"
    assert sweep.main([f"out={out}", "seeds=3", "kinds=60/2"]) == 1
    told = capsys.readouterr().out
    assert "60/2, seed 2: a planted fault" in told
    assert "60/2: 2 of 3 passed; medians: properties" in told
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["mistakes"] for row in rows] == [701, None, 703]
    assert len({row["digest"] for row in rows}) == 3

    out.write_text("".join(f"{json.dumps(row)}\n" for row in rows if row["seed"] != 2))

    def mended(knobs: Knobs, out: Path, *, backend: str) -> tuple[None, int]:
        asked.append(knobs.seed + 10)
        return None, 702

    monkeypatch.setattr(sweep, "prove", mended)
    assert sweep.main([f"out={out}", "seeds=3", "kinds=60/2"]) == 0
    assert asked == [1, 2, 3, 12]  # only what does not stand there
    assert "3 of 3 passed" in capsys.readouterr().out


def test_a_kind_that_is_none_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep.main([f"out={tmp_path / 'x'}", "kinds=60"]) == 2
    assert "kinds=60: give SIZE/DEPTH" in capsys.readouterr().err
