import pytest

from docgen.calls import CodeResolver
from docgen.sources import read_sources


@pytest.fixture
def usage(package):
    return CodeResolver(read_sources(["brickwork"], package))


def test_what_a_solution_uses_is_resolved(usage):
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
        ("from brickwork import build\nw = build(1)\n", {"brickwork.wall.build": "function"}),
        ("import math\n\ndef f():\n    return math.sqrt(2)\n", {}),
    ],
)
def test_where_a_name_stands(usage, code, used):
    assert usage.symbols(code) == used
    with pytest.raises(SyntaxError):
        usage.symbols(f"{code}def f(:")


def test_traced_names(usage):
    names = ["brickwork.wall.Wall.__init__", "brickwork.wall.Wall.volume", "json.dumps",
             "brickwork.wall.build.<locals>.inner", "brickwork.shapes.Brick.describe"]  # fmt: skip
    assert usage.known(names) == {
        "brickwork.wall.Wall": "class",
        "brickwork.wall.Wall.volume": "method",
        "brickwork.shapes.Shape.describe": "method",
    }
