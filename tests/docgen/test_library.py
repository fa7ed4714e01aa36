from __future__ import annotations

from pathlib import Path

import pytest

from docgen.docstrings import described_names, first_sentence
from docgen.facts import render_facts
from docgen.library import read_library
from docgen.order import documentation_order
from docgen.sources import SourceError, is_test, read_sources
from docgen.symbols import Library


@pytest.fixture
def library(package: Path) -> Library:
    return read_library(["brickwork"], package)


def test_every_kind_of_symbol_is_found(library: Library) -> None:
    kinds = {name: s.kind for name, s in library.symbols.items()}
    assert kinds["brickwork.wall"] == "module"
    assert kinds["brickwork.wall.Wall"] == "class"
    assert kinds["brickwork.wall.Wall.volume"] == "method"
    assert kinds["brickwork.shapes.Brick.volume"] == "property"
    assert kinds["brickwork.wall.build"] == "function"
    assert "brickwork.wall.Wall.__init__" not in kinds


def test_tests_are_left_out_and_broken_files_are_named(library: Library) -> None:
    assert not [name for name in library.symbols if "test" in name or "conftest" in name]
    assert list(library.unreadable) == ["brickwork/broken.py"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("pkg/tests/helper.py", True),
        ("pkg/test_a.py", True),
        ("pkg/a_test.py", True),
        ("pkg/conftest.py", True),
        ("pkg/testing.py", True),
        ("pkg/contest.py", False),
        ("pkg/latest.py", False),
        ("pkg/protest/a.py", False),
    ],
)
def test_what_counts_as_a_test(path: str, expected: bool) -> None:
    assert is_test(Path(path)) is expected


def test_versions_come_from_the_metadata(package: Path, library: Library) -> None:
    wall = library.symbols["brickwork.wall.Wall"]
    assert (wall.package, wall.version) == ("brickwork-dist", "1.2")
    assert wall.path == "brickwork/wall.py"
    assert library.symbols["brickwork.wall"].first_line == 1
    source = (package / wall.path).read_text().splitlines()
    assert source[wall.first_line - 1].startswith("class Wall")


def test_a_folder_without_metadata_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "loose.py").write_text("def f(): ...\n")
    (source,) = read_sources(["loose"], tmp_path)
    assert (source.package, source.version) == ("loose", None)


def test_a_missing_package_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=str(tmp_path)):
        read_library(["absent"], tmp_path)


def test_signatures(library: Library) -> None:
    symbols = library.symbols
    assert symbols["brickwork.shapes.Brick"].signature == (
        "Brick(height: float, width: float = 100.0, *, depth: float = 50.0)"
    )
    assert symbols["brickwork.shapes.Mortar"].signature == (
        "Mortar(thickness: float, colour: str = 'grey', mixed: bool = False, "
        "layers: list[int] = ...)"
    )
    assert symbols["brickwork.shapes.Bond"].signature == "Bond"
    assert symbols["brickwork.shapes.Shape.volume"].signature == "volume -> float"
    assert symbols["brickwork.shapes.Shape.flat"].signature == "flat() -> Shape"
    assert symbols["brickwork.shapes.Shape.flat"].modifiers == ("classmethod",)
    assert symbols["brickwork.wall.Wall.volume"].raises == ("RuntimeError",)
    assert symbols["brickwork.shapes.Brick"].raises == ("ValueError",)


def test_members_own_first_then_inherited(library: Library) -> None:
    members = {m.name: m for m in library.symbols["brickwork.shapes.Brick"].members}
    assert list(members)[:2] == ["volume", "width"]
    assert members["volume"].kind == "property"
    assert members["describe"].origin == "Shape"
    assert members["describe"].qualname == "brickwork.shapes.Shape.describe"
    assert members["flat"].signature == "() -> Brick"
    assert members["flat"].kind == "classmethod"
    assert members["height"].signature == "-> float"
    assert members["label"].signature == "-> str | None"
    assert members["tags"].signature == "-> list[str]"
    assert "_hidden" not in members


def test_a_package_lists_its_modules_and_what_they_define(library: Library) -> None:
    modules = [m for m in library.symbols["brickwork"].members if m.kind == "module"]
    assert "brickwork.wall" in {m.qualname for m in modules}
    wall = next(m for m in modules if m.name == "wall")
    assert "Defines Wall" in wall.summary
    assert not any(m.kind == "module" for m in library.symbols["brickwork.wall"].members)


