"""The recordings that ship: no prompt has changed since, and the tables of the README come out."""

import json

import pytest

from agents.models.recordings import SHIPPED
from experiments.run.__main__ import main

#: System: properties right, of the 137 of twenty questions about one invented world.
WORLD = dict.fromkeys(("single", "rag", "agentic", "graphrag"), 0)
WORLD |= {"reflect": 137, "adaptive": 137, "tools": 135}
#: Other worlds: properties right of how many, with `reflect`.
WORLDS = [
    ("benchmark.seed=303 limit=5", 34, 34),
    ("benchmark.seed=305 benchmark.gap=2 limit=10", 69, 69),
    ("benchmark.seed=325 benchmark.level=4 limit=5", 34, 34),
    (
        "benchmark.seed=306 benchmark.size=1500 benchmark.depth=7 benchmark.breadth=40 limit=5",
        35,
        35,
    ),
]
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
#: Level: seed, questions, properties, how many of them a system passes. Level 3 is `WORLD`.
LEVELS = {
    1: (401, 10, 30, {"rag": 25, "reflect": 30, "adaptive": 30, "tools": 30}),
    2: (402, 10, 36, {"rag": 17, "reflect": 36, "adaptive": 36, "tools": 36, FORTY: 25}),
    4: (305, 10, 69, {"rag": 0, "adaptive": 69, "tools": 69}),
    5: (405, 10, 68, {"rag": 0, "reflect": 68, "adaptive": 68, "tools": 68}),
}
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
@pytest.mark.parametrize("system", WORLD)
def test_the_invented_world(system, tmp_path):
    # A traceback differs between patch releases of Python: what code printed was recorded under
    # bubblewrap, with the interpreter that runs this.
    words = ["benchmark=invented", "benchmark.seed=101", "limit=20", "model.strict=true"]
    words.append("sandbox=bubblewrap")
    assert main([f"system={system}", *words, f"out={tmp_path / 'run'}"]) == 0
    assert right(tmp_path / "run") == (WORLD[system], 137)


@pytest.mark.long
@pytest.mark.parametrize(("words", "passed", "of"), WORLDS)
def test_other_worlds(words, passed, of, tmp_path):
    common = ["system=reflect", "benchmark=invented", "model.strict=true"]
    out = f"out={tmp_path / 'run'}"
    assert main([*common, *words.split(), "sandbox=bubblewrap", out]) == 0
    assert right(tmp_path / "run") == (passed, of)


@pytest.mark.long
@pytest.mark.parametrize(
    ("level", "system"), [(level, system) for level in LEVELS for system in LEVELS[level][3]]
)
def test_levels(level, system, tmp_path):
    seed, limit, of, passed = LEVELS[level]
    words = f"benchmark.level={level} benchmark.seed={seed} limit={limit} model.strict=true"
    common = ["benchmark=invented", "sandbox=bubblewrap", f"out={tmp_path / 'run'}"]
    assert main([*f"system={system}".split(), *common, *words.split()]) == 0
    assert right(tmp_path / "run") == (passed[system], of)


@pytest.mark.long
@pytest.mark.parametrize("words", LIVE)
def test_live(words, tmp_path):
    assert main([*f"system={words} model.strict=true out={tmp_path / 'run'}".split()]) == 0
    assert right(tmp_path / "run") == (LIVE[words], 364)


@pytest.mark.long
@pytest.mark.parametrize(("words", "replies"), OTHERS)
def test_other_benchmarks(words, replies, tmp_path, capsys):
    common = [
        "retrieval=none",
        "model.strict=true",
        "sandbox=bubblewrap",
        f"out={tmp_path / 'run'}",
    ]
    prose = "qmbench" in words or "split=qa" in words
    assert main([*words.split(), *common]) == prose
    assert f"all {replies} prompts as they were recorded" in capsys.readouterr().out
