from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.retrieval import PARTS, Taken, main, table


def test_a_ratio_is_that_of_processor_times() -> None:
    taken = {name: Taken(name, 9.0, 2.0, 100.0) for name in PARTS}
    taken["read"] = Taken("all symbols", 99.0, 5.0, 300.0)
    taken["queries"] = Taken("82 queries", 1.0, 3.0, 200.0, median=4.25, late=9.0)
    rows = {line.split(" | ")[0]: line for line in table(taken).splitlines()}
    assert rows["| all symbols"] == (
        "| all symbols | 99.00 | 5.00 | 300 |  | 2.5 | < 60 s, < 2000 MB |"
    )
    assert "| 4.2 (9.0) | 1.5 | < 20 ms |" in rows["| 82 queries"]
    assert rows["| ast"].endswith("|  |  |  |")


@pytest.mark.long
def test_every_part_is_measured_in_a_process_of_its_own(
    package: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    (package / "brickwork" / "broken.py").unlink()
    gold, out = tmp_path / "gold.jsonl", tmp_path / "bench.json"
    row = {"id": "1", "query": "volume of a wall", "gold": {"brickwork.wall.Wall": "class"}}
    gold.write_text(json.dumps(row) + "\n")
    given = ["read=brickwork", "packages=brickwork", f"site_packages={package}", "repeat=1"]
    assert main([*given, f"gold={gold}", f"out={out}"]) == 0
    rows = json.loads(out.read_text())
    assert set(rows) == set(PARTS)
    # the parts import different things: none shows the memory of the process that started it
    assert len({round(row["peak"]) for row in rows.values()}) > 1
    assert all(10 < row["peak"] < 5000 for row in rows.values())
    assert rows["read"]["what"].startswith("parse, call graph and order: ")
    assert rows["queries"]["what"] == "1 queries to retrieval=llm_doc"
    assert rows["queries"]["median"] > 0
    assert "| target |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["part=all"], "part=all: choose one of ast, read"),
        (["part=ast", "read=absent"], "no Python source under"),
        (["benchmark=absent", "part=queries"], "benchmark=absent: no such configuration"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, f"site_packages={package}"]) == 2
    assert message in capsys.readouterr().err
