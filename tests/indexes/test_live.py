"""Introspection of a small package, in the real sandbox."""

import asyncio
import hashlib
from functools import partial
from textwrap import dedent

import pytest

from indexes.corpus import CorpusError
from indexes.live import live_corpus
from sandbox.base import Execution, Outcome, SandboxConfig
from sandbox.factory import available, get_sandbox
from tests.docgen.conftest import write_package

FILES = {
    "greenery/__init__.py": '''
        """Plants in pots."""
        from greenery.pots import Pot, Glazed
    ''',
    "greenery/pots.py": '''
        """Pots."""
        from __future__ import annotations
        from collections import UserDict, namedtuple
        from dataclasses import dataclass
        from enum import Enum
        from functools import cached_property, lru_cache, wraps
        from typing import TYPE_CHECKING

        from monty.json import MSONable

        if TYPE_CHECKING:
            from greenery.soil import Soil

        Label = namedtuple("Label", "text colour")


        class Size(Enum):
            """How large."""

            SMALL = 1

            def litres(self) -> float:
                """Volume in litres."""


        class Pot(MSONable):
            """Holds soil."""

            rim: float = 2.0

            def __init__(self, soil: Soil, depth: float = 10.0, *, label: Label | None = None):
                """Args:
                    soil: What is in it.
                """
                self.soil = soil
                self.depth = depth

            def fill(self, soil: Soil, /, *more: Soil, level=object()) -> Pot:
                """Fill it.

                To the rim.
                """

            @cached_property
            def volume(self) -> float:
                """Litres."""

            @staticmethod
            def empty(count: int = 3) -> list[Pot]:
                """Some pots."""

            def _hidden(self): ...


        def _reader(colour):
            def read(self, strict: bool = False) -> float:
                """Share of light of a colour."""
            return read


        for _colour in ("red", "blue"):
            setattr(Pot, f"get_{_colour}_share", _reader(_colour))


        class Glazed(Pot):
            def fill(self, soil): ...


        class Shelf(UserDict):
            """Pots by name."""


        @lru_cache
        def area(width: float) -> float:
            """Area of a base."""


        def _logged(function):
            @wraps(function)
            def inner(*args): return function(*args)
            return inner


        @_logged
        def stack(pots: list[Pot]) -> int:
            """Height of a stack."""


        Tiny = type("Tiny", (Glazed,), {"__doc__": "Made at run time.", "__module__": __name__})
    ''',
    "greenery/soil.py": '''
        """Soil."""

        class Soil:
            """Earth."""
    ''',
    "greenery/broken.py": "import no_such_library\n",
    "greenery/crash.py": "import os\nos._exit(3)\n",
    "greenery/loud.py": '''
        """Says too much and means to leave."""
        import sys
        print("x" * 100_000)
        sys.exit("never mind")
    ''',
    "greenery/hostile.py": '''
        """Raises wherever it can."""

        class Angry:
            """Angry."""
            @property
            def __wrapped__(self):
                raise RuntimeError
            def __repr__(self):
                raise RuntimeError
            def __getattr__(self, name):
                raise RuntimeError(name)

        angry = Angry()

        def lend(thing=angry, flag=1):
            """Lend."""

        def __dir__():
            return ["lend", "Angry", "missing", "angry"]
    ''',
    "greenery/tests/test_pots.py": "raise SystemError('never imported')\n",
    "greenery-3.1.dist-info/METADATA": (
        "Metadata-Version: 2.1\nName: greenery-dist\nVersion: 3.1\n"
    ),
    "greenery-3.1.dist-info/RECORD": (
        "greenery/__init__.py,,\ngreenery/pots.py,,\ngreenery/soil.py,,\n"
    ),
}  # fmt: skip


