import json
from pathlib import Path

import pytest

from docgen.symbols import Chunk
from experiments.benchmarks import question_gold
from experiments.benchmarks.folder.benchmark import FolderBenchmark
from experiments.benchmarks.live.benchmark import CHOSEN, LiveBenchmark
from experiments.benchmarks.mattools.benchmark import MatToolsGold
from experiments.benchmarks.question_format import question_folders
from indexes.chunks import package_corpus
from indexes.llm_doc import Writer, llm_doc_corpus
from retrieval.gold import benchmark_sources, queries
from sandbox.base import Execution, Outcome, SandboxError
from tests.support.leaks import runs, shared
from tests.support.questions import write_question
from tests.support.samples import write_package
from tests.support.writers import DocModel


def test_gold_is_what_most_right_solutions_share(package, tmp_path, monkeypatch):
    wall = "from brickwork import build\ndef f():\n    return build(1).volume()\n"
    brick = "from brickwork import build, Brick\ndef f():\n    return Brick(1).volume, build(1)\n"
    wrong = "from brickwork import Mortar\ndef f():\n    return Mortar(1)\n"
    rows = [("a", code, {"outcome": "all_correct"}) for code in (wall, wall, brick)]
    rows += [
        ("a", wrong, {"outcome": "some_wrong"}),
        ("b", wrong, {"outcome": "not_runnable"}),
    ]
    keys = ("task", "code", "replayed")
    lines = (json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows)
    (tmp_path / "recorded_round1.jsonl").write_text("".join(lines))
    monkeypatch.setattr(question_gold.environments, "site_packages", lambda _: package)
    monkeypatch.setattr(
        MatToolsGold, "prompts", lambda _: {"a": "of those that are loaded"}
    )
    source = MatToolsGold(tmp_path / "recorded_round1.jsonl", (), ["brickwork"], "live")
    assert source.gold() == {
        "a": {
            "brickwork.wall.build": "function",
            "brickwork.wall.Wall.volume": "method",
        }
    }


def test_the_tracer_sees_the_solutions_own_calls_only(tmp_path):
    """Run as the sandbox runs it, on harmless code of our own."""
    code = """
from fractions import Fraction
import textwrap

def reference():
    return Fraction(1, 3).limit_denominator(2), textwrap.dedent(" a")
"""
    path = tmp_path / "solution.py"
    path.write_text(code + question_gold.TRACER)
    namespace: dict[str, object] = {"__name__": "solution"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    traced = namespace["_traced_calls"]
    assert callable(traced)
    calls = traced()
    assert "fractions.Fraction.limit_denominator" in calls
    assert "textwrap.dedent" in calls
    assert not [
        name for name in calls if name.startswith("re.")
    ]  # called by textwrap, not by us


def test_the_later_questions_are_those_that_did_not_choose_the_weights():
    names = {folder.name for folder in question_folders()}
    chosen = set(json.loads(CHOSEN.read_text()))
    assert len(chosen & names) == 53
    assert set(LiveBenchmark().gold(split="later").prompts()) == names - chosen


async def test_a_reference_that_does_not_run_is_an_error(tmp_path):
    class Broken:
        confinement = "none"

        async def run(self, *_: object, **__: object) -> Execution:
            return Execution(Outcome.EXCEPTION, error="ValueError: no")

        async def close(self) -> None: ...

    (tmp_path / "reference.py").write_text("def reference(): ...\n")
    with pytest.raises(SandboxError, match=r"did not run.*ValueError: no"):
        await question_gold.trace(Broken(), [tmp_path])


@pytest.mark.long
def test_gold_of_a_benchmark_by_its_name_is_made_once(tmp_path, monkeypatch):
    """Three questions of ``live``, resolved by ``ast`` and traced in the sandbox."""
    few = question_folders()[:3]
    monkeypatch.setattr(
        "experiments.benchmarks.question_format.question_folders", lambda _: few
    )
    folder = question_gold.environments.cache_folder()
    before = set((folder / "gold").glob("*"))
    (source,) = benchmark_sources(["live"], {"level": ["goal"]})
    try:
        asked = queries(source, "api")
        assert [query.id for query in asked] == [f.name for f in few]
        assert all(query.gold for query in asked)
        assert source.name == "live goal"
        monkeypatch.setattr(
            question_gold, "trace", None
        )  # would be needed to make it again
        (again,) = benchmark_sources(["live"], {"level": ["scaffold"]})
        assert again.gold() == source.gold()
        assert again.prompts() != source.prompts()
    finally:
        for path in set((folder / "gold").glob("*")) - before:
            path.unlink()


def test_a_folder_of_tasks_is_a_source(tmp_path, monkeypatch):
    gold = {"cell_volume": 3.0, "ordering": "FM"}
    question = write_question(tmp_path / "questions", name="one", gold=gold)
    (question / "reference.py").write_text(
        "from brickwork import build\ndef reference(): build(1)"
    )
    (tmp_path / "benchmark.yaml").write_text("package: brickwork\nwriter: rules\n")
    site = write_package(tmp_path / "site")
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(question_gold.environments, "site_packages", lambda _: site)
    source = FolderBenchmark(tmp_path).gold(trace=False)
    assert FolderBenchmark(tmp_path).packages == source.packages == ("brickwork",)
    assert source.gold() == {"one": {"brickwork.wall.build": "function"}}
    assert "Volume of the primitive cell" in source.prompts()["one"]


@pytest.mark.long
async def test_no_corpus_holds_reference_code_or_golds(tmp_path):
    """The leakage audit over the installed pymatgen, every source that is made from it."""
    import pymatgen.core

    folder = Path(pymatgen.core.__file__).parents[2]
    secrets = {
        f"{question.name}/{file}": (question / file).read_text()
        for question in question_folders()
        for file in ("reference.py", "gold.json")
    }
    writer = Writer(DocModel())
    documented = await llm_doc_corpus(
        ["pymatgen"], folder, writer=writer, cache=tmp_path, show_progress=False
    )
    corpora = [
        documented,
        await package_corpus("code", ["pymatgen"], folder, cache=tmp_path),
        await package_corpus("official_doc", ["pymatgen"], folder, cache=tmp_path),
    ]
    leaking = Chunk("told", "told", "Told: " + " ".join(secrets.values()))
    assert max(shared([leaking], secrets).values()) > 20
    for corpus in corpora:
        found = shared(corpus.entries, secrets)
        worst = max(found, key=found.__getitem__)
        # a few common import lines in a row are no leak
        assert found[worst] < 0.05 * len(runs(secrets[worst])), (
            corpus.manifest.source,
            worst,
        )
