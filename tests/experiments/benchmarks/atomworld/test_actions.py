"""The actions, their sentences, and the questions that are made of them."""

import itertools
import json
from collections import Counter

import numpy as np
import pytest
from pymatgen.core import Lattice
from scipy.spatial.transform import Rotation

from experiments.benchmarks.atomworld.actions import ACTIONS, act, parse
from experiments.benchmarks.atomworld.benchmark import AtomWorldBenchmark
from experiments.benchmarks.atomworld.crystal import PROTOTYPES, Crystal, read_cif
from experiments.benchmarks.atomworld.generate import generate
from tests.support.crystals import crystal_of, published, rows


@published
def test_published_targets_follow_from_the_sentences():
    for row in rows("actions_dev.jsonl"):
        action, given = parse(row["prompt"])
        assert action == row["action"]
        found = act(action, crystal_of(row["before"]), given, "published")
        after = crystal_of(row["after"])
        assert found.species == after.species, row["id"]
        away = found.fractions - after.fractions
        worst = np.abs(away - np.round(away)).max()
        # a published insertion is at an unrounded distance
        assert worst < (7.9e-4 if action == "insert_between" else 1.6e-4), row["id"]


@pytest.mark.parametrize("prototype", PROTOTYPES, ids=lambda p: p.name)
def test_the_shortest_bond_of_a_prototype_is_the_one_asked_for(prototype):
    made = prototype.crystal(("Na", "Cl", "O")[: len(prototype.sites)], 2.0)
    images = np.array(list(np.ndindex(3, 3, 3))) - 1
    around = (made.fractions[None] - made.fractions[:, None])[:, :, None] + images
    lengths = np.linalg.norm(around @ made.lattice.matrix, axis=3)
    assert lengths[lengths > 1e-6].min() == pytest.approx(2.0, abs=5e-3)


@pytest.mark.parametrize("wording", ["own", "published", "paraphrase"])
def test_the_parser_reads_every_sentence_that_it_should(wording):
    items = generate(seed=3, items=25, wording=wording)
    if wording == "paraphrase":
        assert not any(parse(item.sentence) for item in items)
        assert len({item.sentence.split()[0] for item in items}) > 10
        return
    assert {item.action for item in items} == set(ACTIONS)
    for item in items:
        told = {name: value for name, value in item.given.items() if name != "ratio"}
        assert parse(item.sentence) == (item.action, told), item.sentence


IMAGES = np.array(list(itertools.product(range(-3, 4), repeat=3)))
COMBINATIONS = 64


def places(item, at, lattice):
    """For each row that moves or comes: where to, by any image that may be meant.

    Between two atoms the listed image or any that is about the nearest, around an atom the listed
    image of a neighbour or any within the radius.
    """
    given, listed = item.given, (IMAGES == 0).all(axis=1)
    if item.action in {"move_towards", "insert_between"}:
        one, two = given["index1"], given["index2"]
        ways = at[two] - at[one] + IMAGES @ lattice
        lengths = np.linalg.norm(ways, axis=1)
        meant = (lengths < lengths.min() + 0.04) | listed
        moving = one if item.action == "move_towards" else len(at)
        return {moving: at[one] + given["distance"] * (ways / lengths[:, None])[meant]}
    if item.action == "move":
        return {given["index"]: [at[given["index"]] + given["vector"]]}
    if item.action != "rotate_around":
        return {}
    centre, found = given["index"], {}
    turn = Rotation.from_rotvec(np.array(given["axis"]) * given["angle"], degrees=True)
    for row in range(len(at)):
        ways = at[row] - at[centre] + IMAGES @ lattice
        near = np.linalg.norm(ways, axis=1) < given["radius"]
        if near.any() and (row != centre or near.sum() > 1):
            found[row] = at[centre] + turn.apply(ways[near | listed])
    return found


