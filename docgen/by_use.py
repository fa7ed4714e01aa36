"""Score documents by use: who sees one document alone writes a call, and the call is run.

``python -m docgen by_use package=pymatgen.analysis.defects out=used.jsonl model=openai`` says
whether each call runs and returns what the signature declares. The worst come first: those to write
again. Finished ones stand in ``out`` at once: the same command resumes, and asks again only where a
document has changed.
"""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PositiveInt

from docgen.check import Checker, RunOptions, code_of, table
from docgen.facts import Content, contents, render_document, render_facts
from docgen.library import read_library
from docgen.reading import spoken
from docgen.replies import Chat
from docgen.sources import SourceError
from docgen.symbols import Library, digest
from docgen.texts import (
    EXAMPLES,
    SHIPPED,
    TextsError,
    examples,
    prewritten,
    render_text,
    text_files,
)
from docgen.writer import open_writer
from matsmith.core.command import Command, Commas, Group
from matsmith.core.errors import UsageError
from matsmith.core.jsonl import JsonLines, read_lines
from matsmith.core.progress import meter
from sandbox.base import SandboxError
from sandbox.environments import cache_folder, site_packages

INSTRUCTIONS = (Path(__file__).parent / "instructions/use.md").read_text(encoding="utf-8")
CALLED = frozenset({"function", "method", "classmethod", "staticmethod", "class"})


class Options(RunOptions):
    """Arguments of ``python -m docgen by_use``."""

    out: Path = Field(description="JSONL file of verdicts; what it holds is not asked again")
    model: Group = Field(Group(""), description="who answers; its keys by model.KEY=VALUE")
    content: Content = Field("written", description="what documents hold (retrieval.content)")
    symbols: Annotated[tuple[str, ...], Commas] = Field(
        (), description="only these; none: all that is called"
    )
    sample: PositiveInt | None = Field(None, description="only so many, drawn by the seed")
    seed: int = Field(0, description="of the sample")


@dataclass(frozen=True)
class Shown:
    """A document, who wrote it, and what it is the document of."""

    qualname: str
    writer: str
    text: str

    def key(self, model: Chat) -> str:
        """Of everything that a verdict depends on."""
        return digest(INSTRUCTIONS, model.name, self.qualname, self.text)


def documents(library: Library, content: Content) -> list[Shown]:
    """The documents of everything that can be called, as agents are given them."""
    folders = [cache_folder() / "written", cache_folder() / "examples"]
    written, _ = prewritten(library, text_files(library.versions, [SHIPPED, folders[0]]))
    ran = examples(library, text_files(library.versions, [EXAMPLES, folders[1]]))
    texts = contents(content, library, written, ran)
    return [
        Shown(name, texts[name].writer, render_document(render_facts(s), render_text(texts[name])))
        for name, s in library.symbols.items()
        if s.kind in CALLED
    ]


async def use(shown: Shown, model: Chat, checker: Checker) -> dict[str, Any]:
    """Ask for a script about one document and run it; whatever the provider raises is raised."""
    said = await model.ask(shown.text, INSTRUCTIONS)
    code = (code_of(spoken(said.text)) or [""])[-1]
    found: dict[str, Any] = {"verdict": "none", "error": "no fenced script", "declared": ""}
    if code and shown.qualname.rpartition(".")[2] not in code:
        found["error"] = "the script does not use the symbol"
    elif code:
        found |= await checker.run("use", [code, shown.qualname])
    names = {"qualname": shown.qualname, "writer": shown.writer, "of": shown.key(model)}
    return {**names, **found, "code": code}


async def _action(options: Options) -> int:
    library = read_library(options.package, site_packages(options.env)).public()
    shown = documents(library, options.content)
    if strange := set(options.symbols).difference(one.qualname for one in shown):
        raise UsageError(f"symbols={','.join(sorted(strange))}: nothing of that name can be called")
    if options.symbols:
        shown = [one for one in shown if one.qualname in options.symbols]
    if options.sample is not None and options.sample < len(shown):
        shown = random.Random(options.seed).sample(shown, options.sample)  # noqa: S311 - no secret
    if not shown:
        raise UsageError(f"package={','.join(options.package)}: nothing of that can be called")
    kept = read_lines(options.out) if options.out.exists() else ()
    known = {row["of"]: row for row in (json.loads(line) for _, line in kept)}
    lost: list[str] = []
    async with (
        options.checker() as checker,
        open_writer(options.model, concurrency=options.concurrency) as model,
    ):
        if model is None:
            raise UsageError("who answers? model=NAME")
        missing = [one for one in shown if one.key(model) not in known]
        slots = asyncio.Semaphore(options.concurrency)
        with (
            meter("Using documents", len(missing), show=True) as progress,
            closing(JsonLines(options.out)) as lines,
        ):

            async def ask(one: Shown) -> None:
                try:
                    async with slots:
                        found = await use(one, model, checker)
                except SandboxError:  # no verdict on any document
                    raise
                except Exception as failure:  # noqa: BLE001 - every provider has its own; reported
                    lost.append(f"{one.qualname}: {type(failure).__name__}: {failure}")
                else:
                    known[found["of"]] = found
                    lines.append(found)
                progress.advance()

            await asyncio.gather(*map(ask, missing))
        rows = [known[key] for one in shown if (key := one.key(model)) in known]
        for writer in sorted({row["writer"] for row in rows}):
            mine = (row for row in rows if row["writer"] == writer)
            told = ((row["verdict"], row["qualname"], row["error"]) for row in mine)
            print(table(f"calls from documents by {writer}", told))
    for line in lost:
        print(f"not answered: {line}")
    return 1 if lost else 0


main = Command("docgen by_use", str(__doc__), Options, _action, (SourceError, TextsError, OSError))
