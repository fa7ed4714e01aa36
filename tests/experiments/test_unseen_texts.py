"""Ordinary words, formulas and keys keep what they are; names are translated where they stand."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from experiments.benchmarks.unseen.build import UnseenLibrary
from experiments.benchmarks.unseen.mapping import NameMap
from experiments.benchmarks.unseen.owners import Owners
from experiments.benchmarks.unseen.prose import translate
from experiments.benchmarks.unseen.rewrite import rewrite
from experiments.benchmarks.unseen.source import Vocabulary
from experiments.benchmarks.unseen.text_gates import changed_words, literals, text_scan

NAMES = NameMap(
    packages={"toy.cells": "wumpa"},
    distributions={},
    identifiers={
        "E": "Driwo", "g": "jodre", "G": "Nilem", "t": "wakam", "step": "hogrok", "energy": "zor",
        "structure": "plom", "smoothed": "tarn", "Solver": "Krado", "run": "velp",
        "band_gap": "rugor_vegror", "func": "truga", "DefectSite": "MalaTok", "s": "brin",
    },
    keys={},
    proper={},
    kept=(),
)  # fmt: skip
NOTHING = Vocabulary(frozenset(), frozenset(), frozenset())


@pytest.mark.parametrize(
    "text",
    [
        "All anions. E.g., S or O.",
        "The G=0 term, and a sum_{t=0}^{N-1} over it.",
        "The kernel :math:`G^T x` from :math:`g=0`.",
        "Use the structure and the energy of a run.",
        "Returns:\n    energy: The energy of the structure.",
        "Two remarks.\n\nNote:\n    structure: as given before",
    ],
)
def test_ordinary_words_and_formulas_stay(text: str) -> None:
    assert translate(text, NAMES) == text


@pytest.mark.parametrize(
    ("text", "translated"),
    [
        ("Args:\n    G (Graph): The graph.", "Args:\n    Nilem (Graph): The graph."),
        (
            "Args:\n    G: G=0.\n\nReturns:\n    E: E.",
            "Args:\n    Nilem: G=0.\n\nReturns:\n    E: E.",
        ),
        ("A list of ``DefectSite``s.", "A list of ``MalaTok``s."),
        ("Unless ``step=0``, see `structure`.", "Unless ``hogrok=0``, see `plom`."),
        ("With smoothed=False, or smoothed='max'.", "With tarn=False, or tarn='max'."),
        ("Passed to the Solver.run method.", "Passed to the Krado.velp method."),
        ("As in get_df(\n  func=a, step=(1, 2))", "As in get_df(\n  truga=a, hogrok=(1, 2))"),
        (":param step: of the walk", ":param hogrok: of the walk"),
    ],
)
def test_names_are_translated_where_they_are_marked(text: str, translated: str) -> None:
    assert translate(text, NAMES) == translated
    assert list(changed_words(translated, NAMES)) == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("All anions. Driwo.jodre., S or O.", "E"),
        ("The Nilem=0 term.", "G"),
        ("The kernel :math:`Nilem^T x`.", "G"),
        ("Use the plom of it.", "structure"),
    ],
)
def test_the_gate_finds_ordinary_words_that_were_changed(text: str, word: str) -> None:
    assert any(f"stands for the word {word} " in what for what in changed_words(text, NAMES))


KEYS = '''"""Alloys with a "band_gap" (default)."""


def plot(key="band_gap"):
    """Plot the "band_gap" over x."""
    return key
'''


def test_a_key_has_one_name_in_code_and_documentation() -> None:
    """``band_gap`` is a name elsewhere in the libraries, and here a key that others use too."""
    others = Vocabulary(frozenset({"band_gap"}), frozenset(), frozenset())
    assert rewrite(KEYS, NAMES, Owners(), vocabulary=others, modules=()).text == KEYS
    alone = rewrite(KEYS, NAMES, Owners(), vocabulary=NOTHING, modules=()).text
    assert alone == KEYS.replace("band_gap", "rugor_vegror")


def test_the_gate_finds_a_key_that_the_documentation_calls_else(tmp_path: Path) -> None:
    (tmp_path / "source" / "wumpa").mkdir(parents=True)
    (tmp_path / "private").mkdir()
    NAMES.save(tmp_path / "private" / "mapping.json")
    file = tmp_path / "source" / "wumpa" / "__init__.py"
    library = UnseenLibrary(tmp_path, ("wumpa",))
    file.write_text(KEYS)
    assert text_scan(library) == []
    file.write_text(KEYS.replace('Plot the "band_gap"', 'Plot the "rugor_vegror"'))
    (finding,) = text_scan(library)
    assert "rugor_vegror is quoted, and the key is band_gap in the code" in finding
    assert literals(ast.parse(KEYS)) == {"band_gap"}
