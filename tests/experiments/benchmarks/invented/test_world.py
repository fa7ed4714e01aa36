"""Worlds as they are drawn: the same everywhere, one knob at a time, and readable."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import yaml

from experiments.benchmarks.invented.benchmark import LEVELS, InventedBenchmark
from experiments.benchmarks.invented.graph import (
    all_show,
    differs,
    evaluate,
    mistakable,
    mistakes,
    steady,
    symbols_of,
)
from experiments.benchmarks.invented.lexicon import Knobs
from experiments.benchmarks.invented.prose import gloss, use
from experiments.benchmarks.invented.world import generate
from tests.experiments.benchmarks.invented.interpreter import Interpreter
from tests.support.paths import ROOT

BROAD = {"size": 300, "depth": 4, "breadth": 20, "questions": 20}
SOURCES = yaml.safe_load(
    (ROOT / "tests" / "data" / "invented.yaml").read_text(encoding="utf-8")
)


@cache
def world(**changes):
    knobs: dict[str, object] = {"size": 80, "depth": 3, "questions": 6}
    return generate(Knobs(**{**knobs, **changes}))


def _digest(python, hash_seed):
    # PyYAML and Jinja work on any version without their compiled parts.
    path = os.pathsep.join(
        [str(ROOT), *(str(Path(p).parents[1]) for p in (yaml.__file__,))]
    )
    variables = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": hash_seed}
    command = [
        python,
        "-c",
        SOURCES["digest"],
        str(ROOT / "experiments" / "benchmarks"),
    ]
    done = subprocess.run(
        command, env=variables, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def _runs(python):
    """A shim of a version that is not selected is found, and does not run."""
    return (
        subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode
        == 0
    )


@pytest.mark.parametrize("version", ["", "3.11", "3.12", "3.13"])
def test_the_same_knobs_give_the_same_bytes_on_other_versions_and_hash_seeds(version):
    pyenv = Path.home() / ".pyenv" / "versions"  # its shims do not always work
    found = [
        *sorted(pyenv.glob(f"{version}.*/bin/python")),
        shutil.which(f"python{version}"),
    ]
    found = found if version else [sys.executable]
    python = next((one for one in found if one and _runs(str(one))), None)
    if python is None:
        pytest.skip(f"no Python {version} here")
    assert _digest(str(python), "4242") == _digest(sys.executable, "1")


def _content(made):
    """What knobs may change."""
    properties = [q.properties[:2] for q in made.questions[:3]]
    return {
        "documents": made.files,
        "code": {
            name: text for name, text in made.bare.items() if name.endswith(".py")
        },
        "wording": [[one.description for one in some] for some in properties],
        "plans": [
            [(one.wanted, one.plan, one.gold) for one in some] for some in properties
        ],
        "goals": [q.goal for q in made.questions[:3]],
        "references": [q.reference for q in made.questions[:3]],
    }


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        ({"size": 400}, {"documents", "code"}),
        ({"gap": 1}, {"wording"}),
        ({"gap": 2}, {"wording"}),
        ({"breadth": 14}, {"wording", "plans", "goals", "references"}),
        ({"questions": 3}, set()),
    ],
)
def test_each_knob_changes_one_thing(change, changed):
    plain, other = _content(world()), _content(world(**change))
    assert {
        name for name, content in plain.items() if other[name] != content
    } == changed
    for one in (
        one for question in world(**change).questions for one in question.properties
    ):
        assert (one.wanted.term in one.description) is (change.get("gap", 0) == 0)


def test_a_level_is_a_world_of_these_knobs():
    made = InventedBenchmark(level=2, seed=7)
    assert {name: getattr(made, name) for name in LEVELS[2]} == LEVELS[2]
    plain = vars(Knobs())
    assert {name: plain[name] for name in LEVELS[3]} == LEVELS[3]
    assert made.seed == 7


def test_what_answers_import_has_the_same_code_and_no_word_about_it():
    made = world(size=200)
    assert set(made.files) == set(made.bare)
    for name in filter(lambda name: name.endswith(".py"), made.files):
        full, bare = ast.parse(made.files[name]), ast.parse(made.bare[name])
        for node in ast.walk(full):
            if isinstance(body := getattr(node, "body", None), list):
                node.body = [one for one in body if not _is_text(one)]
        assert ast.dump(full) == ast.dump(bare)
        assert "#" not in made.bare[name]
        assert '"""' not in made.bare[name]
    bare = "\n".join(made.bare.values())
    assert not [term for term in made.by_term if term in bare.lower()]


def _is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


@pytest.mark.parametrize("depth", [1, 8])
def test_depth_is_the_longest_chain(depth):
    made = world(depth=depth, size=60)
    assert {question.depth for question in made.questions} == {depth}
    core = [
        {
            s.entry.term: (s.entry, s.formula)
            for s in w.symbols.values()
            if s.core and not s.entry.needs and not s.entry.successor and s.entry.term
        }
        for w in (world(depth=2), made)
    ]
    assert depth == 1 or core[0] == core[1]  # what takes nothing stays as it is
    assert len(core[0]) >= 18


def test_a_world_holds_every_kind_of_symbol():
    symbols = world(size=300).symbols.values()
    assert len(symbols) == 300
    assert {symbol.entry.kind for symbol in symbols} == {
        "function",
        "class",
        "method",
        "property",
        "constant",
    }
    assert any(symbol.base for symbol in symbols)
    assert any(symbol.formula.values for symbol in symbols)
    ratios = [ratio.kind for symbol in symbols for ratio in symbol.formula.ratios]
    assert set(ratios) == {"raw", "need", "inner"}
    assert sum(bool(symbol.entry.successor) for symbol in symbols) == 3
    names = [symbol.entry.name for symbol in symbols if symbol.entry.kind == "function"]
    assert len(set(names)) < len(names)  # overloaded across modules


