"""The recordings that ship: no prompt has changed since, and the tables of the README come out."""

import json

import pytest
import yaml

from agents.models.recordings import SHIPPED
from experiments.command import main
from tests.support.paths import DATA

KNOWN = yaml.safe_load((DATA / "of_runs" / "recorded.yaml").read_text())
FORTY = f"rag retrieval.k=40 model.recordings={SHIPPED / 'k40' / 'invented-levels.jsonl.gz'}"


def right(folder):
    rows = [
        json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()
    ]
    return sum(sum(row["passed"].values()) for row in rows), sum(
        row["criteria"] for row in rows
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("world", "system"),
    [
        (world, one)
        for world, systems in KNOWN["worlds"].items()
        for one in systems
        if one != "of"
    ],
)
def test_invented_worlds(world, system, tmp_path):
    # A traceback differs between patch releases of Python: what code printed was recorded under
    # bubblewrap, with the interpreter that runs this.
    words = f"system={FORTY if system == 'FORTY' else system} {world} out={tmp_path / 'run'}"
    common = "benchmark=invented model.strict=true sandbox=bubblewrap"
    assert main(f"{common} {words}".split()) == 0
    known = KNOWN["worlds"][world]
    assert right(tmp_path / "run") == (known[system], known["of"])


@pytest.mark.long
@pytest.mark.parametrize("words", KNOWN["live"])
def test_live(words, tmp_path):
    assert (
        main([*f"system={words} model.strict=true out={tmp_path / 'run'}".split()]) == 0
    )
    assert right(tmp_path / "run") == (KNOWN["live"][words], 364)


@pytest.mark.long
@pytest.mark.parametrize(("words", "replies"), KNOWN["others"].items())
def test_other_benchmarks(words, replies, tmp_path, capsys):
    common = (
        f"retrieval=none model.strict=true sandbox=bubblewrap out={tmp_path / 'run'}"
    )
    prose = "qmbench" in words or "split=qa" in words
    assert main(f"{words} {common}".split()) == prose
    assert f"all {replies} prompts as they were recorded" in capsys.readouterr().out


@pytest.mark.long
def test_an_open_model_with_documents(tmp_path, capsys):
    words = (
        "benchmark=mattools_qa system=rag retrieval=code retrieval.k=3"
        " model.document_characters=800 limit=60 model=recorded model.strict=true"
        f" model.name=qwen2.5-coder-1.5b-instruct out={tmp_path / 'run'}"
    )
    assert main(words.split()) == 0
    assert right(tmp_path / "run") == (42, 60)
    assert "all 60 prompts as they were recorded" in capsys.readouterr().out
