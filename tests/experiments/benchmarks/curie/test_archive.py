"""The published layout, by the samples: as a folder, a zip and a checkout; and what is broken."""

import ast
import json
import math
import shutil
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from experiments.benchmarks.curie.archive import (
    _CALL,
    NAMES,
    SAMPLES,
    TASKS,
    gold_of,
    parsed,
)
from experiments.benchmarks.curie.archive import tasks as tasks_of
from experiments.benchmarks.curie.benchmark import CurieBenchmark
from experiments.benchmarks.release import ReleaseError
from tests.support.paths import SHARED

DATA = SHARED / "curie"
published = pytest.mark.skipif(
    not DATA.is_dir(), reason="the published data are not here"
)


@pytest.fixture
def checkout(tmp_path):
    """What a checkout holds: ``data/<domain>/{inputs,ground_truth}``, levels and prompts."""
    root = tmp_path / "curie"
    shutil.copytree(SAMPLES, root)
    levels = {task.domain: {"sample_1": "Easy", "sample_2": "HARD"} for task in TASKS}
    (root / "data" / "difficulty_levels.json").write_text(json.dumps(levels))
    (root / "prompts").mkdir()
    for task in TASKS:
        text = f"{task.name} {{{{braces}}}} and {{{{text}}}}"
        (root / "prompts" / f"{task.prompt_file}.txt").write_text(text)
    return root


def load(path, **more):
    return CurieBenchmark(source="published", path=str(path), **more).load()


def test_the_samples():
    samples = CurieBenchmark().load()
    assert Counter(s.labels["task"] for s in samples) == dict.fromkeys(NAMES, 2) | {
        "biogr": 3
    }
    assert {s.labels["task"] for s in samples[:10]} == set(NAMES)  # a limit covers all
    assert len({s.question.id for s in samples}) == len(samples)
    assert all(s.unavailable is None and s.cluster for s in samples)
    boxes = [s.target["gold"] for s in samples if s.labels["task"] == "biogr"]
    assert [box["W"] > box["E"] for box in boxes].count(
        True
    ) == 1  # across the date line


def test_what_an_arm_shows_of_a_paper():
    for arm in ("direct", "retrieval", "tool"):
        for sample in CurieBenchmark(arm=arm).load():
            question = sample.question
            shown = "".join(p.text for p in question.attachments if hasattr(p, "text"))
            assert bool(question.mounts) == (arm == "tool")
            caption = arm == "retrieval" and sample.labels["task"] == "biogr"
            assert (question.searched.text in shown) is (arm == "direct" or caption)


def test_a_folder_a_zip_and_a_checkout_with_the_zip_are_the_same(checkout):
    samples = load(checkout)
    golds = [s.target["gold"] for s in samples]
    assert golds == [s.target["gold"] for s in CurieBenchmark().load()]
    archive = checkout.parent / "data.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for file in (checkout / "data").rglob("*"):
            made.write(file, file.relative_to(checkout))
    assert [s.question for s in load(archive)] == [s.question for s in samples]
    inside = checkout.parent / "other" / "data"
    inside.mkdir(parents=True)
    archive.rename(inside / "data.zip")
    assert [s.target["gold"] for s in load(inside.parent)] == golds
    assert [s.question for s in load(checkout / "data")] == [
        s.question for s in samples
    ]


def test_labels_prompts_and_an_older_name(checkout):
    (checkout / "data" / "qecc_65").rename(checkout / "data" / "qecc_85")
    samples = load(checkout, prompts="published")
    assert {s.labels.get("difficulty") for s in samples} == {"easy", "hard", None}
    prompt = next(s for s in samples if s.labels["task"] == "hfe").question.prompt
    assert prompt.startswith("hfe {{braces}} and Mean-field study")
    with pytest.raises(ReleaseError, match="no extract_hamiltonian_0_shot"):
        load(checkout / "data", tasks=("hfe",), prompts="published")


def truth(root, domain="dft"):
    return root / "data" / domain / "ground_truth" / "sample_1.json"


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        (
            "dft/ground_truth",
            '{"no_header_code": "x = 1"}',
            dict.fromkeys(NAMES[:2], "has no gold"),
        ),
        ("dft/ground_truth", "{", dict.fromkeys(NAMES[:3], "cannot be read")),
        ("dft/ground_truth", "[1]", {}),
        ("pdb/ground_truth", "null", {"pdb": "has no gold"}),
        ("pdb/inputs", None, {"pdb": "is not there"}),
        ("pdb/inputs", "3", {"pdb": "no text"}),
    ],
)
def test_what_cannot_be_read_is_unavailable_by_name_and_stops_nothing(
    checkout, file, text, said
):
    path = checkout / "data" / file / "sample_1.json"
    path.write_text(text) if text else path.unlink()
    samples = load(checkout)
    missing = {s.labels["task"]: s.unavailable for s in samples if s.unavailable}
    assert (len(samples), set(missing)) == (21, set(said))
    assert all(said[task] in why and "sample_1" in why for task, why in missing.items())


