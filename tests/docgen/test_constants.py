"""Constants of modules, attributes of classes and members of enumerations have documents."""

import pytest

from docgen.facts import FactsWriter, render_facts
from docgen.library import read_library
from docgen.prompts import Prompter
from tests.docgen.conftest import write_package
from tests.docgen.models import read_prompt

FILES = {
    "kiln/__init__.py": "from kiln.heat import KB\n",
    "kiln/heat.py": '''
        """Heat.

        Attributes:
            LOSS: Heat lost through the door in W.
        """
        import logging
        from dataclasses import dataclass
        from enum import Enum
        from typing import ClassVar, TypeVar
        from scipy import constants

        logger = logging.getLogger(__name__)
        T = TypeVar("T")
        KB = 8.617e-5  # eV/K
        #: Melting points in K.
        MELTING = {"Fe": 1811, "Cu": 1358}
        LOSS = constants.k * 2
        """Measured in 1998."""
        TABLE: list[int] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
            20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
            41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61]
        _private = 3
        unset: int
        if __name__ == "__main__":
            burned = KB
        else:
            HOT = 1500

        class Fuel(Enum):
            """What burns.

            Attributes:
                WOOD: Beech, dried for two years.
            """

            WOOD = "wood"
            GAS = "gas"

        @dataclass
        class Kiln:
            """A kiln."""

            volume: float  # in litres
            fuel: Fuel = Fuel.WOOD
            LIMIT: ClassVar[float] = 1600.0

            def burn(self): ...

            fire = burn

        Oven = Kiln
    ''',
}


@pytest.fixture
def library(tmp_path):
    return read_library(["kiln"], write_package(tmp_path, FILES)).public()


def test_which_names_are_documents(library):
    kinds = {name: s.kind for name, s in library.symbols.items()}
    constants = {n.removeprefix("kiln.heat.") for n, k in kinds.items() if k == "constant"}
    attributes = {n.removeprefix("kiln.heat.") for n, k in kinds.items() if k == "attribute"}
    # no logger, no other name of a class
    assert constants == {"KB", "MELTING", "LOSS", "TABLE", "HOT"}
    assert attributes == {"Fuel.WOOD", "Fuel.GAS", "Kiln.volume", "Kiln.fuel", "Kiln.LIMIT"}


@pytest.mark.parametrize(
    ("name", "signature", "value", "docstring"),
    [
        ("KB", "KB -> float", "8.617e-05", "eV/K"),
        ("MELTING", "MELTING -> dict", "{'Fe': 1811, 'Cu': 1358}", "Melting points in K."),
        ("LOSS", "", "", "Heat lost through the door in W. Measured in 1998."),
        ("Fuel.WOOD", "WOOD -> str", "'wood'", "Beech, dried for two years."),
        ("Fuel.GAS", "GAS -> str", "'gas'", ""),
        ("Kiln.volume", "volume -> float", "", "in litres"),
        ("Kiln.fuel", "fuel -> Fuel", "", ""),
        ("Kiln.LIMIT", "LIMIT -> ClassVar[float]", "1600.0", ""),
    ],
)
def test_what_the_source_says(library, name, signature, value, docstring):
    symbol = library.symbols[f"kiln.heat.{name}"]
    assert (symbol.signature, symbol.value, symbol.docstring) == (signature, value, docstring)


def test_a_long_table_is_cut_in_the_facts(library, tmp_path):
    table = library.symbols["kiln.heat.TABLE"]
    assert table.value.startswith("[0, 1, 2,")
    assert table.value.endswith(" ...")
    assert "61]" in table.source
    lines = (tmp_path / table.path).read_text().splitlines()
    assert lines[table.first_line - 1].startswith("TABLE")
    assert lines[table.last_line - 1].endswith("61]")


def test_facts_and_module_members_name_them(library):
    facts = render_facts(library.symbols["kiln.heat.KB"]).splitlines()
    assert facts == [
        "kiln.heat.KB",
        "kind: constant",
        "import: from kiln import KB",
        "signature: KB -> float",
        "value: 8.617e-05",
    ]
    assert "  KB -> float [constant]: eV/K" in render_facts(library.symbols["kiln.heat"])
    assert library.aliases["kiln.KB"] == "kiln.heat.KB"


def test_prompts_show_them_and_facts_document_them(library):
    prompt = Prompter(library).build(["kiln.heat.LOSS"], {})
    assert "LOSS = constants.k * 2" in read_prompt(prompt)[0]["code"]
    writer = FactsWriter(library, {})
    text = writer.text("kiln.heat.LOSS").text
    assert "## What it does\nHeat lost through the door in W. Measured in 1998.\n" in text
    assert "## Details\n```python\nLOSS = constants.k * 2\n```" in text
    assert "from kiln.heat import LOSS" in text
    gas = writer.text("kiln.heat.Fuel.GAS").text
    assert "Gas of Fuel" in gas
    assert "result = Fuel.GAS" in gas
