"""The actions, their sentences, and the questions that are made of them."""

import json
from pathlib import Path

import numpy as np
import pytest

from agents.models.rules.atoms import parse
from experiments.benchmarks.atomworld.actions import ACTIONS, apply, rotation
from experiments.benchmarks.atomworld.benchmark import AtomWorldBenchmark, AtomWorldError
from experiments.benchmarks.atomworld.crystal import Crystal, CrystalError, read_cif
from experiments.benchmarks.atomworld.generate import generate
from experiments.benchmarks.atomworld.prototypes import PROTOTYPES

SHARED = Path(__file__).parents[4] / "shared" / "data" / "atomworld"
published = pytest.mark.skipif(not SHARED.is_dir(), reason=f"no published data at {SHARED.name}")


def crystal_of(plain):
    return Crystal(tuple(plain["cell"]), tuple(plain["species"]), np.array(plain["frac"], float))


def rows(name):
    return [json.loads(line) for line in (SHARED / name).read_text().splitlines()]


def told(item):
    return {name: value for name, value in item.given.items() if name != "ratio"}


@published
def test_published_targets_follow_from_the_sentences():
    for row in rows("actions_dev.jsonl"):
        action, given = parse(row["prompt"])
        assert action == row["action"]
        found = apply(action, crystal_of(row["before"]), given, "published")
        after = crystal_of(row["after"])
        assert found.species == after.species, row["id"]
        away = found.fractions - after.fractions
        worst = np.abs(away - np.round(away)).max()
        # a published insertion is at an unrounded distance
        assert worst < (7.9e-4 if action == "insert_between" else 1.6e-4), row["id"]


@published
def test_pointworld_rotates_twice():
    for row in rows("pointworld_rotate_recorded_5.jsonl"):
        centre = np.array(row["before"][row["center"]])
        points = np.array(row["before"])
        turned = rotation(np.array(row["axis"], float), 2 * row["angle_deg"])
        found = centre + (points - centre) @ turned.T
        assert np.abs(found - row["recorded_target"]).max() < 0.011


def test_the_frame_is_that_of_ase():
    skewed = Crystal((4.0, 5.0, 6.0, 80.0, 95.0, 110.0), ("Na",), np.array([[0.1, 0.2, 0.3]]))
    a, b, c = skewed.lattice
    assert a[1:].tolist() == [0, 0]
    assert b[2] == 0
    assert np.linalg.norm(c) == pytest.approx(6.0)
    cosine = a @ c / np.linalg.norm(a) / np.linalg.norm(c)
    assert np.degrees(np.arccos(cosine)) == pytest.approx(95.0)


@pytest.mark.parametrize("prototype", PROTOTYPES, ids=lambda p: p.name)
def test_the_shortest_bond_of_a_prototype_is_the_one_asked_for(prototype):
    made = prototype.crystal(("Na", "Cl", "O")[: len(prototype.sites)], 2.0)
    images = np.array(list(np.ndindex(3, 3, 3))) - 1
    around = (made.fractions[None] - made.fractions[:, None])[:, :, None] + images
    lengths = np.linalg.norm(around @ made.lattice, axis=3)
    assert lengths[lengths > 1e-6].min() == pytest.approx(2.0, abs=5e-3)


@pytest.mark.parametrize("wording", ["own", "published"])
def test_the_parser_reads_every_sentence_that_it_should(wording):
    items = generate(seed=3, items=25, wording=wording)
    assert {item.action for item in items} == set(ACTIONS)
    for item in items:
        assert parse(item.sentence) == (item.action, told(item)), item.sentence


def test_paraphrases_are_unknown_to_the_parser():
    items = generate(seed=3, items=9, wording="paraphrase")
    assert not any(parse(item.sentence) for item in items)
    assert len({item.sentence.split()[0] for item in items}) > 10


def test_questions_follow_from_the_seed_alone():
    one, same, other = (AtomWorldBenchmark(seed=seed, items=3).load() for seed in (5, 5, 6))
    prompts = [sample.question.prompt for sample in one]
    assert prompts == [sample.question.prompt for sample in same]
    assert not set(prompts) & {sample.question.prompt for sample in other}
    assert [s.target for s in one] == [s.target for s in same]


def test_an_unambiguous_question_has_one_target():
    items = generate(seed=4, items=12, unambiguous=True)
    assert len(items) > 60
    for item in items:
        away = item.literal.fractions - item.published.fractions
        assert item.literal.species == item.published.species
        assert np.abs((away - np.round(away)) @ item.literal.lattice).max() < 0.006


def test_chains_and_sizes():
    items = generate(seed=1, items=4, actions=["add"], chain=3, sizes=[8, 40])
    assert all(item.sentence.count(" Then: ") == 2 for item in items)
    assert generate(seed=1, items=4, actions=["add"], chain=3, unambiguous=True)
    assert sorted(len(item.before.species) > 16 for item in items).count(True) >= 2


def test_a_cif_is_read_as_it_was_written():
    (item, *_) = generate(seed=2, items=1)
    text = item.before.to_cif()
    found = read_cif(text)
    assert found.species == item.before.species
    assert np.abs(found.fractions - item.before.fractions).max() < 1e-6
    for broken in ("", text.replace("_cell_length_a", "_x"), text.partition("loop_")[0]):
        with pytest.raises(CrystalError):
            read_cif(broken)


def test_published_data_that_are_not_there(tmp_path):
    with pytest.raises(AtomWorldError, match="path=CHECKOUT"):
        AtomWorldBenchmark(source="published").load()
    with pytest.raises(AtomWorldError, match="checkout of AtomWorldBench"):
        AtomWorldBenchmark(source="published", path=str(tmp_path)).load()
    with pytest.raises(AtomWorldError, match="arm=x: choose one of"):
        AtomWorldBenchmark(arm="x")


def test_published_data_keep_their_prompt_and_their_target(tmp_path):
    (item,) = generate(seed=2, items=1, actions=["move"], wording="published")
    folder = tmp_path / "data" / "simple"
    folder.mkdir(parents=True)
    row = {"problem_id": 7, "mp_id": "mp-1", "action_prompt": item.sentence,
           "input": item.before.to_cif(4), "output": item.published.to_cif(4)}  # fmt: skip
    (folder / "MoveAtomAction.json").write_text(json.dumps([row]))
    benchmark = AtomWorldBenchmark(source="published", path=str(tmp_path), actions=["move"])
    (sample,) = benchmark.load()
    assert sample.question.id == "move-7"
    assert item.sentence in sample.question.prompt
    assert "along x" not in sample.question.prompt
    assert sample.labels["frame"] == "not stated"
    literal, given = (np.array(sample.target[t]["fractions"]) for t in ("literal", "published"))
    assert np.abs(literal - given).max() < 1e-3