@pytest.mark.parametrize(
    ("breaks", "said"),
    [
        (
            lambda root: (root / "data" / "pdb").rename(root / "elsewhere"),
            "has no folder pdb",
        ),
        (
            lambda root: (root / "data" / "data.zip").write_text(
                "version https://git-lfs"
            ),
            "Git LFS",
        ),
        (lambda root: shutil.rmtree(root / "data"), "has no folder biogr or dft"),
    ],
)
def test_what_is_missing_is_one_line(checkout, breaks, said):
    breaks(checkout)
    with pytest.raises(ReleaseError, match=said) as caught:
        load(checkout, tasks=("pdb",))
    assert "\n" not in str(caught.value)


#: One text is JSON only as it stands in the source, one only as the literal; one is neither, and
#: the program is no Python.
CODE = Path(__file__).with_name("program.txt").read_text()


def test_gold_out_of_code():
    names = [entry["common_name"] for entry in parsed(CODE, "StructureMetadata")]
    assert names == ["STO", "TiO2's", 'a "b" \\alpha', "double"]
    assert parsed(CODE, "DFTParameters") == [
        {"software": "vasp"},
        {"software": {"a": "vasp"}},
    ]
    assert parsed("StructureMetadata.parse_raw(variable)", "StructureMetadata") == []


def test_boxes_and_variants_of_the_archive():
    known = {task.name: task for task in TASKS}
    assert gold_of(known["biogr"], {"W": "1.5", "S": 2, "E": 3, "N": 4})["W"] == 1.5
    assert gold_of(known["biogr"], {"W": math.nan, "S": 2, "E": 3, "N": 4}) is None
    record = [
        {"property_name": "Band Gap", "index": 0},
        {"property_name": "density"},
        {"property_name": "thickness", "trivia": True},
    ]
    counts = [
        len(gold_of(known["mpv"], record, v))
        for v in ("all", "non_trivial", "specific")
    ]
    assert counts == [3, 2, 1]


@published
def test_the_half_of_the_archive_that_is_here():
    samples = load(DATA / "archive_dev", tasks=("dft_s", "dft_p", "dft_c", "mpv"))
    golds = {
        name: [s.target["gold"] for s in samples if s.labels["task"] == name]
        for name in NAMES
    }
    assert {name: len(each) for name, each in golds.items() if each} == {
        "dft_s": 37,
        "dft_p": 37,
        "dft_c": 37,
        "mpv": 9,
    }
    read = {
        name: sum(len(each or ()) for each in golds[name])
        for name in ("dft_s", "dft_p")
    }
    assert read == {"dft_s": 129, "dft_p": 62}
    calls = [_CALL.findall(program) for program in golds["dft_c"]]
    texts = [
        (f"{quote}{text}{quote}", text) for found in calls for _, quote, text in found
    ]
    assert (len(texts), sum(read.values())) == (
        200,
        191,
    )  # the others are no gold of either task
    assert sum(not is_json(literal(quoted)) for quoted, _ in texts) == 26
    assert all(is_json(text) for quoted, text in texts if not is_json(literal(quoted)))
    assert (
        sum(literal(program, "exec") is None for program in golds["dft_c"]) == 3
    )  # no Python
    assert all("is not there" in s.unavailable for s in samples)  # the papers


@published
def test_the_authors_prompts_are_the_ones_we_read():
    prompts = {}
    for line in (DATA / "prompts.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        prompts[row["name"]] = row["text"]
    names = {
        task.prompt_file
        for variant in ("all", "non_trivial", "specific")
        for task in tasks_of(variant)
    }
    assert names <= prompts.keys()
    assert {prompts[name].count("{{text}}") for name in names} == {1}
    for name in {task.eval_file for task in TASKS} - {""}:
        assert "{{json_ground_truth}}" in prompts[name]
        assert "{{json_extracted_list}}" in prompts[name]


def literal(text, mode="eval"):
    try:
        tree = ast.parse(text, mode=mode)
    except SyntaxError:
        return None
    return ast.literal_eval(tree) if mode == "eval" else tree


def is_json(text):
    try:
        return isinstance(json.loads(text, strict=False), dict)
    except (TypeError, ValueError):
        return False
