import pytest

from docgen import render
from docgen.calls import CodeResolver
from docgen.docstrings import described, described_names, first_sentence
from docgen.library import read_library
from docgen.prompts import documentation_order
from docgen.sources import SourceError, read_sources
from tests.support.samples import sample, table, write_package


@pytest.fixture
def library(package):
    return read_library(["brickwork"], package)


def test_every_kind_of_symbol_is_found_and_broken_files_are_named(library):
    kinds = {
        name.removeprefix("brickwork."): s.kind for name, s in library.symbols.items()
    }
    found = {"wall": "module", "wall.Wall": "class", "wall.Wall.volume": "method"}
    found |= {"shapes.Brick.volume": "property", "wall.build": "function"}
    assert found.items() <= kinds.items()
    assert "wall.Wall.__init__" not in kinds
    assert list(library.unreadable) == ["brickwork/broken.py"]


def test_a_missing_package_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(SourceError, match=str(tmp_path)):
        read_library(["absent"], tmp_path)


def test_signatures(library):
    symbols = library.symbols
    assert render.signature(symbols["brickwork.shapes.Brick"]) == (
        "Brick(height: float, width: float = 100.0, *, depth: float = 50.0)"
    )
    assert render.signature(symbols["brickwork.shapes.Mortar"]) == (
        "Mortar(thickness: float, colour: str = 'grey', mixed: bool = False, "
        "layers: list[int] = ...)"
    )
    assert render.signature(symbols["brickwork.shapes.Bond"]) == "Bond"
    assert (
        render.signature(symbols["brickwork.shapes.Shape.volume"]) == "volume -> float"
    )
    assert render.signature(symbols["brickwork.shapes.Shape.flat"]) == "flat() -> Shape"
    assert symbols["brickwork.shapes.Shape.flat"].modifiers == ("classmethod",)
    assert symbols["brickwork.wall.Wall.volume"].raises == ("RuntimeError",)
    assert symbols["brickwork.shapes.Brick"].raises == ("ValueError",)


def test_members_own_first_then_inherited(library):
    members = {m.name: m for m in library.symbols["brickwork.shapes.Brick"].members}
    assert list(members)[:2] == ["volume", "width"]
    assert members["volume"].kind == "property"
    assert members["describe"].origin == "Shape"
    assert members["describe"].qualname == "brickwork.shapes.Shape.describe"
    assert render.signature_text(members["flat"].signature) == "() -> Brick"
    assert members["flat"].kind == "classmethod"
    assert render.signature_text(members["height"].signature) == " -> float"
    assert render.signature_text(members["label"].signature) == " -> str | None"
    assert render.signature_text(members["tags"].signature) == " -> list[str]"
    assert "_hidden" not in members


def test_a_package_lists_its_modules_and_what_they_define(library):
    modules = [m for m in library.symbols["brickwork"].members if m.kind == "module"]
    assert "brickwork.wall" in {m.qualname for m in modules}
    wall = next(m for m in modules if m.name == "wall")
    assert "Defines Wall" in wall.summary
    assert not any(
        m.kind == "module" for m in library.symbols["brickwork.wall"].members
    )


def test_calls_are_resolved_through_types_and_imports(library):
    symbols = library.symbols
    assert set(symbols["brickwork.wall.build"].calls) == {
        "brickwork.shapes.Brick",
        "brickwork.shapes.Shape.describe",
        "brickwork.wall.Wall",
    }
    assert set(symbols["brickwork.wall.Wall.volume"].calls) == {
        "brickwork.shapes.Brick.volume",
        "brickwork.wall.joint",
    }
    assert library.callers()["brickwork.wall.Wall"] == ["brickwork.wall.build"]


def test_import_paths(library):
    assert library.aliases["brickwork.Wall"] == "brickwork.wall.Wall"
    assert library.aliases["brickwork.Brick"] == "brickwork.shapes.Brick"
    assert (
        library.aliases["brickwork.shapes.Brick.describe"]
        == "brickwork.shapes.Shape.describe"
    )
    assert library.symbols["brickwork.wall.Wall"].import_path == "brickwork.Wall"
    assert library.aliases["brickwork.Wall.volume"] == "brickwork.wall.Wall.volume"


def test_order_puts_callees_first_and_keeps_recursion_together(library):
    order = documentation_order(library)
    assert sorted(order) == sorted(library.symbols)
    rank = {name: i for i, name in enumerate(order)}
    assert abs(rank["brickwork.wall.Wall.volume"] - rank["brickwork.wall.joint"]) == 1
    for name, needs in order.items():
        assert all(rank[need] < rank[name] for need in needs)
    assert "brickwork.shapes.Brick" in order["brickwork.wall.build"]


def test_facts_follow_the_fixed_layout(library):
    lines = render.facts(library.symbols["brickwork.shapes.Brick"]).splitlines()
    assert lines[:4] == [
        "brickwork.shapes.Brick",
        "kind: class",
        "import: from brickwork import Brick",
        "signature: Brick(height: float, width: float = 100.0, *, depth: float = 50.0)",
    ]
    assert lines[4:7] == ["bases: Shape", "raises: ValueError", "members:"]
    assert "  volume -> float [property]" in lines
    assert "  describe() -> str [method]: Name and volume. (from Shape)" in lines
    assert "  height -> float [attribute]: Height in mm. (from Shape)" in lines


