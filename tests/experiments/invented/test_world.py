"""Worlds as they are drawn: the same everywhere, one knob at a time, and readable."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import yaml

from experiments.benchmarks.invented.gates import check_words
from experiments.benchmarks.invented.graph import evaluate
from experiments.benchmarks.invented.knobs import KnobError, Knobs
from experiments.benchmarks.invented.mistakes import (
    differs,
    mistakable,
    mistakes,
    steady,
    unmoved,
)
from experiments.benchmarks.invented.plans import plan
from experiments.benchmarks.invented.programs import program
from experiments.benchmarks.invented.reader import (
    UnreadableError,
    documents,
    read,
    restored,
    solve,
)
from experiments.benchmarks.invented.world import World, generate

ROOT = Path(__file__).parents[3]
DIGEST = """
from experiments.benchmarks.invented.knobs import Knobs
from experiments.benchmarks.invented.world import generate

for depth, docs, gap in ((3, "full", 0), (8, "outdated", 2)):
    print(generate(Knobs(size=120, depth=depth, docs=docs, gap=gap)).digest)
"""


@cache
def world(**changes: object) -> World:
    knobs: dict[str, object] = {"size": 80, "depth": 3, "questions": 6}
    return generate(Knobs(**{**knobs, **changes}))  # type: ignore[arg-type]


def _digest(python: str, hash_seed: str) -> str:
    # PyYAML and Jinja work on any version without their compiled parts.
    path = os.pathsep.join([str(ROOT), *(str(Path(p).parents[1]) for p in (yaml.__file__,))])
    variables = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [python, "-c", DIGEST], env=variables, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_same_knobs_give_the_same_bytes_under_other_hash_seeds() -> None:
    assert _digest(sys.executable, "1") == _digest(sys.executable, "4242")


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_same_knobs_give_the_same_bytes_on_other_versions(version: str) -> None:
    pyenv = Path.home() / ".pyenv" / "versions"  # its shims do not always work
    found = [*sorted(pyenv.glob(f"{version}.*/bin/python")), shutil.which(f"python{version}")]
    python = next(filter(None, found), None)
    if python is None:
        pytest.skip(f"no Python {version} here")
    assert _digest(str(python), "7") == _digest(sys.executable, "1")


def test_size_adds_symbols_and_leaves_the_questions_alone() -> None:
    small, large = world(size=60), world(size=400)
    assert (len(small.symbols), len(large.symbols)) == (60, 400)
    for one, other in zip(small.questions, large.questions, strict=True):
        assert (one.goal, one.reference) == (other.goal, other.reference)
        assert [asked.gold for asked in one.asked] == [asked.gold for asked in other.asked]
        assert [asked.description for asked in one.asked] == [a.description for a in other.asked]


@pytest.mark.parametrize("gap", [1, 2])
def test_gap_changes_the_wording_of_questions_and_nothing_else(gap: int) -> None:
    plain, changed = world(), world(gap=gap)
    assert changed.files == plain.files  # package, documentation and version
    for one, other in zip(plain.questions, changed.questions, strict=True):
        assert (one.goal, one.reference) == (other.goal, other.reference)
        for asked, reworded in zip(one.asked, other.asked, strict=True):
            assert (asked.wanted, asked.gold) == (reworded.wanted, reworded.gold)
            assert asked.wanted.term in asked.description
            assert asked.wanted.term not in reworded.description


@pytest.mark.parametrize("change", [{"breadth": 14}, {"questions": 3}])
def test_breadth_and_number_of_questions_leave_the_package_alone(change: dict[str, object]) -> None:
    plain, changed = world(), world(**change)
    assert changed.files == plain.files
    told = [[a.description for a in q.asked] for q in plain.questions]
    assert ([[a.description for a in q.asked] for q in changed.questions] == told[:3]) is (
        "questions" in change
    )


def _code(made: World) -> list[str]:
    """The package without what documents it; its folder of metadata is named after a digest."""
    trees = [ast.parse(text) for name, text in made.files.items() if name.endswith(".py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    for node in nodes:
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [one for one in body if not _is_text(one)] or [ast.Pass()]  # type: ignore[attr-defined]
    return [ast.unparse(tree) for tree in trees]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


@pytest.mark.parametrize("docs", ["signatures", "source", "outdated"])
def test_docs_change_the_documentation_and_neither_code_nor_questions(docs: str) -> None:
    plain, changed = world(size=200), world(size=200, docs=docs)
    told = [(q.goal, q.reference, [a.description for a in q.asked]) for q in plain.questions]
    assert told == [(q.goal, q.reference, [a.description for a in q.asked])
                    for q in changed.questions]  # fmt: skip
    # What is out of date is said when the function runs: that is the only other line.
    lines = [
        [line for line in text.splitlines() if "since version 3" not in line]
        for text in _code(changed)
    ]
    assert lines == [text.splitlines() for text in _code(plain)]
    assert changed.files != plain.files


def test_names_change_names_and_no_value() -> None:
    plain, changed = world(), world(names="opaque")
    assert [[(a.description, a.gold) for a in q.asked] for q in changed.questions] == [
        [(a.description, a.gold) for a in q.asked] for q in plain.questions
    ]
    words = {word for term in plain.by_term for word in term.split()[:1]}
    told = [{e.name.split("_")[0] for e in w.by_term.values()} & words for w in (plain, changed)]
    assert len(told[0]) > 40
    assert not told[1]


def test_results_change_kinds_of_values_and_neither_makers_nor_tables() -> None:
    plain, changed = world(size=300), world(size=300, results="floats")
    assert len(plain.symbols) == len(changed.symbols)
    both = [{e.term.split()[0]: e for e in w.by_term.values()} for w in (plain, changed)]
    assert set(both[0]) == set(both[1])
    for word, entry in both[0].items():
        other = both[1][word]
        assert (entry.kind, entry.subject) == (other.kind, other.subject) or entry.needs
        assert other.result == entry.result or other.result == "float"


def test_depth_leaves_what_takes_nothing_alone() -> None:
    shallow, deep = world(depth=2), world(depth=6)
    core = [{s.entry.term: (s.entry, s.formula) for s in w.symbols.values()
             if s.core and not s.entry.needs and not s.entry.successor and s.entry.term}
            for w in (shallow, deep)]  # fmt: skip
    assert len(core[0]) >= 18
    assert core[0] == core[1]


@pytest.mark.parametrize("depth", [1, 2, 5, 8])
def test_depth_is_the_longest_chain(depth: int) -> None:
    assert {question.depth for question in world(depth=depth, size=60).questions} == {depth}


def test_breadth_asks_for_more_symbols() -> None:
    narrow, broad = world(breadth=4), world(breadth=12)
    mean = [sum(q.breadth for q in w.questions) / len(w.questions) for w in (narrow, broad)]
    assert mean[0] + 3 < mean[1]


def test_results_can_be_floats_only() -> None:
    formats = {
        one.format for q in world(results="floats", questions=20).questions for one in q.asked
    }
    assert formats == {"float"}
    assert len({one.format for q in world(questions=20).questions for one in q.asked}) >= 4


def test_a_world_holds_every_kind_of_symbol() -> None:
    symbols = world(size=300).symbols.values()
    assert {symbol.entry.kind for symbol in symbols} == {
        "function", "class", "method", "property", "constant",
    }  # fmt: skip
    assert any(symbol.base for symbol in symbols)
    assert any(symbol.formula.values for symbol in symbols)
    ratios = [ratio.kind for symbol in symbols for ratio in symbol.formula.ratios]
    assert set(ratios) == {"raw", "need", "inner"}
    assert sum(bool(symbol.entry.successor) for symbol in symbols) == 3
    names = [symbol.entry.name for symbol in symbols if symbol.entry.kind == "function"]
    assert len(set(names)) < len(names)  # overloaded across modules


def test_nothing_of_a_world_stands_in_another() -> None:
    worlds = [world(seed=seed, size=300) for seed in (1, 2, 3)]
    texts = ["\n".join([*w.files.values(), *(q.goal for q in w.questions)]) for w in worlds]
    coined = [{word for term in w.by_term for word in term.split()[:1]} for w in worlds]
    for one, words in enumerate(coined):
        assert len(words) > 200
        for other, text in enumerate(texts):
            found = words & set(re.findall(r"[a-z]+", text.lower()))
            assert bool(found) is (one == other)
    golds = [{repr(a.gold) for q in w.questions for a in q.asked} for w in worlds]
    assert not golds[0] & golds[1] | golds[1] & golds[2] | golds[0] & golds[2]


def test_no_formula_stands_in_the_documentation() -> None:
    for text in documents(world().files).values():
        head = text.partition("## Details\n```python")[0]
        assert "power(" not in head
        assert "value *=" not in head


@pytest.mark.parametrize("docs", ["full", "signatures", "source"])
@pytest.mark.parametrize("names", ["telling", "opaque"])
@pytest.mark.parametrize("gap", [0, 1, 2])
def test_who_reads_only_documents_knows_every_value(docs: str, names: str, gap: int) -> None:
    made = world(docs=docs, names=names, gap=gap)
    files = made.files
    if docs != "full":
        with pytest.raises(UnreadableError):
            read(documents(files))  # it is in the code
        files = {name: restored(text) for name, text in files.items()}
    manual = read(documents(files))
    for question in made.questions:
        texts = {one.name: one.description for one in question.asked}
        crystal, plans = solve(question.goal, texts, manual)
        assert crystal == question.crystal
        for one in question.asked:
            found = plans[one.name]
            assert not isinstance(found, UnreadableError)
            assert not differs(one.gold, evaluate(found, crystal, made.symbols), 1e-9)


def test_a_fact_that_is_left_out_is_missed() -> None:
    made = world()
    texts = documents(made.files)
    functions = (e for e in made.by_term.values() if e.kind == "function" and e.needs)
    entry = next(e for e in functions if e.needs[0].param != "structure")
    need = entry.needs[0]
    words = r"\s+".join(need.term.split())  # lines are broken anywhere
    spoilt = {**texts, entry.path: re.sub(words, "usual quantity", texts[entry.path])}
    assert spoilt != texts
    with pytest.raises(UnreadableError, match=need.param):
        read(spoilt)


def test_outdated_documents_mislead_about_what_they_get_wrong_and_nothing_else() -> None:
    made = world(docs="outdated", size=300, questions=30)
    share = len(made.told) / len(made.symbols)
    assert 0.04 < share < 0.16
    manual = read(documents(made.files))
    wrong = {path for path in made.told if manual.by_term[made.symbols[path].entry.term]}
    assert wrong == set(made.told)
    misled = 0
    for question in made.questions:
        texts = {one.name: one.description for one in question.asked}
        _, plans = solve(question.goal, texts, manual)
        told = {e.term: made.told.get(e.path, e) for e in made.by_term.values()}
        for one in question.asked:
            believed = plan(one.wanted, question.crystal, told)
            found = plans[one.name]
            assert not isinstance(found, UnreadableError)
            written = program({"v": found}, question.crystal)
            assert written == program({"v": believed}, question.crystal)
            misled += written != program({"v": one.plan}, question.crystal)
    assert misled > 0


def test_every_single_mistake_shows() -> None:
    made = world(questions=12)
    others = mistakable(made.symbols)
    kinds = set()
    for question in made.questions:
        for one in question.asked:
            assert not unmoved(one.plan, question.crystal, made.symbols, others)
            for what, _ in mistakes(one.plan, question.crystal, others):
                kinds.add(what.split(": ")[1].split("=")[0])
    assert {"unit", "sign", "reciprocal", "element"} <= kinds
    assert any(kind.endswith("forgotten") for kind in kinds)
    assert any(kind.endswith("instead") for kind in kinds)


def test_no_value_stands_in_the_text_of_another_property() -> None:
    made = world(seed=15, size=60, depth=4, questions=30)  # an option of 1.17, and a value of it
    for question in made.questions:
        text = " ".join([question.goal, *(one.description for one in question.asked)])
        shown = [float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", text)]
        values = [abs(one.gold) for one in question.asked if isinstance(one.gold, float)]
        assert not [v for v in values for n in shown if abs(v - n) <= 1e-3 * v]


def test_a_mistake_that_does_not_show_is_found() -> None:
    made = world()
    question = made.questions[0]
    one = next(a for a in question.asked if a.plan.call.inputs)
    symbol = made.symbols[one.plan.call.entry.path]
    deaf = replace(symbol, formula=replace(symbol.formula, ratios=()))
    assert unmoved(one.plan, question.crystal, {**made.symbols, symbol.entry.path: deaf}, {})


def test_what_stands_for_two_is_found() -> None:
    made = world()
    assert check_words(made) == []
    first, second = list(made.symbols.values())[:2]
    twin = replace(second, gloss=first.gloss, entry=replace(second.entry, term=first.entry.term))
    doubled = replace(made, symbols={**made.symbols, second.entry.path: twin})
    found = " ".join(check_words(doubled))
    assert "term" in found
    assert "paraphrase" in found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"size": 10}, "size=10: give a whole number from 60 to 2500"),
        ({"depth": 0}, "depth=0"),
        ({"gap": 3}, "gap=3"),
        ({"docs": "none"}, "docs=none: choose one of full, signatures, source, outdated"),
        ({"seed": -1}, "seed=-1"),
        ({"names": True}, "names=True"),
    ],
)
def test_knobs_that_there_are_not_are_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(KnobError, match=re.escape(said)):
        Knobs(**change)  # type: ignore[arg-type]


def test_no_value_hangs_on_the_last_digits() -> None:
    """In the first draft of this world a count stood on the edge of the next one."""
    world = generate(Knobs(seed=77, size=300, depth=4))
    for question in world.questions:
        for one in question.asked:
            assert steady(one.plan, question.crystal, world.symbols), (question.id, one.name)
