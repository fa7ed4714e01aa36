"""Made papers: their golds, lengths and places; what two seeds, prompts and files share."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from agents.base import Image
from agents.models.rules.papers import box, sequence
from experiments.benchmarks.curie.archive import CurieError, gold
from experiments.benchmarks.curie.benchmark import CurieBenchmark
from experiments.benchmarks.curie.generate import generate
from experiments.benchmarks.curie.marks import Box, read_box
from experiments.benchmarks.curie.tasks import NAMES, TASKS
from experiments.benchmarks.curie.theory import _families

DOMAINS = tuple(dict.fromkeys(task.domain for task in TASKS))


def papers(seed=1, items=4, words=(1000,), domains=DOMAINS, **more):
    return list(generate(seed=seed, items=items, words=words, domains=domains, **more))


def text_of(value):
    return json.dumps(value, ensure_ascii=False)


def test_every_task_has_its_items_and_labels():
    samples = CurieBenchmark(items=2, words=(1000, 3000)).load()
    counts = {name: sum(s.labels["task"] == name for s in samples) for name in NAMES}
    assert counts == {name: 2 if name == "biogr" else 4 for name in NAMES}
    assert len({s.question.id for s in samples}) == len(samples)
    assert {s.labels["task"] for s in samples[:10]} == set(NAMES)  # a limit covers all
    assert all(s.unavailable is None and s.cluster for s in samples)


def test_the_same_seed_makes_the_same_papers_and_another_shares_none():
    one, again, other = papers(), papers(), papers(seed=2)
    assert [(p.id, p.text, p.record) for p in one] == [(p.id, p.text, p.record) for p in again]
    golds = {text_of(gold(t, p.record)) for p in one for t in TASKS if t.domain == p.domain}
    others = {text_of(gold(t, p.record)) for p in other for t in TASKS if t.domain == p.domain}
    assert not golds & others
    assert len(golds) == 4 * len(NAMES)
    assert not {p.text for p in one} & {p.text for p in other}


def test_lengths_are_kept_and_the_facts_with_them():
    made = papers(items=1, words=(1000, 8000, 32000))
    for paper in made:
        if paper.domain != "biogr":
            wanted = int(paper.labels["words"])
            assert wanted * 0.9 < len(paper.text.split()) < wanted * 1.25
    by_domain = {d: [p for p in made if p.domain == d] for d in DOMAINS}
    for domain, versions in by_domain.items():
        assert len({p.cluster for p in versions}) == 1
        for short, long in pairwise(versions):
            if domain == "pdb":
                assert long.record["sequence"].startswith(short.record["sequence"])
            else:
                assert (short.record, short.evidence) == (long.record, long.evidence)


@pytest.mark.parametrize(("position", "lowest", "highest"), [
    ("front", 0.0, 0.2), ("middle", 0.35, 0.65), ("end", 0.8, 1.0), ("spread", 0.05, 0.98),
])  # fmt: skip
def test_the_evidence_stands_where_its_label_says(position, lowest, highest):
    for paper in papers(words=(8000,), positions=(position,)):
        if paper.domain in {"biogr", "pdb"}:
            continue
        assert paper.labels["position"] == position
        places = [paper.text.index(passage) / len(paper.text) for passage in paper.evidence]
        assert places == sorted(places)
        assert lowest <= places[0]
        assert places[-1] <= highest
        if position == "spread":
            assert places[-1] - places[0] > 0.4


def test_codes_have_the_parameters_of_their_families():
    known = {"toric": (18, 2, 3), "rotated surface": (9, 1, 3), "quantum Hamming": (7, 1, 3),
             "quantum Reed-Muller": (7, 1, 3), "hypergraph product": (13, 1, 3),
             "quantum repetition": (3, 1, 1)}  # fmt: skip
    assert {name: (n, k, d) for name, n, k, d, _ in _families(3)} == known


def test_every_number_of_the_gold_is_in_its_paper():
    for paper in papers(domains=("mpve", "geo")):
        text = paper.text
        if paper.domain == "mpve":
            for entry in paper.record:
                assert entry["low_value"] in text
                assert entry["high_value"] in text
        else:
            variables = [v for d in paper.record["datasets"] for v in d["variables"]]
            dates = [date for v in variables for r in v["time_range"] for date in r.values()]
            assert all(date in text for date in dates)


def test_property_values_have_three_variants():
    (task,) = (t for t in TASKS if t.name == "mpv")
    fewer = 0
    for paper in papers(domains=("mpve",), items=8):
        every, useful, specific = (
            gold(task, paper.record, v) for v in ("all", "non_trivial", "specific")
        )
        assert {e["property_name"] for e in specific} <= {"band gap", "refractive index"}
        assert not {e["property_name"] for e in useful} & {"thickness", "annealing temperature"}
        fewer += len(every) > len(useful)
    assert fewer


def test_a_gold_is_neither_in_a_prompt_nor_in_a_file():
    for arm in ("direct", "retrieval", "tool"):
        for sample in CurieBenchmark(arm=arm, items=3, words=(1000,)).load():
            question, target = sample.question, sample.target
            shown = [question.prompt, *(p.text for p in question.parts if hasattr(p, "text"))]
            files = [Path(path).read_bytes() for path in question.mounts.values()]
            for held in (text_of(target["gold"]), target["clean"]):
                assert not any(held in text for text in shown)
                assert not any(held.encode() in data for data in files)
            assert bool(files) is (arm == "tool")


def test_images_have_stable_keys():
    one, two = (
        [p.image for p in papers(domains=("biogr",), seed=seed) if p.image] for seed in (1, 2)
    )
    assert len(one) == 4
    assert not {i.key for i in one} & {i.key for i in two}
    assert all(isinstance(i, Image) and i.data.startswith(b"\x89PNG") for i in one)


def test_maps_read_without_a_model():
    ticks, caption, dateline, _ = papers(domains=("biogr",))
    assert box(ticks.text) == box(dateline.text) == ""
    assert read_box(json.loads(box(caption.text))) == read_box(caption.record)
    assert dateline.record["W"] > dateline.record["E"]
    for paper in (ticks, caption, dateline):
        found = read_box(paper.record)
        assert isinstance(found, Box)
        assert 0 < found.area < 600


def test_sequences_read_without_a_model():
    traps = set()
    for paper in papers(domains=("pdb",), words=(1000, 8000)):
        assert sequence(paper.text) == ">chain\n" + paper.record["sequence"]
        assert 20 <= len(paper.record["sequence"]) <= 200
        assert "SEQRES" not in paper.text
        atoms = [line for line in paper.text.splitlines() if line.startswith("ATOM")]
        numbers = list(dict.fromkeys(int(line[22:26]) for line in atoms))
        traps |= {"gap"} if numbers[-1] - numbers[0] >= len(numbers) else set()
        traps |= {"twice"} if any(line[16] == "B" for line in atoms) else set()
        traps |= {"unknown"} if "X" in paper.record["sequence"] else set()
        assert all(float(line[30:38]) < 1000 for line in atoms)
    assert traps == {"gap", "twice", "unknown"}


@pytest.mark.parametrize(("options", "said"), [
    ({"source": "else"}, "source=else"), ({"tasks": ("dft",)}, "tasks=dft"),
    ({"words": (5,)}, "words"), ({"positions": ()}, "positions"),
    ({"prompts": "published"}, "prompts=published belongs to"), ({"arm": "x"}, "arm=x"),
])  # fmt: skip
def test_a_wrong_option_is_one_line(options, said):
    with pytest.raises(CurieError, match=said) as caught:
        CurieBenchmark(**options)
    assert "\n" not in str(caught.value)


def test_extracts_hold_the_evidence_or_say_how_much_of_it():
    samples = CurieBenchmark(arm="retrieval", items=2, words=(8000,), tasks=("mpv", "dft_s")).load()
    for sample in samples:
        (shown,) = (p.text for p in sample.question.parts)
        assert len(shown) < 14_000
        assert 0 <= sample.target["evidence"] <= 1
        assert len(sample.target["shown"]) == 12
    assert max(s.target["evidence"] for s in samples) > 0.5