def test_calls_are_resolved_through_types_and_imports(library: Library) -> None:
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


def test_import_paths(library: Library) -> None:
    assert library.aliases["brickwork.Wall"] == "brickwork.wall.Wall"
    assert library.aliases["brickwork.Brick"] == "brickwork.shapes.Brick"
    assert library.aliases["brickwork.shapes.Brick.describe"] == "brickwork.shapes.Shape.describe"
    assert library.symbols["brickwork.wall.Wall"].import_path == "brickwork.Wall"
    found = library.find("brickwork.Wall.volume")
    assert found is not None
    assert found.qualname == "brickwork.wall.Wall.volume"


def test_order_puts_callees_first_and_keeps_recursion_together(library: Library) -> None:
    order = documentation_order(library)
    assert sorted(order.sequence) == sorted(library.symbols)
    assert order.groups == (("brickwork.wall.Wall.volume", "brickwork.wall.joint"),)
    rank = {name: i for i, name in enumerate(order.sequence)}
    assert abs(rank["brickwork.wall.Wall.volume"] - rank["brickwork.wall.joint"]) == 1
    for name, needs in order.needs.items():
        assert all(rank[need] < rank[name] for need in needs)
    assert "brickwork.shapes.Brick" in order.needs["brickwork.wall.build"]


def test_facts_follow_the_fixed_layout(library: Library) -> None:
    lines = render_facts(library.symbols["brickwork.shapes.Brick"]).splitlines()
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


def test_class_source_leaves_out_the_bodies_of_methods(library: Library) -> None:
    source = library.symbols["brickwork.wall.Wall"].source
    assert "self.brick = brick" in source  # the constructor stays
    assert "def volume" not in source  # that is among the members
    assert "return one * courses" not in source


def test_public_drops_private_symbols_and_calls_to_them(library: Library) -> None:
    public = library.public()
    assert "brickwork.wall.Wall._secret" in library.symbols
    assert "brickwork.wall.Wall._secret" not in public.symbols
    assert all(call in public.symbols for s in public.symbols.values() for call in s.calls)


def test_import_cycles_end(tmp_path: Path) -> None:
    (tmp_path / "ring").mkdir()
    (tmp_path / "ring/__init__.py").write_text("from ring.a import thing\n")
    (tmp_path / "ring/a.py").write_text("from ring.b import thing\n\ndef f():\n    thing()\n")
    (tmp_path / "ring/b.py").write_text("from ring.a import thing\n")
    library = read_library(["ring"], tmp_path)
    assert library.symbols["ring.a.f"].calls == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two.", "One."),
        ("Only this", "Only this"),
        ("A wall, e.g. of brick. More.", "A wall, e.g. of brick."),
        ("Wrapped\nline. Next.", "Wrapped line."),
        ("", ""),
    ],
)
def test_first_sentence(text: str, expected: str) -> None:
    assert first_sentence(text) == expected


GOOGLE = """A pair.

    Attributes:
        formula_a (str): Formula of the first,
            reduced.
        pairs (list[Pair]): All of them. Keys are
            "x": the share.
        **kwargs: Handed on.

    Raises:
        ValueError: Never.
    """
NUMPY = """A pair.

    Parameters
    ----------
    formula_a : str
        Formula of the first,
        reduced.
    pairs
        All of them. Keys are "x": the share.

    Returns
    -------
    float
        Not an attribute.
    """
DIRECTIVE = """A pair.

    .. attribute: formula_a

        Formula of the first, reduced.

    .. attribute:: pairs

        All of them. Keys are "x": the share.
    """
SPHINX = """A pair.

    :param formula_a: Formula of the first,
        reduced.
    :ivar list pairs: All of them. Keys are "x": the share.
    :return: nothing
    """


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, DIRECTIVE, SPHINX])
def test_what_a_docstring_says_about_names(docstring: str) -> None:
    found = described_names(docstring)
    assert found.pop("kwargs", "Handed on.") == "Handed on."
    assert found == {
        "formula_a": "Formula of the first, reduced.",
        "pairs": 'All of them. Keys are "x": the share.',
    }


def test_a_long_text_about_a_name_is_cut() -> None:
    (text,) = described_names(f"Args:\n    x: {'word ' * 100}").values()
    assert len(text) < 260
    assert text.endswith("...")


def test_attributes_are_members_with_what_the_docstrings_say(tmp_path: Path) -> None:
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