def test_nothing_of_a_world_stands_in_another():
    worlds = [world(seed=seed, size=300) for seed in (1, 2, 3)]
    texts = [
        "\n".join([*w.files.values(), *(q.goal for q in w.questions)]) for w in worlds
    ]
    coined = [{word for term in w.by_term for word in term.split()[:1]} for w in worlds]
    for one, words in enumerate(coined):
        assert len(words) > 200
        for other, text in enumerate(texts):
            found = words & set(re.findall(r"[a-z]+", text.lower()))
            assert bool(found) is (one == other)
    golds = [{repr(a.gold) for q in w.questions for a in q.properties} for w in worlds]
    assert not golds[0] & golds[1] | golds[1] & golds[2] | golds[0] & golds[2]


def docstrings(made):
    """What each module and symbol says, in one line."""
    found, waiting = {}, []
    for name, text in made.files.items():
        if name.endswith(".py"):
            waiting.append(
                (name.removesuffix(".py").replace("/", "."), ast.parse(text))
            )
    for path, node in waiting:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            found[path] = " ".join((ast.get_docstring(node) or "").split())
            waiting += [
                (f"{path}.{getattr(one, 'name', '')}", one) for one in node.body
            ]
    return found


def test_the_documents_hold_every_fact_that_a_question_needs():
    made = world(size=300, questions=20)
    texts, constants = (
        docstrings(made),
        "\n".join(made.files.values()).replace("#: ", ""),
    )
    needed = {
        p
        for q in made.questions
        for one in q.properties
        for p in symbols_of(one.plan.call)
    }
    assert len(needed) > 40
    for path in needed:
        entry, told = made.symbols[path].entry, made.prose.statements[path]
        params = (
            []
            if entry.owner
            else [n.param for n in entry.needs if n.param != "structure"]
        )
        facts = len(params) + len(entry.choices) + (entry.kind != "class")
        assert len(told) >= facts
        for place, sentence in told:
            text = (
                " ".join(constants.split())
                if entry.kind == "constant"
                else texts[place]
            )
            assert " ".join(sentence.split()) in text, (path, place, sentence)
        if entry.kind not in {"constant", "class"}:
            assert entry.term in texts[path].lower()
            signature = made.prose.pages[path].params
            assert {*params, *(c.param for c in entry.choices)} <= set(signature)


def test_docstrings_are_no_grammar():
    """Who writes a program that interprets them solves what is flat, and little of the rest."""
    shares = []
    for knobs in ({"depth": 1, "breadth": 6}, BROAD):
        made = world(**knobs)
        reader, right, total = Interpreter(made.files), 0, 0
        for question in made.questions:
            for one in question.properties:
                total += 1
                with suppress(
                    LookupError, RuntimeError, StopIteration, TypeError, ValueError
                ):
                    found = reader.solve(one.description, question.crystal)
                    value = evaluate(found, question.crystal, made.symbols)
                    right += not differs(one.gold, value, 1e-3)
        shares.append(right / total)
    flat, deep = shares
    assert flat > 0.4  # it is not a weak one
    assert deep < 0.1


def test_every_single_mistake_shows_and_one_that_does_not_is_found():
    made = world(questions=12)
    others, kinds = mistakable(made.symbols), set()
    for question in made.questions:
        for one in question.properties:
            assert steady(
                one.plan, question.crystal, made.symbols
            )  # no count on an edge
            assert all_show(one.plan, question.crystal, made.symbols, others)
            for wrong in mistakes(one.plan, question.crystal, others):
                kinds |= {n for n, v in vars(wrong).items() if vars(one.plan)[n] != v}
                kinds |= {
                    n
                    for n, v in vars(wrong.call).items()
                    if vars(one.plan.call)[n] != v
                }
                pairs = zip(wrong.call.inputs, one.plan.call.inputs, strict=False)
                kinds |= {
                    n for w, r in pairs for n, v in vars(w).items() if vars(r)[n] != v
                }
    # Unit and sign, another element or entry, another symbol, an option, an inversion.
    assert kinds == {
        "factor",
        "key",
        "entry",
        "settings",
        "reciprocal",
        "call",
        "inputs",
    }
    question = world().questions[0]
    one = next(a for a in question.properties if a.plan.call.inputs)
    symbol = world().symbols[one.plan.call.entry.path]
    deaf = replace(symbol, formula=replace(symbol.formula, ratios=()))
    symbols = {**world().symbols, symbol.entry.path: deaf}
    assert not all_show(one.plan, question.crystal, symbols, {})


def test_no_value_stands_in_the_text_of_another_property():
    made = world(
        seed=15, size=60, depth=4, questions=30
    )  # an option of 1.17, and a value of it
    for question in made.questions:
        text = " ".join(
            [question.goal, *(one.description for one in question.properties)]
        )
        shown = [
            float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", text)
        ]
        values = [
            abs(one.gold) for one in question.properties if isinstance(one.gold, float)
        ]
        assert not [v for v in values for n in shown if abs(v - n) <= 1e-3 * v]


def test_nothing_stands_for_two():
    made = world(size=400)
    symbols = [
        s for s in made.symbols.values() if not s.entry.successor and s.entry.term
    ]
    for keys in (
        [s.entry.term for s in symbols],
        [gloss(s, [wording] * 3) for s in symbols for wording in (0, 1)],
        [use(s, [wording] * 3) for s in symbols for wording in (0, 1)],
    ):
        assert not [key for key, count in Counter(keys).items() if count > 1]
    for symbol in made.symbols.values():
        names = [n.param for n in symbol.entry.needs] + [
            c.param for c in symbol.entry.choices
        ]
        assert len(set(names)) == len(names)
