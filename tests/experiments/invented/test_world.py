"""Worlds as they are drawn: the same everywhere, one knob at a time, and readable."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from experiments.benchmarks.invented.gates import check_words
from experiments.benchmarks.invented.graph import evaluate
from experiments.benchmarks.invented.plans import mistakes, plan, program
from experiments.benchmarks.invented.questions import mistakable
from experiments.benchmarks.invented.reader import (
    UnreadableError,
    documents,
    read,
    restored,
    solve,
)
from experiments.benchmarks.invented.sensitivity import differs, steady, unmoved
from experiments.benchmarks.invented.world import KnobError, Knobs, World, generate

ROOT = Path(__file__).parents[3]
DIGEST = """
import hashlib
from experiments.benchmarks.invented.world import Knobs, generate

world = generate(Knobs(size=80, depth=3, questions=5))
told = repr([(one.description, one.gold) for q in world.questions for one in q.asked])
texts = [*world.files, *world.files.values(), *(q.reference for q in world.questions), told]
print(hashlib.sha256("".join(texts).encode()).hexdigest())
"""


@cache
def world(**changes: object) -> World:
    knobs: dict[str, object] = {"size": 80, "depth": 3, "questions": 6}
    return generate(Knobs(**{**knobs, **changes}))  # type: ignore[arg-type]


def _digest(python: str, hash_seed: str) -> str:
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": hash_seed}
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


@pytest.mark.parametrize(
    "change",
    [{"gap": 1}, {"gap": 2}, {"docs": "outdated"}, {"docs": "source"}, {"names": "opaque"}],
)
def test_wording_names_and_documentation_move_no_value(change: dict[str, object]) -> None:
    plain, changed = world(), world(**change)
    golds = [[(a.wanted, a.gold) for a in q.asked] for q in plain.questions]
    assert [[(a.wanted, a.gold) for a in q.asked] for q in changed.questions] == golds
    texts = [a.description for q in plain.questions for a in q.asked]
    reworded = [a.description for q in changed.questions for a in q.asked] != texts
    assert reworded is ("gap" in change)


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
    assert any(symbol.formula.inner for symbol in symbols)
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
    others = mistakable([symbol for symbol in made.symbols.values() if symbol.core])
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
    blind = {param: (usual, 0.0) for param, (usual, _) in symbol.formula.inputs.items()}
    deaf = replace(symbol, formula=replace(symbol.formula, inputs=blind, raw=""))
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