def build(folder, cache, **options):
    config = SandboxConfig(env="live", workers=1, options={"warmup": False, **options})
    return asyncio.run(
        live_corpus(
            ["greenery"],
            folder,
            open_sandbox=partial(get_sandbox, config),
            cache=cache,
            show_progress=False,
        )
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if not available():
        pytest.skip("no isolating sandbox on this machine")
    return write_package(tmp_path_factory.mktemp("greenery") / "site", FILES)


@pytest.fixture(scope="module")
def corpus(folder):
    return build(folder, folder.parent / "cache")


@pytest.fixture(scope="module")
def documents(corpus):
    return {str(d.metadata["qualname"]): d for d in corpus.documents}


def test_a_class_lists_members_that_no_syntax_tree_shows(documents):
    text = documents["greenery.pots.Pot"].page_content
    assert "import: from greenery import Pot" in text
    assert "Pot(soil: Soil, depth: float = 10.0, *, label: Label | None = None)" in text
    assert "get_red_share(strict: bool = False) -> float [method]: Share of light" in text
    assert "fill(soil: Soil, /, *more: Soil, level=...) -> Pot [method]: Fill it." in text
    assert "volume -> float [property]: Litres." in text
    assert "empty(count: int = 3) -> list[Pot] [staticmethod]" in text
    assert "rim -> float [attribute]" in text
    assert "depth [attribute]" in text
    assert "Constructor: Args:" in text
    assert "from `monty.json.MSONable`:" in text
    assert "to_json" in text
    assert "_hidden" not in text


def test_inherited_members_and_docstrings_are_seen(documents):
    glazed = documents["greenery.pots.Glazed"].page_content
    assert "get_blue_share(strict: bool = False) -> float [method]: Share of light" in glazed
    assert "(from Pot)" in glazed
    assert "fill(soil) [method]: Fill it." in glazed  # the docstring of the method it overrides
    assert "(no docstring)" in glazed
    assert "keys" not in documents["greenery.pots.Shelf"].page_content  # Python's own


def test_every_symbol_has_a_document(documents):
    kinds = {name: d.metadata["kind"] for name, d in documents.items()}
    assert kinds["greenery.pots.Pot.get_red_share"] == "method"
    assert kinds["greenery.pots.Pot.volume"] == "property"
    assert kinds["greenery.pots.area"] == kinds["greenery.pots.stack"] == "function"
    assert kinds["greenery.pots.Tiny"] == kinds["greenery.pots.Label"] == "class"
    assert kinds["greenery.pots.Size.litres"] == "method"
    assert kinds["monty.json.MSONable.to_json"] == "method"
    assert "greenery.pots.MSONable" not in kinds
    assert "greenery.pots.UserDict" not in kinds
    assert not [name for name in kinds if "._" in name or "test" in name]
    assert "Made at run time." in documents["greenery.pots.Tiny"].page_content
    assert "Height of a stack." in documents["greenery.pots.stack"].page_content


def test_metadata_are_those_of_the_other_sources(documents):
    fill = documents["greenery.pots.Pot.fill"].metadata
    assert fill["id"] == "live:greenery.pots.Pot.fill"
    assert (fill["package"], fill["version"]) == ("greenery-dist", "3.1")
    assert fill["path"] == "greenery/pots.py"
    source = dedent(FILES["greenery/pots.py"]).lstrip("\n").splitlines()
    assert "def fill" in source[fill["lines"][0] - 1]
    # imported for type checking only, resolved by name
    assert fill["types"] == ["greenery.soil.Soil"]
    assert fill["returns"] == "greenery.pots.Pot"
    assert documents["greenery.pots.Glazed"].metadata["bases"] == ["greenery.pots.Pot"]
    foreign = documents["monty.json.MSONable.to_json"].metadata
    assert foreign["package"] == "monty"
    assert foreign["version"]
    assert foreign["path"] == "monty/json.py"


@pytest.mark.parametrize(
    ("path", "qualname"),
    [
        ("greenery.Pot", "greenery.pots.Pot"),
        ("greenery.Glazed.get_blue_share", "greenery.pots.Pot.get_blue_share"),
        ("greenery.pots.Glazed.to_json", "monty.json.MSONable.to_json"),
    ],
)
def test_other_paths_are_known(corpus, path, qualname):
    assert corpus.aliases[path] == qualname


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("broken", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("crash", "inspecting it ends with no_result the process ended with status 3"),
        ("loud", "SystemExit: never mind"),
    ],
)
def test_a_module_that_cannot_be_imported_says_why_and_harms_no_other(documents, module, reason):
    document = documents[f"greenery.{module}"]
    assert f"cannot be imported in this environment: {reason}" in document.page_content


def test_objects_that_raise_are_survived(documents):
    assert "Lend." in documents["greenery.hostile.lend"].page_content
    assert "Angry." in documents["greenery.hostile.Angry"].page_content


def test_it_is_built_once_and_the_same_again(corpus, folder, tmp_path, monkeypatch):
    again = build(folder, tmp_path, hash_seed=7)
    assert again.manifest.documents_digest == corpus.manifest.documents_digest
    monkeypatch.setattr("indexes.live._read", None)  # would be needed to build
    assert build(folder, tmp_path).manifest == again.manifest
    assert again.manifest.versions == {"greenery": None, "greenery-dist": "3.1"}


class Liar:
    """A sandbox in which a library has sent something else than a page."""

    def __init__(self, result: object) -> None:
        self.result = result

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def run(self, *_: object, **__: object) -> Execution:
        return Execution(Outcome.OK, result=self.result)


PAGE = {"module": "one", "error": None, "digest": hashlib.sha256(b"X = 1\n").hexdigest()}


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("text", "sent something else"),
        ([{**PAGE, "symbols": [{"qualname": "x" * 1000}]}], "sent something else"),
        ([{**PAGE, "module": "two"}], "pages of other modules"),
        ([{**PAGE, "digest": "0"}], "the sandbox imports another one"),
    ],
)
def test_what_comes_back_is_not_trusted(tmp_path, result, message):
    (tmp_path / "one.py").write_text("X = 1\n")
    with pytest.raises(CorpusError, match=message):
        asyncio.run(
            live_corpus(
                ["one"],
                tmp_path,
                open_sandbox=lambda: Liar(result),
                cache=tmp_path / "cache",
                show_progress=False,
            )
        )
