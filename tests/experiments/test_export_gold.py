from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from docgen.rules_model import RulesDocModel
from docgen.sources import read_sources
from docgen.usage import Usage
from experiments.export_gold import _TRACER, live_secrets, main, mattools_gold, public_symbols
from indexes.audit import audit
from indexes.chunks import code_corpus, official_doc_corpus
from indexes.llm_doc import Writer, llm_doc_corpus
from tests.docgen.conftest import write_package

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "mattools_dev"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return write_package(tmp_path / "site")


def recorded(task: str, code: str, outcome: str) -> dict[str, object]:
    return {"task": task, "code": dedent(code), "replayed": {"outcome": outcome}}


def test_gold_is_what_most_right_solutions_share(package: Path, tmp_path: Path) -> None:
    wall = "from brickwork import build\ndef f():\n    return build(1).volume()\n"
    brick = "from brickwork import build, Brick\ndef f():\n    return Brick(1).volume, build(1)\n"
    wrong = "from brickwork import Mortar\ndef f():\n    return Mortar(1)\n"
    rows = [
        recorded("a", wall, "all_correct"),
        recorded("a", wall, "all_correct"),
        recorded("a", brick, "all_correct"),
        recorded("a", wrong, "some_wrong"),
        recorded("b", wrong, "not_runnable"),
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "recorded_round1.jsonl").write_text(lines)
    tasks = [{"id": "a", "question": "A?"}, {"id": "b", "question": "B?"}]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(t) + "\n" for t in tasks))
    usage = Usage(read_sources(["brickwork"], package))
    (query,) = mattools_gold(usage, tmp_path)
    assert (query.id, query.query) == ("a", "A?")
    assert query.gold == {
        "brickwork.wall.build": "function",
        "brickwork.wall.Wall.volume": "method",
    }


def test_private_names_are_no_gold() -> None:
    assert public_symbols({"m.b": "class", "m._x.c": "class", "m.a": "method"}) == {
        "m.a": "method",
        "m.b": "class",
    }


def test_the_tracer_sees_the_solutions_own_calls_only(tmp_path: Path) -> None:
    """Run as the sandbox runs it, on harmless code of our own."""
    code = """
from fractions import Fraction
import textwrap

def reference():
    return Fraction(1, 3).limit_denominator(2), textwrap.dedent(" a")
"""
    path = tmp_path / "solution.py"
    path.write_text(code + _TRACER)
    namespace: dict[str, object] = {"__name__": "solution"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    traced = namespace["_traced_calls"]
    assert callable(traced)
    calls = traced()
    assert "fractions.Fraction.limit_denominator" in calls
    assert "textwrap.dedent" in calls
    assert not [name for name in calls if name.startswith("re.")]  # called by textwrap, not by us


def test_secrets_hold_references_and_golds() -> None:
    rows = list(live_secrets())
    assert {row["id"].rpartition("/")[2] for row in rows} == {"reference.py", "gold.json"}
    assert all(row["text"].strip() for row in rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["what=all", "out=x"], "what=all"),
        (["what=mattools", "out=x"], "needs path=FOLDER"),
        (["what=live", "out=x", "packages=absent"], "no Python source under"),
        (["what=mattools", "out=x", "path=absent"], "absent"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(
    arguments: list[str], message: str, package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = (
        arguments
        if any(a.startswith("packages") for a in arguments)
        else [
            *arguments,
            "packages=brickwork",
        ]
    )
    assert main([*given, f"folder={package}"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.long
def test_recorded_split(tmp_path: Path) -> None:
    if not SHARED.is_dir():
        pytest.skip("the development split of MatTools is not beside the repository")
    import pymatgen.core

    folder = Path(pymatgen.core.__file__).parents[2]
    out = tmp_path / "gold.jsonl"
    assert (
        main(
            ["what=mattools", f"path={SHARED}", "packages=pymatgen", f"folder={folder}",
             f"out={out}"]
        )
        == 0
    )  # fmt: skip
    rows = {row["id"]: row for row in map(json.loads, out.read_text().splitlines())}
    assert "pymatgen.analysis.defects.recombination.pchip_eval" in rows["test_pchip_eval"]["gold"]
    kinds = {kind for row in rows.values() for kind in row["gold"].values()}
    assert kinds <= {"class", "function", "method", "property"}


@pytest.mark.long
async def test_no_corpus_holds_reference_code_or_golds(tmp_path: Path) -> None:
    """The leakage audit over the installed pymatgen, every source that is made from it."""
    import pymatgen.core

    folder = Path(pymatgen.core.__file__).parents[2]
    secrets = {row["id"]: row["text"] for row in live_secrets()}
    documented = await llm_doc_corpus(
        ["pymatgen"],
        folder,
        writer=Writer(RulesDocModel(), "rules"),
        cache=tmp_path,
        show_progress=False,
    )
    corpora = [
        documented,
        code_corpus(["pymatgen"], folder, cache=tmp_path),
        official_doc_corpus(["pymatgen"], folder, cache=tmp_path, pages=None),
    ]
    for corpus in corpora:
        worst = audit(corpus.documents, secrets)[0]
        # a few common import lines in a row are no leak
        assert worst.share < 0.05, (corpus.name, worst)
