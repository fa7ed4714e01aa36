import json

import pytest

from tests.bench.retrieval import PARTS, Taken, main, table


def test_a_ratio_is_that_of_processor_times():
    taken = {name: Taken(name, 9.0, 2.0, 100.0) for name in PARTS}
    taken["read"] = Taken("all symbols", 99.0, 5.0, 300.0)
    taken["queries"] = Taken("82 queries", 1.0, 3.0, 200.0, (4.25, 4.25, 9.0))
    rows = {line.split(" | ")[0]: line for line in table(taken).splitlines()}
    assert rows["| all symbols"] == (
        "| all symbols | 99.00 | 5.00 | 300 |  | 2.5 | < 60 s, < 2000 MB |"
    )
    assert "| 4.2 (8.5) | 1.5 | < 20 ms |" in rows["| 82 queries"]
    assert rows["| ast"].endswith("|  |  |  |")


@pytest.mark.long
def test_every_part_is_measured_in_a_process_of_its_own(package, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    (package / "brickwork" / "broken.py").unlink()
    gold = tmp_path / "gold.jsonl"
    row = {"id": "1", "query": "volume of a wall", "gold": {"brickwork.wall.Wall": "class"}}
    gold.write_text(json.dumps(row) + "\n")
    given = ["packages=brickwork", f"site_packages={package}", "repeat=1", f"gold={gold}"]
    assert main([*given, "read=brickwork"]) == 0
    _, _, *lines = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert len(rows) == len(PARTS)
    # the parts import different things: none shows the memory of the process that started it
    assert len({peak for _, _, _, peak, *_ in rows}) > 1
    assert all(10 < float(peak) < 5000 for _, _, _, peak, *_ in rows)
    assert rows[1][0].startswith("parse, call graph and order: ")
    assert rows[-1][0] == "1 queries to retrieval=llm_doc"
    assert float(rows[-1][4].split()[0]) > 0
    assert main([*given, "read=absent"]) == 2
    assert "no Python source under" in capsys.readouterr().err


def test_a_mistake_is_one_line(package, capsys):
    assert main(["benchmark=absent", f"site_packages={package}"]) == 2
    assert "benchmark=absent: no such choice" in capsys.readouterr().err
