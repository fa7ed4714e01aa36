"""Introspection of a small package, in the real sandbox."""

import asyncio
import hashlib
from functools import partial

import pytest

from docgen.render import document as text_of
from indexes import RetrievalError
from indexes.live import live_corpus
from sandbox.base import Execution, Outcome, SandboxConfig
from sandbox.factory import available, get_sandbox
from tests.support.samples import table, write_package

FILES = table("greenery")


def build(folder, cache, **options):
    config = SandboxConfig(env="live", workers=1, options={"warmup": False, **options})
    given = {"open_sandbox": partial(get_sandbox, config), "cache": cache}
    return asyncio.run(live_corpus(["greenery"], folder, **given, show_progress=False))


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
    return {symbol.qualname: symbol for symbol in corpus.entries}


def test_a_class_lists_members_that_no_syntax_tree_shows(documents):
    text = text_of(documents["greenery.pots.Pot"])
    assert "import: from greenery import Pot" in text
    assert "Pot(soil: Soil, depth: float = 10.0, *, label: Label | None = None)" in text
    assert (
        "get_red_share(strict: bool = False) -> float [method]: Share of light" in text
    )
    assert (
        "fill(soil: Soil, /, *more: Soil, level=...) -> Pot [method]: Fill it." in text
    )
    assert "volume -> float [property]: Litres." in text
    assert "empty(count: int = 3) -> list[Pot] [staticmethod]" in text
    assert "rim -> float [attribute]" in text
    assert "depth [attribute]" in text
    assert "Constructor: Args:" in text
    assert "from `monty.json.MSONable`:" in text
    assert "to_json" in text
    assert "_hidden" not in text


def test_inherited_members_and_docstrings_are_seen(documents):
    glazed = text_of(documents["greenery.pots.Glazed"])
    assert (
        "get_blue_share(strict: bool = False) -> float [method]: Share of light"
        in glazed
    )
    assert "(from Pot)" in glazed
    assert (
        "fill(soil) [method]: Fill it." in glazed
    )  # the docstring of the method it overrides
    assert "(no docstring)" in glazed
    assert "keys" not in text_of(documents["greenery.pots.Shelf"])  # Python's own


def test_every_symbol_has_a_document(documents):
    kinds = {name: d.kind for name, d in documents.items()}
    assert kinds["greenery.pots.Pot.get_red_share"] == "method"
    assert kinds["greenery.pots.Pot.volume"] == "property"
    assert kinds["greenery.pots.area"] == kinds["greenery.pots.stack"] == "function"
    assert kinds["greenery.pots.Tiny"] == kinds["greenery.pots.Label"] == "class"
    assert kinds["greenery.pots.Size.litres"] == "method"
    assert kinds["monty.json.MSONable.to_json"] == "method"
    assert "greenery.pots.MSONable" not in kinds
    assert "greenery.pots.UserDict" not in kinds
    assert not [name for name in kinds if "._" in name or "test" in name]
    assert "Made at run time." in text_of(documents["greenery.pots.Tiny"])
    assert "Height of a stack." in text_of(documents["greenery.pots.stack"])


def test_facts_are_those_of_the_other_sources(documents):
    fill = documents["greenery.pots.Pot.fill"]
    assert fill.id == "live:greenery.pots.Pot.fill"
    assert (fill.package, fill.version) == ("greenery-dist", "3.1")
    assert fill.path == "greenery/pots.py"
    source = FILES["greenery/pots.py"].splitlines()
    assert "def fill" in source[fill.first_line - 1]
    # imported for type checking only, resolved by name
    assert fill.types == ("greenery.soil.Soil",)
    assert fill.returns == "greenery.pots.Pot"
    assert documents["greenery.pots.Glazed"].bases == ("greenery.pots.Pot",)
    foreign = documents["monty.json.MSONable.to_json"]
    assert foreign.package == "monty"
    assert foreign.version
    assert foreign.path == "monty/json.py"


def test_other_paths_are_known(corpus):
    assert (
        corpus.aliases.items()
        >= {
            "greenery.Pot": "greenery.pots.Pot",
            "greenery.Glazed.get_blue_share": "greenery.pots.Pot.get_blue_share",
            "greenery.pots.Glazed.to_json": "monty.json.MSONable.to_json",
        }.items()
    )


def test_modules_that_cannot_be_imported_and_objects_that_raise_harm_no_other(
    documents,
):
    for module, reason in (
        ("broken", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("crash", "inspecting it ends with no_result the process ended with status 3"),
        ("loud", "SystemExit: never mind"),
    ):
        said = f"cannot be imported in this environment: {reason}"
        assert said in text_of(documents[f"greenery.{module}"])
    assert "Lend." in text_of(documents["greenery.hostile.lend"])
    assert "Angry." in text_of(documents["greenery.hostile.Angry"])


def test_it_is_built_once_and_the_same_again(corpus, folder, tmp_path, monkeypatch):
    again = build(folder, tmp_path, hash_seed=7)
    assert again.manifest.documents_digest == corpus.manifest.documents_digest
    monkeypatch.setattr("indexes.live._read", None)  # would be needed to build
    assert build(folder, tmp_path).manifest == again.manifest
    assert again.manifest.versions == {"greenery": None, "greenery-dist": "3.1"}


class Liar:
    """A sandbox in which a library has sent something else than a page."""

    def __init__(self, result):
        self.result = result

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_): ...

    async def run(self, *_, **__):
        return Execution(Outcome.OK, result=self.result)


PAGE = {
    "module": "one",
    "error": None,
    "digest": hashlib.sha256(b"X = 1\n").hexdigest(),
}


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("text", "sent something else"),
        ([{**PAGE, "symbols": [{"qualname": "x" * 1000}]}], "sent something else"),
        ([{**PAGE, "module": "two"}], "pages of other modules"),
        ([{**PAGE, "digest": "0"}], "the sandbox imports another one"),
    ],
)
async def test_what_comes_back_is_not_trusted(tmp_path, result, message):
    (tmp_path / "one.py").write_text("X = 1\n")
    given = {"open_sandbox": lambda: Liar(result), "cache": tmp_path / "cache"}
    with pytest.raises(RetrievalError, match=message):
        await live_corpus(["one"], tmp_path, **given, show_progress=False)
