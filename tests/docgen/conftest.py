"""A small package on disk, with everything that docgen must see through."""

from textwrap import dedent

import pytest

from tests.docgen.documenting import Documenting

FILES = {
    "brickwork/__init__.py": '''
        """Walls from bricks."""
        from brickwork.wall import Wall, build
        from brickwork.shapes import *
    ''',
    "brickwork/shapes.py": '''
        """Shapes of bricks."""
        from __future__ import annotations
        from abc import ABC, abstractmethod
        from dataclasses import dataclass, field
        from enum import Enum


        class Bond(Enum):
            """How courses overlap."""

            STRETCHER = 1
            HEADER = "header"


        class Shape(ABC):
            """Anything with a volume."""

            unit: str = "mm"

            def __init__(self, height: float, label: str | None = None) -> None:
                """Args:
                    height: Height in mm.
                    label: Name to print.
                """
                self.height = height
                self.label = label or "unnamed"
                self.tags: list[str] = []
                self._hidden = 1

            @property
            @abstractmethod
            def volume(self) -> float:
                """Volume in mm^3. More text."""

            def describe(self) -> str:
                """Name and volume."""
                return f"{self.label}: {self.volume}"

            @classmethod
            def flat(cls) -> Self:
                return cls(0.0)


        class Brick(Shape):
            """A cuboid."""

            def __init__(self, height: float, width: float = 100.0, *, depth: "float" = 50.0):
                super().__init__(height)
                self.width = width
                if width < 0:
                    raise ValueError("negative")

            @property
            def volume(self) -> float:
                return self.height * self.width

            @volume.setter
            def volume(self, value: float) -> None:
                self.width = value


        @dataclass
        class Mortar:
            """What joins bricks."""

            thickness: float
            colour: str = "grey"
            mixed: bool = field(default=False)
            layers: list[int] = field(default_factory=list)
            batch: int = field(default=0, init=False)
    ''',
    "brickwork/wall.py": '''
        """Walls."""
        from . import shapes
        from .shapes import Brick, Mortar


        class Wall:
            """Courses of bricks.

            Args:
                brick: The brick to repeat.
            """

            def __init__(self, brick: Brick, mortar: Mortar | None = None):
                self.brick = brick
                self.mortar = mortar

            def volume(self, courses: int = 3) -> float:
                """Volume of the wall.

                Args:
                    courses: How many.

                Returns:
                    float: mm^3

                Raises:
                    RuntimeError: when empty
                """
                if not courses:
                    raise RuntimeError("empty")
                one = self.brick.volume
                return one * courses + joint(self)

            def _secret(self): ...


        def joint(wall: Wall) -> float:
            """Mutual recursion with Wall.volume."""
            return wall.volume(0)


        def build(height: float) -> Wall:
            """Build a wall of default bricks."""
            brick = shapes.Brick(height)
            brick.describe()
            return Wall(brick)
    ''',
    "brickwork/tests/test_wall.py": "from brickwork import build\n\ndef test():\n    build(1)\n",
    "brickwork/conftest.py": "SECRET = 1\n",
    "brickwork/wall_test.py": "from brickwork import build\nbuild(2)\n",
    "brickwork/broken.py": "def oops(:\n",
    "brickwork-1.2.dist-info/METADATA": (
        "Metadata-Version: 2.1\nName: brickwork-dist\nVersion: 1.2\n"
    ),
    "brickwork-1.2.dist-info/RECORD": (
        "brickwork/__init__.py,,\nbrickwork/shapes.py,,\nbrickwork/wall.py,,\n"
    ),
}  # fmt: skip


def write_package(folder, files=FILES):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return folder


@pytest.fixture
def endpoint(httpserver):
    return Documenting(httpserver)