def solutions(item):
    """Structures after an action, by the sentence alone, for choices of images."""
    cell, given, species = (
        np.array(item.before.cell),
        item.given,
        list(item.before.species),
    )
    lattice = Lattice.from_parameters(*cell, vesta=True).matrix
    at = item.before.fractions @ lattice
    moving = places(item, at, lattice)
    match item.action:
        case "add":
            species, at = [*species, given["symbol"]], np.vstack([at, given["vector"]])
        case "insert_between":
            species, at = [*species, given["symbol"]], np.vstack([at, np.zeros(3)])
        case "change":
            species[given["index"]] = given["symbol"]
        case "swap":
            one, two = given["index1"], given["index2"]
            species[one], species[two] = species[two], species[one]
        case "remove":
            species, at = species[:], np.delete(at, given["index"], axis=0)
            del species[given["index"]]
        case "delete_below":
            above = at[:, 2] - at[given["index"], 2] > (
                1e-3 if given["inclusive"] else -1e-3
            )
            species, at = (
                [s for s, stays in zip(species, above, strict=True) if stays],
                at[above],
            )
        case "super_cell":
            at = np.vstack([at + n @ lattice for n in np.ndindex(*given["counts"])])
            species, cell[:3] = (
                species * np.prod(given["counts"]),
                cell[:3] * given["counts"],
            )
            lattice = lattice * np.array(given["counts"])[:, None]
    for chosen in itertools.islice(itertools.product(*moving.values()), COMBINATIONS):
        solved = at.copy()
        for row, place in zip(moving, chosen, strict=True):
            solved[row] = place
        yield Crystal(tuple(cell), tuple(species), solved @ np.linalg.inv(lattice))


def agrees(item):
    """Whether every choice of images is the target, to 0.02 Å."""
    return all(
        Counter(found.species) == Counter(item.literal.species)
        and not found.unlike(item.literal, 0.02) + item.literal.unlike(found, 0.02)
        for found in solutions(item)
    )


def test_every_question_of_the_default_set_has_one_answer():
    items = generate(seed=1, items=100)
    assert Counter(item.action for item in items) == dict.fromkeys(ACTIONS, 100)
    assert [item.sentence for item in items if not agrees(item)] == []
    sizes = [len(item.before.species) for item in items]
    assert (min(sizes), max(sizes) <= 64, np.median(sizes) >= 10) == (8, True, True)
    # Without that demand many have several.
    items = generate(seed=1, items=100, unambiguous=False, sizes=())
    found = Counter(item.action for item in items if not agrees(item))
    assert set(found) == {"move_towards", "insert_between", "rotate_around"}
    assert min(found.values()) > 60


@pytest.mark.filterwarnings("ignore:Issues encountered")
def test_structures_of_a_folder(tmp_path):
    made = generate(seed=2, items=2, actions=["add"])
    for item, name in zip(made, ["a.cif", "b.cif"], strict=True):
        (tmp_path / name).write_text(item.before.to_cif())
    samples = AtomWorldBenchmark(
        structures=str(tmp_path), items=3, actions=["move"]
    ).load()
    assert [sample.labels["structure"] for sample in samples] == [
        "a.cif",
        "b.cif",
        "a.cif",
    ]
    assert sorted(samples[0].target["before"]["species"]) == sorted(
        made[0].before.species
    )
    assert len({sample.question.prompt for sample in samples}) == 3


def test_a_cif_is_read_as_it_was_written():
    (item, *_) = generate(seed=2, items=1)
    text = item.before.to_cif()
    found = read_cif(text)
    assert found.species == item.before.species
    assert np.abs(found.fractions - item.before.fractions).max() < 1e-6
    for broken in (
        "",
        text.replace("_cell_length_a", "_x"),
        text.partition("loop_")[0],
    ):
        with pytest.raises(ValueError, match="no readable cell"):
            read_cif(broken)


def test_published_data_keep_their_prompt_and_their_target(tmp_path):
    (item,) = generate(seed=2, items=1, actions=["move"], wording="published")
    folder = tmp_path / "data" / "simple"
    folder.mkdir(parents=True)
    row = {
        "problem_id": 7,
        "mp_id": "mp-1",
        "action_prompt": item.sentence,
        "input": item.before.to_cif(4),
        "output": item.published.to_cif(4),
    }
    (folder / "MoveAtomAction.json").write_text(json.dumps([row]))
    benchmark = AtomWorldBenchmark(
        source="published", path=str(tmp_path), actions=["move"]
    )
    (sample,) = benchmark.load()
    prompt = sample.question.prompt
    assert (sample.question.id, sample.labels["frame"]) == ("move-7", "not stated")
    assert prompt.endswith(item.sentence)
    assert "indices of atoms start from 0" in prompt
    assert "along x" not in prompt + sample.question.answer.instruction
    literal, given = (
        np.array(sample.target[t]["fractions"]) for t in ("literal", "published")
    )
    assert np.abs(literal - given).max() < 1e-3