def test_import_cycles_end(tmp_path):
    (tmp_path / "ring").mkdir()
    (tmp_path / "ring/__init__.py").write_text("from ring.a import thing\n")
    (tmp_path / "ring/a.py").write_text(
        "from ring.b import thing\n\ndef f():\n    thing()\n"
    )
    (tmp_path / "ring/b.py").write_text("from ring.a import thing\n")
    library = read_library(["ring"], tmp_path)
    assert library.symbols["ring.a.f"].calls == ()


@pytest.mark.parametrize(("text", "expected"), table("documentation")["sentences"])
def test_first_sentence(text, expected):
    assert first_sentence(text) == expected


@pytest.mark.parametrize(
    ("style", "returns"),
    [
        ("google", ""),
        ("numpy", "float: Not an attribute."),
        ("directive", ""),
        ("sphinx", "nothing"),
    ],
)
def test_what_a_docstring_says(style, returns):
    docstring = sample("docstrings")[style]
    said = described(docstring)
    assert (said.summary, said.returns) == ("A pair.", returns)
    found = described_names(docstring)
    assert found.pop("kwargs", "Handed on.") == "Handed on."
    assert found == {
        "formula_a": "Formula of the first, reduced.",
        "pairs": 'All of them. Keys are "x": the share.',
    }


def test_a_long_text_about_a_name_is_cut():
    (text,) = described_names(f"Args:\n    x: {'word ' * 100}").values()
    assert len(text) < 260
    assert text.endswith("...")


def test_attributes_are_members_with_what_the_docstrings_say(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/__init__.py").write_text(
        "class Stock:\n"
        "    '''What is there.\n\n    Attributes:\n        weight (float): In kg.\n    '''\n"
        "    def __init__(self, goods, weight):\n"
        "        '''Args:\n            goods: By name.\n            weight: Ignored.'''\n"
        "        self.goods = goods\n        self.weight = weight\n        self.secret = 1\n"
    )
    members = read_library(["shop"], tmp_path).symbols["shop.Stock"].members
    told = {member.name: member.summary for member in members}
    assert told == {"goods": "By name.", "weight": "In kg.", "secret": ""}


def test_a_property_by_a_decorator_of_the_library(tmp_path):
    source = "class Kiln:\n    @heat_property\n    def rate(self): ...\n    def fire(self): ...\n"
    write_package(tmp_path, {"kiln/__init__.py": source})
    found = read_library(["kiln"], tmp_path).symbols
    assert (found["kiln.Kiln.rate"].kind, found["kiln.Kiln.fire"].kind) == (
        "property",
        "method",
    )


@pytest.fixture
def usage(package):
    return CodeResolver(read_sources(["brickwork"], package))


def test_what_a_solution_uses_is_resolved(usage):
    assert (
        usage.symbols(sample("solution")["solution.py"])
        == table("documentation")["used"]
    )


LOCAL = """
def solution():
    from brickwork import Wall
    def build(): ...
    build()
    return isinstance(1, Wall)
"""


@pytest.mark.parametrize(
    ("code", "used"),
    [
        (LOCAL, {"brickwork.wall.Wall": "class"}),
        (
            "from brickwork import build\nw = build(1)\n",
            {"brickwork.wall.build": "function"},
        ),
        ("import math\n\ndef f():\n    return math.sqrt(2)\n", {}),
    ],
)
def test_where_a_name_stands(usage, code, used):
    assert usage.symbols(code) == used
    with pytest.raises(SyntaxError):
        usage.symbols(f"{code}def f(:")


def test_traced_names(usage):
    names = [
        "brickwork.wall.Wall.__init__",
        "brickwork.wall.Wall.volume",
        "json.dumps",
        "brickwork.wall.build.<locals>.inner",
        "brickwork.shapes.Brick.describe",
    ]
    assert usage.kinds_of(names) == {
        "brickwork.wall.Wall": "class",
        "brickwork.wall.Wall.volume": "method",
        "brickwork.shapes.Shape.describe": "method",
    }


def test_a_stub_is_the_source_of_a_compiled_module(tmp_path):
    files = {
        "gems/__init__.py": "from ._ext import *\n",
        "gems/_ext.pyi": '''
            """Gems, compiled."""
            from typing import overload

            class Cell:
                """A unit cell."""
                a: float
                @property
                def volume(self) -> float:
                    """Volume in cubic angstrom."""
                @overload
                def __init__(self, a: float) -> None: ...
                @overload
                def __init__(self, a: float, b: float) -> None: ...

            @overload
            def read(path: str) -> Cell: ...
            @overload
            def read(path: bytes) -> Cell:
                """Read a file."""
        ''',
        "gems/both.py": "from gems._fast import sums\ndef one(): ...\n",
        "gems/_fast.pyi": "def sums() -> int: ...\n",
        "gems/fast.pyi": "def products() -> int: ...\n",
        "gems/both.pyi": "def two() -> int: ...\n",
    }
    library = read_library(["gems"], write_package(tmp_path, files))
    symbols = library.symbols
    assert {"gems._ext.Cell", "gems._ext.read", "gems._ext.Cell.volume"} <= set(symbols)
    assert symbols["gems._ext.Cell"].import_path == "gems.Cell"
    assert render.signature(symbols["gems._ext.read"]) == "read(path: bytes) -> Cell"
    assert "gems.fast.products" in symbols  # nobody in the library imports it
    assert "gems._fast.sums" not in symbols  # only another module does
    assert "gems.both.one" in symbols
    assert "gems.both.two" not in symbols  # the source says what there is
