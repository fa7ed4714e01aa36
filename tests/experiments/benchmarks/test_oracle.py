"""Gold in, 100 % out: `system=oracle` on every benchmark, arm and layout that can be had here."""

import json
import shutil

import pytest

from experiments.benchmarks.atomworld.benchmark import TEXTS, AtomWorldBenchmark
from experiments.benchmarks.curie import archive
from experiments.benchmarks.curie.benchmark import CurieBenchmark
from experiments.benchmarks.mattools.benchmark import published_reference
from experiments.benchmarks.omnimatbench.benchmark import (
    SAMPLES,
    OmniMatBenchmark,
)
from experiments.benchmarks.release import ReleaseError
from experiments.command import main
from tests.support.checkouts import checkout
from tests.support.paths import SHARED
from tests.support.runs import metrics, summary

#: Benchmark, its keys, and the metric of the fair mode.
LAYOUTS = [
    ("atomworld", ["family=structprop", "items=30"], "all_correct"),
    ("atomworld", ["family=pointworld", "items=2"], "all_correct"),
    ("atomworld", ["family=cif_repair", "items=4"], "all_correct"),
    ("atomworld", ["family=cif_gen", "items=4"], "all_correct"),
    *(
        ("atomworld", [f"arm={arm}", "items=1"], "all_correct")
        for arm in ("direct", "tool", "tool_inline", "file")
    ),
    *(("curie", [f"arm={arm}"], "overall") for arm in ("direct", "retrieval", "tool")),
    *(("qmbench", [f"arm={arm}", "items=1"], "score") for arm in ("direct", "tool")),
    *(
        ("omnimatbench", [f"arm={arm}"], "significant_figures")
        for arm in ("direct", "tool", "choose")
    ),
    ("mattools_qa", [], "fair"),
    ("live", [], "criteria"),
    ("invented", ["seed=7"], "criteria"),
]


def perfect(tmp_path, benchmark, metric, *keys):
    out = tmp_path / "run"
    words = [f"benchmark.{key}" for key in keys]
    common = ["system=oracle", "retrieval=none", f"out={out}"]
    # Prose without a judge is not judged: that run is not complete.
    unjudged = benchmark == "qmbench"
    assert main([*common, f"benchmark={benchmark}", *words]) == int(unjudged)
    gained, total = metrics(out)[metric]
    assert total
    assert gained == pytest.approx(total)
    return out


@pytest.mark.long
@pytest.mark.parametrize(("benchmark", "keys", "metric"), LAYOUTS)
def test_gold_in_full_score_out(tmp_path, benchmark, keys, metric):
    perfect(tmp_path, benchmark, metric, *keys)


def test_a_published_question_of_mattools_has_its_literals_as_reference(tmp_path):
    root = checkout(tmp_path / "MatTools")
    out = perfect(tmp_path, "mattools", "criteria", f"path={root}", "environment=live")
    assert summary(out)["questions"] == 1


@pytest.mark.parametrize(
    ("value", "format_", "meant"),
    [
        (64.0, "", "64.0"),
        ("0.5", "float", "0.5"),
        ("0.5", "str", "'0.5'"),
        ("{Element('N'): -1}", "dict", "{Element('N'): -1}"),
        ("array([1., 2.])", "list", "array([1., 2.])"),
        ("O_N+v_Ga", "str", "'O_N+v_Ga'"),
        ("Raises ValueError", "", "'Raises ValueError'"),
        ("set(free_sites)", "set", "'set(free_sites)'"),
        (["a", "b"], "list", "['a', 'b']"),
    ],
)
def test_what_a_published_literal_means(value, format_, meant):
    code = published_reference({"x": repr(value)}, {"x": format_}).code
    assert f"'x': {meant}," in code


@pytest.mark.long
@pytest.mark.skipif(not SHARED.is_dir(), reason="the published data are not here")
@pytest.mark.parametrize("rules", ["typed", "published"])
def test_the_table_of_mattools(tmp_path, rules):
    keys = (f"path={SHARED / 'mattools_dev'}", "environment=live", f"rules={rules}")
    perfect(tmp_path, "mattools", "criteria", *keys)


def published_curie(tmp_path, *without):
    """The shipped samples, in the layout of the authors' archive."""
    root = tmp_path / "curie"
    shutil.copytree(archive.SAMPLES, root)
    for domain in without:
        shutil.rmtree(root / "data" / domain)
    return root


def test_what_an_incomplete_archive_lacks_is_named_and_the_rest_is_asked(tmp_path):
    whole = CurieBenchmark("published", str(published_curie(tmp_path))).load()
    lacking = tmp_path / "lacking"
    lacking.mkdir()
    root = published_curie(lacking, "hfd", "geo")
    samples = CurieBenchmark("published", str(root)).load()
    absent = {s.question.id: s.unavailable for s in samples if s.unavailable}
    assert set(absent) == {"hfd", "geo"}
    assert all(f"has no folder {name}" in why for name, why in absent.items())
    asked = {s.question.id for s in samples} - set(absent)
    assert asked == {
        s.question.id for s in whole if s.labels["task"] not in {"hfd", "geo"}
    }
    with pytest.raises(ReleaseError, match="has no folder hfd"):
        CurieBenchmark("published", str(root), tasks=("hfd",)).load()


def published_atomworld(tmp_path, *actions):
    """Generated questions as the authors' files hold theirs."""
    folder = tmp_path / "AtomWorld" / "data" / "simple"
    folder.mkdir(parents=True)
    for action in actions:
        made = AtomWorldBenchmark(items=2, actions=[action], wording="published").load()
        rows = [
            {
                "problem_id": number,
                "action_prompt": sample.question.search,
                "input": sample.question.prompt.partition("<cif>\n")[2].partition(
                    "</cif>"
                )[0],
                "output": sample.reference,
            }
            for number, sample in enumerate(made)
        ]
        (folder / f"{TEXTS['files'][action]}.json").write_text(json.dumps(rows))
    return tmp_path / "AtomWorld"


def test_an_action_without_its_file_is_named(tmp_path):
    root = published_atomworld(tmp_path, "move")
    benchmark = AtomWorldBenchmark("published", str(root), actions=["move", "swap"])
    samples = benchmark.load()
    assert [s.question.id for s in samples if s.unavailable] == ["swap"]
    assert len([s for s in samples if not s.unavailable]) == 2
    with pytest.raises(ReleaseError, match="no file of these actions"):
        AtomWorldBenchmark("published", str(root), actions=["swap"]).load()


def test_a_release_of_one_split_is_asked(tmp_path):
    root = tmp_path / "omnimat"
    shutil.copytree(SAMPLES, root)
    shutil.rmtree(root / "qa")
    samples = OmniMatBenchmark("published", str(root), split="all").load()
    assert [s.question.id for s in samples if s.unavailable] == ["qa"]
    assert any(not s.unavailable for s in samples)
    with pytest.raises(ReleaseError, match="has no folder qa"):
        OmniMatBenchmark("published", str(root), split="qa").load()
