"""Documents stay as they are, byte by byte: prompts that were recorded hold them."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from pathlib import Path

import pytest

from docgen import render
from experiments.benchmarks.invented.lexicon import Knobs
from experiments.benchmarks.invented.world import generate
from indexes.corpus import Corpus, read_corpus
from indexes.llm_doc import Writer, llm_doc_corpus
from sandbox import shipping
from tests.support.paths import ROOT
from tests.support.samples import write_package

ORCHARD = ROOT / "tests" / "data" / "orchard"
#: SHA-256 over the documents, and over what is indexed of them.
ORCHARD_DIGESTS = ("f9f9c815c86bd918", "550215324a90462b")
WORLD_DIGESTS = ("c7a219f5926079de", "bbc06864393e26cd")


async def build(package: str, folder: Path, cache: Path) -> Corpus:
    return await llm_doc_corpus(
        [package], folder, writer=Writer(), cache=cache, show_progress=False
    )


def digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def digests(corpus: Corpus) -> tuple[str, str]:
    return (
        digest(map(render.document, corpus.entries)),
        digest(map(render.indexed, corpus.entries)),
    )


async def test_the_documents_of_a_small_library(tmp_path):
    corpus = await build("orchard", ORCHARD, tmp_path)
    assert digests(corpus) == ORCHARD_DIGESTS


async def test_the_documents_of_an_invented_world_also_when_they_are_read_again(
    tmp_path,
):
    world = generate(Knobs(seed=101, size=80, depth=3, questions=6))
    folder = write_package(tmp_path / "site", world.files)
    corpus = await build(world.package, folder, tmp_path)
    assert digests(corpus) == WORLD_DIGESTS
    again = read_corpus(tmp_path, corpus.manifest)
    assert again is not None
    assert again.entries == corpus.entries
    assert again.aliases == corpus.aliases


# -- who may look into a document


PRODUCT = sorted(shipping.PACKAGES - {"sandbox", "tests"})
#: LangChain's documents come and go here.
EDGES = {"retrieval/langchain.py", "indexes/chunks.py"}
#: Modules that render symbols and read something else with ``re`` or ``ast``.
READERS = {
    "docgen/prompts.py": "source code",
    "docgen/skill.py": "docstrings and source code",
    "indexes/chunks.py": "texts that are cut into chunks, which it makes",
    "indexes/corpus.py": "names of folders",
    "indexes/graph.py": "queries",
    "retrieval/name_search.py": "queries, names and the first sentences of docstrings",
    "retrieval/prompting.py": "replies of a model",
    "agents/drafts.py": "replies of a model",
    "agents/prompts.py": "addresses in what is printed",
    "agents/systems/agentic.py": "replies of a model",
    "agents/systems/dependencies.py": "replies of a model",
}


def modules() -> list[tuple[str, ast.Module]]:
    paths = (path for name in PRODUCT for path in sorted((ROOT / name).rglob("*.py")))
    return [
        (path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8")))
        for path in paths
        if "questions" not in path.parts
    ]


def reads_by_string(node: ast.AST) -> bool:
    """``document.metadata["x"]``, ``document.metadata.get("x")``, ``document.page_content``."""
    match node:
        case ast.Attribute(attr="page_content"):
            return True
        case ast.Subscript(value=ast.Attribute(attr="metadata")):
            return True
        case ast.Attribute(value=ast.Attribute(attr="metadata"), attr="get"):
            return True
    return False


def test_langchains_documents_stand_at_the_edges_only():
    reading = {
        name
        for name, tree in modules()
        if any(reads_by_string(node) for node in ast.walk(tree))
    }
    assert reading == EDGES


def parses(tree: ast.Module) -> bool:
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    return bool(imported & {"re", "ast"})


def renders(tree: ast.Module) -> bool:
    """Whether a module makes text of symbols, or takes that of hits and pages."""
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module in {"docgen", "docgen.render", "retrieval.base"}
        for alias in node.names
    }
    return bool(names & {"render", "document", "prose", "Hit"})


def test_no_module_but_readers_parses_what_was_rendered():
    found = {name for name, tree in modules() if renders(tree) and parses(tree)}
    assert found == READERS.keys()


@pytest.mark.parametrize("mark", ["\n---\n", "## Relations", "and by name: "])
def test_the_layout_of_documents_is_known_to_one_module(mark):
    holders = {
        name
        for name, tree in modules()
        if name.startswith(("docgen/", "indexes/", "retrieval/", "agents/toolbox/"))
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and mark in str(node.value)
    }
    front_matter = {"docgen/skill.py"}  # of another kind of file
    assert holders - front_matter <= {"docgen/render.py", "indexes/chunks.py"}
