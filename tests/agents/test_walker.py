"""The tools give everything that is needed: a program that may use nothing else solves worlds.

It searches for the terms of a question, reads the documents, and follows the terms, or the tree,
that they name. What it makes of the documents is the business of ``invented.reader``.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agents.models import ModelConfig, build_model
from agents.toolbox import Toolbox, open_toolbox
from experiments.benchmarks.invented import reader
from experiments.benchmarks.invented.files import PACKAGE, write
from experiments.benchmarks.invented.knobs import Knobs
from experiments.benchmarks.invented.lexicon import NOUNS
from experiments.benchmarks.invented.mistakes import differs
from experiments.benchmarks.invented.programs import program
from experiments.benchmarks.invented.world import generate
from retrieval.factory import get_retriever
from sandbox import environments
from sandbox.base import SandboxConfig
from sandbox.factory import available, get_sandbox

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine"),
]
_NOUN = "|".join(noun for nouns in NOUNS.values() for noun in nouns)
_TERM = re.compile(rf"\b([a-z]+ (?:{_NOUN}))\b")


class Walker:
    """Reads documents through the tools only."""

    def __init__(self, box: Toolbox, how: str) -> None:
        self.box = box
        self.how = how
        self.texts: dict[str, str] = {}

    async def call(self, tool: str, **arguments: Any) -> str:
        result = await self.box.call(tool, arguments)
        assert not result.failed, result.text
        first, _, note = result.text.partition("\n[page 1 of ")
        for page in range(2, int(note.rstrip("]") or 1) + 1):
            more = await self.box.call(tool, {**arguments, "page": page})
            first += more.text.rpartition("\n[page ")[0]
        return first

    async def read(self, names: list[str]) -> None:
        unread = [name for name in dict.fromkeys(names) if name not in self.texts]
        for start in range(0, len(unread), 10):
            found = await self.call("lookup", names=unread[start : start + 10])
            for text in found.split("\n\n======\n"):
                self.texts[text.partition("\n")[0]] = f"{text}\n"

    async def definitions(self, term: str) -> list[str]:
        """Names of what may define a term."""
        if self.how == "search":
            found = await self.call("search", queries=[term], k=20)
            names = [line.split()[0] for line in found.splitlines()[1:] if " [" in line]
            await self.read(names)
            return [name for name in names if term in _flat(self.texts[name]).lower()][:6]
        found = await self.call("resolve", terms=[term])
        parts = found.partition("\n")[2].split("\n\n")
        return [part.split("\n")[0] for part in parts if "\nkind: " in part[:300]]

    async def walk(self, terms: list[str]) -> None:
        """Everything that the definitions of these terms need."""
        waiting, seen = list(terms), set[str]()
        while waiting:
            term = waiting.pop()
            if term in seen:
                continue
            seen.add(term)
            names = await self.definitions(term)
            assert names or term not in terms, term
            if self.how == "tree":
                for name in names:
                    shown = await self.call("tree", name=name, depth=8)
                    lines = shown.partition("its code calls:")[0].splitlines()
                    await self.read([line.split()[0] for line in lines])
                continue
            owners = [name.rpartition(".")[0] for name in names]
            await self.read([*names, *(o for o in owners if o.rpartition(".")[2][0].isupper())])
            defining = [self.texts[n] for n in (*names, *owners) if n in self.texts]
            waiting += [t for text in defining for t in _TERM.findall(_flat(text).lower())]


def _flat(text: str) -> str:
    """A document without its list of callers, which may stand before the details."""
    return " ".join(re.sub(r"## Relations\n.*?(?=\n## |\Z)", "", text, flags=re.DOTALL).split())


@pytest.fixture(scope="module", params=[(60, 2), (120, 4)], ids=["depth-2", "depth-4"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    size, depth = request.param
    world = generate(Knobs(seed=11, size=size, depth=depth, questions=4))
    folder = tmp_path_factory.mktemp("world")
    write(world, folder)
    return world, folder


@pytest.fixture
async def box(made: Any, tmp_path: Path) -> AsyncIterator[Toolbox]:
    world, folder = made
    environment = environments.overlay(world.package, base="live", folder=folder / PACKAGE)
    writer = build_model(ModelConfig(provider="rules", name="rules"))
    retriever = await get_retriever(
        {"name": "llm_doc", "source": "llm_doc"},
        packages=[world.package],
        site_packages=folder / PACKAGE,
        writer=writer.chat,
        writer_name=writer.name,
        embedding=None,
        cache=tmp_path,
        progress=False,
    )
    async with get_sandbox(SandboxConfig(env=environment, workers=1)) as sandbox:
        yield open_toolbox(retriever, sandbox, sources=environments.source_folders(environment))


@pytest.mark.parametrize("how", ["search", "resolve", "tree"])
async def test_the_tools_give_all_that_a_question_needs(made: Any, box: Toolbox, how: str):
    world, _ = made
    asked = solved = 0
    for question in world.questions:
        descriptions = {one.name: one.description for one in question.asked}
        terms = [t for text in descriptions.values() for t in _TERM.findall(text)[:1]]
        walker = Walker(box, how)
        await walker.walk(terms)
        crystal, plans = reader.solve(question.goal, descriptions, reader.read(walker.texts))
        assert not [p for p in plans.values() if isinstance(p, reader.UnreadableError)], plans
        result = await walker.call("run", code=program(plans, crystal), entry="reference")
        for one in question.asked:
            asked += 1
            found = re.search(rf"^'{one.name}': (.*) \(\w+\)$", result, re.MULTILINE)
            solved += found is not None and not differs(one.gold, literal_eval(found[1]), 1e-3)
    assert asked >= 8
    assert solved == asked
