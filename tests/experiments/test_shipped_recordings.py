"""The recordings that ship: no prompt has changed since, and the tables of the README come out."""

import json

import pytest

from agents.models.recordings import SHIPPED
from experiments.run.__main__ import main

#: Of the 364 of the 82 questions of `live`.
LIVE = {
    "reflect retrieval=llm_doc": 364,
    "rag retrieval=llm_doc": 364,
    "single retrieval=none": 360,
    "single retrieval=none benchmark.level=goal": 362,
    "rag retrieval=llm_doc benchmark.level=goal": 359,
    "reflect retrieval=llm_doc benchmark.level=goal": 362,
}
_QM = "[operations,positions,k_points,topology,gap,settings,structure]"
_CURIE = (
    "[dft_s-sample_1,dft_p-sample_1,dft_c-sample_1,mpv-sample_1,hfd-sample_1,hfe-sample_1,"
    "qecc-sample_1,geo-sample_1,biogr-sample_2,pdb-sample_1]"
)
#: Forty documents are asked in the same place as twelve, so their replies lie apart.
FORTY = f"rag retrieval.k=40 model.recordings={SHIPPED / 'k40' / 'invented-levels.jsonl.gz'}"
_SEVEN = dict.fromkeys(("single", "rag", "agentic", "graphrag"), 0)
#: Invented worlds: properties, and how many of them each system passes.
WORLDS = {
    "seed=101 limit=20": (137, {**_SEVEN, "reflect": 137, "adaptive": 137, "tools": 135}),
    "level=1 seed=401 limit=10": (30, {"rag": 25, "reflect": 30, "adaptive": 30, "tools": 30}),
    "level=2 seed=402 limit=10":
        (36, {"rag": 17, "reflect": 36, "adaptive": 36, "tools": 36, FORTY: 25}),
    "level=4 seed=305 limit=10": (69, {"rag": 0, "adaptive": 69, "tools": 69}),
    "level=5 seed=405 limit=10": (68, {"rag": 0, "reflect": 68, "adaptive": 68, "tools": 68}),
    "seed=303 limit=5": (34, {"reflect": 34}),
    "seed=305 gap=2 limit=10": (69, {"reflect": 69}),
    "seed=325 level=4 limit=5": (34, {"reflect": 34}),
    "seed=306 size=1500 depth=7 breadth=40 limit=5": (35, {"reflect": 35}),
}  # fmt: skip
#: Other benchmarks: words, and how many replies are played. Prose has no verdict without a judge.
OTHERS = [
    ("system=single benchmark=atomworld benchmark.items=5", 50),
    ("system=tools benchmark=atomworld benchmark.items=5 benchmark.arm=tool", 69),
    (f"system=single benchmark=qmbench benchmark.items=4 benchmark.templates={_QM}", 28),
    (f"system=tools benchmark=qmbench benchmark.items=4 benchmark.templates={_QM}", 56),
    ("system=single benchmark=omnimatbench model.images=false", 30),
    ("system=code2 benchmark=omnimatbench model.images=false", 60),
    ("system=single benchmark=omnimatbench benchmark.split=qa", 5),
    (f"system=single benchmark=curie ids={_CURIE}", 10),
    (f"system=code2 benchmark=curie ids={_CURIE}", 20),
]


def right(folder):
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    return sum(sum(row["passed"].values()) for row in rows), sum(row["parts"] for row in rows)


@pytest.mark.long
@pytest.mark.parametrize(
    ("world", "system"), [(world, system) for world in WORLDS for system in WORLDS[world][1]]
)
def test_invented_worlds(world, system, tmp_path):
    # A traceback differs between patch releases of Python: what code printed was recorded under
    # bubblewrap, with the interpreter that runs this.
    common = "benchmark=invented model.strict=true sandbox=bubblewrap"
    words = [f"system={system}", common, world, f"out={tmp_path / 'run'}"]
    assert main(" ".join(words).split()) == 0
    properties, passed = WORLDS[world]
    assert right(tmp_path / "run") == (passed[system], properties)


@pytest.mark.long
@pytest.mark.parametrize("words", LIVE)
def test_live(words, tmp_path):
    assert main([*f"system={words} model.strict=true out={tmp_path / 'run'}".split()]) == 0
    assert right(tmp_path / "run") == (LIVE[words], 364)


@pytest.mark.long
@pytest.mark.parametrize(("words", "replies"), OTHERS)
def test_other_benchmarks(words, replies, tmp_path, capsys):
    common = f"retrieval=none model.strict=true sandbox=bubblewrap out={tmp_path / 'run'}"
    prose = "qmbench" in words or "split=qa" in words
    assert main(f"{words} {common}".split()) == prose
    assert f"all {replies} prompts as they were recorded" in capsys.readouterr().out
