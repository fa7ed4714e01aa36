"""Constants of modules, attributes of classes and members of enumerations have documents."""

import pytest

from docgen import render
from docgen.facts import FactsWriter
from docgen.library import read_library
from docgen.prompts import Prompter
from tests.support.samples import sample, table, write_package
from tests.support.writers import read_prompt


@pytest.fixture
def library(tmp_path):
    return read_library(["kiln"], write_package(tmp_path, sample("heat"))).public()


def test_which_names_are_documents(library):
    kinds = {name: s.kind for name, s in library.symbols.items()}
    constants = {
        n.removeprefix("kiln.heat.") for n, k in kinds.items() if k == "constant"
    }
    attributes = {
        n.removeprefix("kiln.heat.") for n, k in kinds.items() if k == "attribute"
    }
    # no logger, no other name of a class
    assert constants == {"KB", "MELTING", "LOSS", "TABLE", "HOT"}
    assert attributes == {
        "Fuel.WOOD",
        "Fuel.GAS",
        "Kiln.volume",
        "Kiln.fuel",
        "Kiln.LIMIT",
    }


CONSTANTS = table("documentation")["constants"]


@pytest.mark.parametrize(("name", "signature", "value", "docstring"), CONSTANTS)
def test_what_the_source_says(library, name, signature, value, docstring):
    symbol = library.symbols[f"kiln.heat.{name}"]
    assert (render.signature(symbol), symbol.value, symbol.docstring) == (
        signature,
        value,
        docstring,
    )


def test_a_long_table_is_cut_in_the_facts(library, tmp_path):
    table = library.symbols["kiln.heat.TABLE"]
    assert table.value.startswith("[0, 1, 2,")
    assert table.value.endswith(" ...")
    assert "61]" in table.source
    lines = (tmp_path / table.path).read_text().splitlines()
    assert lines[table.first_line - 1].startswith("TABLE")
    assert lines[table.last_line - 1].endswith("61]")


def test_facts_and_module_members_name_them(library):
    facts = render.facts(library.symbols["kiln.heat.KB"]).splitlines()
    assert facts == [
        "kiln.heat.KB",
        "kind: constant",
        "import: from kiln import KB",
        "signature: KB -> float",
        "value: 8.617e-05",
    ]
    assert "  KB -> float [constant]: eV/K" in render.facts(
        library.symbols["kiln.heat"]
    )
    assert library.aliases["kiln.KB"] == "kiln.heat.KB"


def test_prompts_show_them_and_facts_document_them(library):
    prompt = Prompter(library).build(["kiln.heat.LOSS"], {})
    assert "LOSS = constants.k * 2" in read_prompt(prompt)[0]["code"]
    writer = FactsWriter(library, {})
    text = render.prose(writer.facts(library.symbols["kiln.heat.LOSS"]))
    assert (
        "## What it does\nHeat lost through the door in W. Measured in 1998.\n" in text
    )
    assert "## Details\n```python\nLOSS = constants.k * 2\n```" in text
    assert "from kiln.heat import LOSS" in text
    gas = render.prose(writer.facts(library.symbols["kiln.heat.Fuel.GAS"]))
    assert "Gas of Fuel" in gas
    assert "result = Fuel.GAS" in gas
