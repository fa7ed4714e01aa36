"""The grader in its sandbox: ROUGE, sequences, and reading what models write."""

import json
import re
from pathlib import Path

import pytest

from experiments.benchmarks.curie.benchmark import CurieBenchmark
from experiments.samples import data_of

DATA = Path(__file__).parents[4] / "shared" / "data" / "curie"
published = pytest.mark.skipif(not DATA.is_dir(), reason="the published data are not here")
TABLES = data_of(__file__, "tables")


@pytest.mark.parametrize(("reference", "prediction", "score"), TABLES["rouge"])
async def test_rouge(call, reference, prediction, score):
    assert 100 * await call("rouge", reference, prediction) == pytest.approx(score, abs=0.005)


async def test_the_authors_reference_is_in_ascii(call):
    cell = "Ångström cell"
    said = await call("judge", cell, "text", cell, {"x": cell}, "geo")
    assert 100 * said["rouge_published"] == pytest.approx(28.57, abs=0.005)
    assert said["rouge"] == 1.0


@published
async def test_the_recorded_sequence(call):
    recorded = json.loads((DATA / "pdb_recorded.json").read_text())["pdb_1CTF"]
    gold, found = recorded["ground_truth"], recorded["gemini15pro"]
    said = await call("judge_sequence", gold, f">1CTF\n{found}")
    assert said["identity"] == pytest.approx(43 / 89)
    one, two = said["rows"]
    assert (sum(a == b for a, b in zip(one, two, strict=True)), len(one)) == (43, 89)
    # Another of the best alignments is 90 long: the published figure.
    assert recorded["published"]["gemini15pro"] == pytest.approx(43 / 90, abs=5e-4)


@pytest.mark.parametrize(("answer", "ours", "theirs"), TABLES["sequences"])
async def test_reading_fasta(call, answer, ours, theirs):
    said = await call("judge_sequence", "ACDEFGHIKL", answer)
    assert (said["identity"], said["identity_published"]) == (ours, theirs)


async def test_gaps_cost_nothing_and_a_prediction_is_cut_at_ten_times_the_gold(call):
    said = await call("judge_sequence", "ACDEF", ">x\nADF")
    assert said["identity"] == pytest.approx(3 / 5)
    assert said["rows"] == ["ACDEF", "A-D-F"]
    said = await call("judge_sequence", "ACDE", ">x\n" + "W" * 500_000 + "ACDE")
    assert said["identity"] == 0.0
    assert len(said["rows"][0]) <= 44


@pytest.mark.parametrize(("answer", "value", "status"), TABLES["json"])
async def test_reading_json(call, answer, value, status):
    assert tuple(await call("read_json", answer)) == (value, status)


@pytest.mark.parametrize(
    "answer",
    ["[" * 200_000, '{"a":' * 100_000, "(" * 90_000, '[{"a": 1e999999999}]', "[1" * 30_000,
     "[" + "'\\" * 100_000, "__import__('os').system('true')", "[x for x in range(9)]"],
)  # fmt: skip
async def test_hostile_answers_are_data(call, answer):
    said = await call("judge", answer, "json", '[{"a": 1}]', {}, "geo")
    assert said is not None
    assert not isinstance(said["value"], dict)
    assert said["rouge"] < 1


async def test_pages_of_anything_are_not_compared(call):
    said = await call("judge", "word " * 150_000, "text", "word", {"x": "word"}, "geo")
    assert (said["error"], said["rouge"], said["rouge_published"]) == ("too_long", 0.0, 0.0)
    assert (await call("judge", "x" * 2_000_000, "text", "x", {}, "geo"))["error"] == "too_long"


PROGRAM = (
    "structure_metadata_1 = StructureMetadata.parse_raw("
    '\'{"composition": "NaCl", "type": NaN}\')\n'
    'dft_params_1 = DFTParameters.parse_raw(\'{"software": "vasp"}\')\n'
)


@pytest.mark.parametrize(
    ("task", "words"),
    [("dft_s", "composition NaCl type NaN"), ("dft_p", "software vasp"), ("dft_c", None)],
)
async def test_what_the_authors_cut_out_of_a_record(call, task, words):
    reference = await call("published_reference", {"code": PROGRAM, "other": [1]}, task)
    assert words is None or re.findall(r"\w+", reference) == words.split()
    assert words is not None or "structure_metadata_1" in reference
    assert (await call("published_reference", {"code": "x = 1"}, task) is None) == bool(words)


@published
@pytest.mark.parametrize(("task", "papers", "mean"), [("dft_s", 32, 37.2), ("dft_p", 29, 25.7)])
async def test_a_perfect_answer_against_the_authors_reference(call, task, papers, mean):
    scores = []
    for sample in CurieBenchmark("published", str(DATA / "archive_dev"), tasks=(task,)).load():
        clean, record = sample.target["clean"], sample.target["record"]
        if clean:
            said = await call("judge", clean, "json", clean, record, task)
            assert said["rouge"] == pytest.approx(1)
            scores.append(100 * said["rouge_published"])
    assert (len(scores), round(sum(scores) / len(scores), 1)) == (papers, mean)
