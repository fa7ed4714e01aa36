"""``python -m docgen`` as a user runs it, by facts and against an HTTP endpoint."""

from docgen.__main__ import main
from docgen.texts import VERSION
from tests.docgen.documenting import arguments, rows


def test_facts_document_a_package(package, tmp_path, capsys):
    out = tmp_path / "docs.jsonl"
    assert main(["package=brickwork", f"folder={package}", f"out={out}"]) == 0
    written = rows(out)
    wall = written["brickwork.wall.Wall"]
    assert wall["package"] == "brickwork-dist"
    assert wall["version"] == "1.2"
    assert (wall["writer"], wall["prompt"]) == ("facts", VERSION)
    source = (package / "brickwork/wall.py").read_text().splitlines()
    first, last = wall["lines"]
    assert source[first - 1] == "class Wall:"
    assert source[last - 1].strip() == "def _secret(self): ..."
    assert "\n---\n## What it does\n" in str(wall["text"])
    printed = capsys.readouterr().out
    assert f"{len(written)} of {len(written)} symbols documented" in printed
    assert "not Python, left out: brickwork/broken.py" in printed
    assert "brickwork.wall.Wall._secret" not in written


def test_an_upgrade_writes_what_changed_and_says_so(package, tmp_path, endpoint, capsys):
    command = arguments(package, tmp_path / "docs.jsonl", endpoint.url)
    main(command)
    before = rows(tmp_path / "docs.jsonl")
    wall = package / "brickwork/wall.py"
    wall.write_text(wall.read_text().replace("one * courses", "courses * one"))
    metadata = package / "brickwork-1.2.dist-info/METADATA"
    metadata.write_text(metadata.read_text().replace("1.2", "1.3"))
    capsys.readouterr()
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "1 written" in printed
    assert "changed since they were last written: brickwork.wall.Wall.volume\n" in printed
    after = rows(tmp_path / "docs.jsonl")
    assert {r["version"] for r in after.values() if r["package"] == "brickwork-dist"} == {"1.3"}
    changed = {n for n in after if after[n]["source_hash"] != before[n]["source_hash"]}
    assert changed == {"brickwork.wall.Wall.volume"}
