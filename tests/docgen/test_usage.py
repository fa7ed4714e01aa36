from __future__ import annotations

from pathlib import Path

import pytest

from docgen.sources import read_sources
from docgen.usage import CodeResolver


@pytest.fixture
def usage(package: Path) -> CodeResolver:
    return CodeResolver(read_sources(["brickwork"], package))


def test_what_a_solution_uses_is_resolved(usage: CodeResolver) -> None:
    code = """
from brickwork import build
from brickwork.shapes import Brick as B
import brickwork.wall as walls

def solution():
    wall = build(65.0)
    flat = B.flat()
    text = B(1.0).describe()
    other = walls.Wall(wall.brick)
    return wall.volume(3), other.brick.volume
"""
    assert usage.symbols(code) == {
        "brickwork.wall.build": "function",
        "brickwork.shapes.Shape.flat": "method",
        "brickwork.shapes.Brick": "class",
        "brickwork.shapes.Shape.describe": "method",
        "brickwork.wall.Wall": "class",
        "brickwork.wall.Wall.volume": "method",
        "brickwork.shapes.Brick.volume": "property",
    }


def test_a_name_inside_a_function_counts_and_a_local_one_does_not(usage: CodeResolver) -> None:
    code = """
def solution():
    from brickwork import Wall
    def build(): ...
    build()
    return isinstance(1, Wall)
"""
    assert usage.symbols(code) == {"brickwork.wall.Wall": "class"}


def test_code_outside_functions_counts(usage: CodeResolver) -> None:
    assert "brickwork.wall.build" in usage.symbols("from brickwork import build\nw = build(1)\n")


def test_code_without_the_library_uses_nothing(usage: CodeResolver) -> None:
    assert usage.symbols("import math\n\ndef f():\n    return math.sqrt(2)\n") == {}


def test_broken_code_is_an_error(usage: CodeResolver) -> None:
    with pytest.raises(SyntaxError):
        usage.symbols("def f(:")


def test_traced_names(usage: CodeResolver) -> None:
    names = ["brickwork.wall.Wall.__init__", "brickwork.wall.Wall.volume", "json.dumps",
             "brickwork.wall.build.<locals>.inner", "brickwork.shapes.Brick.describe"]  # fmt: skip
    assert usage.known(names) == {
        "brickwork.wall.Wall": "class",
        "brickwork.wall.Wall.volume": "method",
        "brickwork.shapes.Shape.describe": "method",
    }
