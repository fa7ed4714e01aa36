"""The grader in its sandbox: ROUGE, sequences, terms, and reading what models write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

DATA = Path(__file__).parents[4] / "shared" / "data" / "curie"
published = pytest.mark.skipif(not DATA.is_dir(), reason="the published data are not here")
FIRST, SECOND = "the band gap is 1.5 eV", "it was measured at 300 K"


@pytest.mark.parametrize(
    ("reference", "prediction", "score"),
    [
        (f"{FIRST} . {SECOND}", FIRST, 70.0),
        (f"{FIRST} . {SECOND}", f"{SECOND} . {FIRST}", 100.0),  # sentences may change places
        (f"{FIRST} {SECOND}", f"{SECOND} {FIRST}", 53.85),  # but not within one
        (FIRST, "", 0.0),
        ("Ångström", "Ångström", 100.0),
    ],
)
async def test_rouge(call, reference, prediction, score):
    assert 100 * await call("rouge", reference, prediction) == pytest.approx(score, abs=0.005)


async def test_the_authors_reference_is_in_ascii(call):
    said = await call("judge", "Ångström cell", "text", "Ångström cell", {"x": "Ångström cell"})
    assert 100 * said["rouge_published"] == pytest.approx(28.57, abs=0.005)
    assert said["rouge"] == 1.0


@published
async def test_the_recorded_sequence(call):
    recorded = json.loads((DATA / "pdb_recorded.json").read_text())["pdb_1CTF"]
    gold, found = recorded["ground_truth"], recorded["gemini15pro"]
    said = await call("sequence", gold, f">1CTF\n{found}")
    assert said["identity"] == pytest.approx(43 / 89)
    one, two = said["rows"]
    assert (sum(a == b for a, b in zip(one, two, strict=True)), len(one)) == (43, 89)
    # Another of the best alignments is 90 long: the published figure.
    assert recorded["published"]["gemini15pro"] == pytest.approx(43 / 90, abs=5e-4)
    rows = await call("aligned", gold, found, -1.0)
    same = sum(a == b for a, b in zip(*rows, strict=True))
    assert same / len(rows[0]) == pytest.approx(0.3514, abs=5e-5)


async def test_gaps_cost_nothing_whatever_the_library_defaults_to(call):
    said = await call("sequence", "ACDEF", ">x\nADF")
    assert said["identity"] == pytest.approx(3 / 5)
    assert said["rows"] == ["ACDEF", "A-D-F"]


@pytest.mark.parametrize(
    ("answer", "ours", "theirs"),
    [
        (">x\nACDEFGHIKL", 1.0, 1.0),
        (">x\nACDEF\nGHIKL", 1.0, 0.5),  # a wrapped sequence loses its end
        ("```fasta\n>x\nACDEFGHIKL\n```", 1.0, 1.0),
        ("Here it is:\n>x\nacdefghikl\n\nAll residues were read.", 1.0, 1.0),
        ("ACDEFGHIKL", 1.0, 1.0),
        ("I cannot tell.", 0.0, 0.0),
        (">x", 0.0, 0.0),
        ("import os\nprint('>x'); print('ACDEFGHIKL')", 0.0, 0.0),
    ],
)
async def test_reading_fasta(call, answer, ours, theirs):
    said = await call("judge_sequence", "ACDEFGHIKL", answer)
    assert (said["identity"], said["identity_published"]) == (ours, theirs)


async def test_a_prediction_is_cut_at_ten_times_the_gold(call):
    said = await call("judge_sequence", "ACDE", ">x\n" + "W" * 500_000 + "ACDE")
    assert said["identity"] == 0.0
    assert len(said["rows"][0]) <= 44


@pytest.mark.parametrize(
    ("answer", "value", "status"),
    [
        ('[{"a": 1}]', [{"a": 1}], "strict"),
        ('Sure:\n```json\n[{"a": 1}]\n```\nDone.', [{"a": 1}], "strict"),
        ('The list is [{"a": 1}] as asked.', [{"a": 1}], "repaired"),
        ("[{'a': True, 'b': None}]", [{"a": True, "b": None}], "strict"),
        ("[{a: 1, b: .5,},] // lax", [{"a": 1, "b": 0.5}], "strict"),
        ('[{"a": 1}, {"b": [1, 2]}, {"c": 3', [{"a": 1}, {"b": [1, 2]}], "repaired"),
        ('{"a": [1, 2], "b": "cut', {"a": [1, 2]}, "repaired"),
        ('[{"a": NaN}]', [{"a": None}], "strict"),
        ("no list at all", None, "error"),
        ("[", None, "error"),
        ('["]", {"a": "}"}]', ["]", {"a": "}"}], "strict"),
    ],
)
async def test_reading_json(call, answer, value, status):
    assert tuple(await call("read_json", answer)) == (value, status)


@pytest.mark.parametrize(
    "answer",
    ["[" * 200_000, '{"a":' * 100_000, "(" * 90_000, '[{"a": 1e999999999}]', "[1" * 30_000,
     "[" + "'\\" * 100_000, "__import__('os').system('true')", "[x for x in range(9)]"],
)  # fmt: skip
async def test_hostile_answers_are_data(call, answer):
    said = await call("judge", answer, "json", '[{"a": 1}]', {})
    assert said is not None
    assert not isinstance(said["value"], dict)
    assert said["rouge"] < 1


async def test_pages_of_anything_are_not_compared(call):
    said = await call("judge", "word " * 150_000, "text", "word", {"x": "word"})
    assert (said["error"], said["rouge"], said["rouge_published"]) == ("too_long", 0.0, 0.0)
    assert (await call("judge", "x" * 2_000_000, "text", "x", {}))["error"] == "too_long"


HAMILTONIAN = (
    r"H = -t \sum_{\langle i,j \rangle s} ( c_{is}^{\dagger} c_{js} + h.c. ) + U \sum_{i} "
    r"\langle n_{i} \rangle n_{i} where n_{i} = 1"
)


#: The same in another notation and order.
OTHERWISE = (
    r"$H=U\sum_i\langle n_i\rangle n_i-t\sum_{\langle i,j\rangle s}\left(c_{is}^\dagger "
    r"c_{js}+\text{h.c.}\right)$"
)


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        (HAMILTONIAN, 1.0),
        (OTHERWISE, 1.0),
        (HAMILTONIAN.replace("-t", "t"), 0.5),  # a sign
        (HAMILTONIAN.partition(" + U")[0], 2 / 3),
        (HAMILTONIAN.replace("U", "V"), 0.5),
        ("no Hamiltonian", 0.0),
        ("{" * 100_000, 0.0),
    ],
)  # fmt: skip
async def test_terms_whatever_their_order_and_spacing(call, answer, score):
    said = await call("shared_terms", HAMILTONIAN, answer)
    assert said["terms"] == pytest.approx(score)


async def test_steps_are_compared_one_by_one(call):
    gold = [{"step": 1, "answer": "a + b"}, {"step": 2, "answer": "0"}]
    assert await call("shared_steps", gold, gold[::-1]) == {"terms": 1.0}
    assert await call("shared_steps", gold, gold[:1]) == {"terms": 0.5}
    assert await call("shared_steps", gold, "nothing") == {"terms": 0.0}
    assert await call("shared_steps", {"step1": {}}, gold) == {"terms": None}
