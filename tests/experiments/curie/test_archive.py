"""The published layout: a small archive made here, as a folder, a zip and a checkout."""

from __future__ import annotations

import json
import math
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from experiments.benchmarks.curie.archive import CurieError, gold, parsed
from experiments.benchmarks.curie.benchmark import CurieBenchmark
from experiments.benchmarks.curie.generate import generate
from experiments.benchmarks.curie.tasks import NAMES, TASKS, prompt_file

DATA = Path(__file__).parents[4] / "shared" / "data" / "curie"
DOMAINS = tuple(dict.fromkeys(task.domain for task in TASKS))


@pytest.fixture
def checkout(tmp_path):
    """What a checkout holds: ``data/<domain>/{inputs,ground_truth}``, levels and prompts."""
    root = tmp_path / "curie"
    for paper in generate(seed=5, items=2, words=(1000,), domains=DOMAINS):
        folder = root / "data" / paper.domain
        for part in ("inputs", "ground_truth"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        text = {"record_id": paper.id, "text": paper.text}
        (folder / "inputs" / f"{paper.id}.json").write_text(json.dumps(text))
        record = paper.record
        if isinstance(record, dict):
            record = record | {"record_id": paper.id}
        (folder / "ground_truth" / f"{paper.id}.json").write_text(json.dumps(record))
        if paper.image:
            (folder / "inputs" / f"{paper.id}.png").write_bytes(paper.image.data)
    levels = {domain: {"5-1-1000": "Easy", "5-2-1000": "HARD"} for domain in DOMAINS}
    (root / "data" / "difficulty_levels.json").write_text(json.dumps(levels))
    (root / "prompts").mkdir()
    for task in TASKS:
        text = f"{task.name} {{{{braces}}}} and {{{{text}}}}"
        (root / "prompts" / f"{prompt_file(task, 'all')}.txt").write_text(text)
    return root


def zipped(root):
    out = root.parent / "data.zip"
    with zipfile.ZipFile(out, "w") as made:
        for file in (root / "data").rglob("*"):
            made.write(file, file.relative_to(root))
    return out


def load(path, **more):
    return CurieBenchmark(source="published", path=str(path), **more).load()


def test_a_folder_a_zip_and_a_checkout_with_the_zip_are_the_same(checkout):
    samples = load(checkout)
    assert Counter(s.labels["task"] for s in samples) == dict.fromkeys(NAMES, 2)
    made = CurieBenchmark(seed=5, items=2, words=(1000,)).load()
    golds = sorted(json.dumps(s.target["gold"]) for s in made)
    assert sorted(json.dumps(s.target["gold"]) for s in samples) == golds
    archive = zipped(checkout)
    assert [s.question for s in load(archive)] == [s.question for s in samples]
    inside = checkout.parent / "other" / "data"
    inside.mkdir(parents=True)
    archive.rename(inside / "data.zip")
    assert [s.target for s in load(inside.parent)] == [s.target for s in samples]
    one, two = (load(path, tasks=("pdb",))[0] for path in (checkout / "data", checkout))
    assert one.target == two.target


def test_labels_pictures_and_clusters(checkout):
    samples = load(checkout, tasks=("dft_s", "dft_p", "biogr"))
    assert {s.labels.get("difficulty") for s in samples} == {"easy", "hard", None}
    assert {len(s.question.parts) for s in samples if s.labels["task"] == "biogr"} == {2}
    dft = [s for s in samples if s.labels["task"] == "dft_s"]
    assert {s.cluster for s in dft} == {"dft/5-1-1000", "dft/5-2-1000"}


def test_the_authors_prompts_keep_all_other_braces(checkout):
    sample = load(checkout, tasks=("hfe",), prompts="published")[0]
    assert sample.question.prompt.startswith("hfe {{braces}} and Mean-field study")
    assert sample.question.answer.instruction == ""
    with pytest.raises(CurieError, match="no extract_hamiltonian_0_shot"):
        load(checkout / "data", tasks=("hfe",), prompts="published")


def test_an_older_name_of_a_folder(checkout):
    (checkout / "data" / "qecc_65").rename(checkout / "data" / "qecc_85")
    assert len(load(checkout, tasks=("qecc",))) == 2


def test_a_paper_without_gold_is_unavailable(checkout):
    truth = checkout / "data" / "dft" / "ground_truth" / "5-1-1000.json"
    record = json.loads(truth.read_text())
    record["no_header_code"] = "x = 1\n"
    truth.write_text(json.dumps(record))
    samples = load(checkout, tasks=("dft_s", "dft_c"))
    assert [s.labels["task"] for s in samples if s.unavailable] == ["dft_s"]


@pytest.mark.parametrize(("breaks", "said"), [
    (lambda root: (root / "data" / "pdb" / "inputs" / "5-1-1000.json").unlink(), "is not there"),
    (lambda root: (root / "data" / "pdb" / "ground_truth" / "5-1-1000.json").write_text("{"),
     "cannot be read"),
    (lambda root: (root / "data" / "pdb").rename(root / "elsewhere"), "has no folder pdb"),
    (lambda root: (root / "data" / "data.zip").write_text("version https://git-lfs"), "Git LFS"),
])  # fmt: skip
def test_what_is_missing_is_one_line(checkout, breaks, said):
    breaks(checkout)
    with pytest.raises(CurieError, match=said) as caught:
        load(checkout, tasks=("pdb",))
    assert "\n" not in str(caught.value)


def test_no_path_and_a_wrong_one(tmp_path):
    with pytest.raises(CurieError, match="needs path="):
        CurieBenchmark(source="published").load()
    with pytest.raises(CurieError, match="holds no CURIE data"):
        load(tmp_path)


CODE = """
structure_1 = StructureMetadata1.parse_raw('{"common_name": "STO", "mp_id": NaN, "type": "bulk"}')
structure_2 = StructureMetadata.parse_raw('''{"common_name": "TiO2"}''')
settings = DFTParameters.parse_raw('{"software": "vasp", "spin": NaN, "hubbard_U": "NaN"}')
print(other.parse_raw('{"not": "one"}'), StructureMetadata)
"""


def test_gold_out_of_code():
    assert parsed(CODE, "StructureMetadata") == [
        {"common_name": "STO", "type": "bulk"}, {"common_name": "TiO2"}
    ]  # fmt: skip
    assert parsed(CODE, "DFTParameters") == [{"software": "vasp"}]
    with pytest.raises(CurieError, match="cannot be read"):
        parsed("StructureMetadata.parse_raw(variable)", "StructureMetadata")


def test_boxes_of_the_archive():
    (task,) = (t for t in TASKS if t.name == "biogr")
    assert gold(task, {"W": "1.5", "S": 2, "E": 3, "N": 4})["W"] == 1.5
    assert gold(task, {"W": math.nan, "S": 2, "E": 3, "N": 4}) is None


@pytest.mark.skipif(not DATA.is_dir(), reason="the published data are not here")
def test_the_authors_prompts_are_the_ones_we_read():
    prompts = {}
    for line in (DATA / "prompts.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        prompts[row["name"]] = row["text"]
    names = {prompt_file(task, "all") for task in TASKS}
    names |= {prompt_file(TASKS[3], variant) for variant in ("non_trivial", "specific")}
    assert names <= prompts.keys()
    assert {prompts[name].count("{{text}}") for name in names} == {1}
    assert prompts["extract_hamiltonian_0_shot"].count("{{") > 1
    ids = json.loads((DATA / "record_ids.json").read_text())
    assert {task.domain for task in TASKS} & ids.keys()
