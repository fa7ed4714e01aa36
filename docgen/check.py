"""Judge documents by what runs in the sandbox: their examples, and calls written from them.

``python -m docgen check package=pymatgen.analysis.defects`` checks the texts that were shipped or
imported (or those of ``file=``) and keeps the verdicts where the next corpus finds them. One
that fails says so in its document.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, PositiveFloat, PositiveInt

from docgen.facts import Content, contents, render_document, render_facts
from docgen.library import read_library
from docgen.reading import fences, spoken
from docgen.replies import Chat, section_of
from docgen.symbols import Library, digest
from docgen.texts import (
    Folder,
    Text,
    Verdict,
    best,
    examples,
    file_name,
    prewritten,
    read_texts,
    render_text,
    source_hash,
    text_files,
    write_texts,
)
from docgen.writer import open_writer
from matsmith.core.command import Command, Commas, Group
from matsmith.core.errors import UsageError
from matsmith.core.jsonl import JsonLines, read_lines
from matsmith.core.progress import meter
from sandbox.base import Outcome, Sandbox, SandboxConfig, SandboxError
from sandbox.environments import cache_folder, site_packages
from sandbox.factory import get_sandbox

PROBE = "docgen.example_probe"  # runs in the sandbox
AT_ONCE = 2  # examples


class RunOptions(BaseModel, extra="forbid", frozen=True):
    """What every command takes that runs scripts in the sandbox."""

    package: Annotated[tuple[str, ...], Commas] = Field(
        description="import names, comma-separated"
    )
    env: str = Field("live", description="sandbox environment that holds the packages")
    backend: str = Field(
        "auto", description="sandbox: auto, bubblewrap, docker, podman"
    )
    concurrency: PositiveInt = Field(8, description="requests in flight")
    timeout: PositiveFloat = Field(60.0, description="processor seconds of one script")

    @asynccontextmanager
    async def checker(self, at_once: int = AT_ONCE) -> AsyncIterator[Checker]:
        """What runs scripts in the environment."""
        async with get_sandbox(
            SandboxConfig(backend=self.backend, env=self.env)
        ) as sandbox:
            yield Checker(sandbox, self.timeout, asyncio.Semaphore(at_once))


class Options(RunOptions):
    """Arguments of ``python -m docgen check``."""

    file: Path | None = Field(
        None, description="texts to check, instead of shipped and imported"
    )
    examples: bool = Field(
        False, description="the texts are examples of `docgen examples`"
    )
    out: Path | None = Field(
        None, description="file to write, instead of where imports are kept"
    )
    concurrency: PositiveInt = Field(AT_ONCE, description="examples at once")


@dataclass(frozen=True)
class Checked:
    """What became of one example: why it does not run, and what it printed, cut when long."""

    verdict: Verdict
    error: str = ""
    printed: str = ""


@dataclass(frozen=True)
class Checker:
    """Runs examples, a few at once, each for some seconds of the processor."""

    sandbox: Sandbox
    timeout: float = 60.0
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def check(self, code: str) -> Checked:
        """Run one example; `SandboxError` when the sandbox itself failed."""
        if not code.strip():
            return Checked("none")
        found = await self.run("check", [code])
        verdict = found.get("verdict")
        return Checked(
            verdict if verdict in {"runs", "inputs"} else "fails",
            str(found.get("error", "")),
            str(found.get("printed", "")),
        )

    async def run(self, function: str, arguments: list[str]) -> dict[str, Any]:
        """What a function of the probe finds; `SandboxError` when the sandbox itself failed."""
        async with self.slots:
            ran = await self.sandbox.call(
                PROBE, function, arguments, timeout=self.timeout
            )
        if ran.outcome is Outcome.OK and isinstance(ran.result, dict):
            return ran.result
        lines = (ran.error or "").strip().splitlines()
        return {
            "verdict": "fails",
            "error": f"{ran.outcome}: {lines[-1] if lines else ''}",
        }


def code_of(text: str) -> list[str]:
    """The fenced scripts of a text."""
    return [code for language, code in fences(f"{text}\n") if language != "text"]


def example_of(text: str) -> str:
    """The code of the section ``## Example``, empty when it has none."""
    return "\n".join(code_of(section_of(text, "Example")))


async def check_texts(texts: Iterable[Text], checker: Checker) -> dict[str, Checked]:
    """Check every example; what has no code and says what it needs keeps its verdict."""

    async def one(text: Text) -> Checked:
        checked = await checker.check(example_of(text.text))
        progress.advance()
        said = checked.verdict == "none" and text.example
        return Checked(said) if said else checked

    documents = {text.qualname: text for text in texts}
    with meter("Running examples", len(documents), show=True) as progress:
        done = await asyncio.gather(*map(one, documents.values()))
    return dict(zip(documents, done, strict=True))


#: What each verdict means, from worst to best.
WORDS = {
    "none": "have no code",
    "fails": "fail",
    "inputs": "use names, files or packages that they do not make",
    "type": "return another type than declared",
    "runs": "run as they stand",
}


def table(what: str, found: Iterable[tuple[str, str, str]]) -> str:
    """How often each verdict was given, then name and reason of what does not run, worst first."""
    rows = sorted(found, key=lambda row: ([*WORDS].index(row[0]), row[1]))
    counts = Counter(verdict for verdict, _, _ in rows)
    head = ", ".join(
        f"{counts[one]} {WORDS[one]}" for one in reversed(WORDS) if counts[one]
    )
    told = (
        f"{verdict}: {name}: {why}" for verdict, name, why in rows if verdict != "runs"
    )
    return "\n".join([f"{len(rows)} {what}: {head}", *told])


async def _action(options: Options) -> int:
    library = read_library(options.package, site_packages(options.env)).public()
    cache = cache_folder()
    kind: Folder = "examples" if options.examples else "written"
    files = (
        [options.file] if options.file else text_files(library.versions, cache, kind)
    )
    if options.examples:  # also those whose source has changed: they may still run
        found = best(
            (text for file in files for text in read_texts(file)), library.symbols
        )
    else:
        found, _ = prewritten(library, files)
    if not found:
        raise UsageError(
            f"package={','.join(options.package)}: no text fits it; write some with `python -m "
            "docgen package=... out=docs.jsonl`, and give file=docs.jsonl.written (or with "
            "`python -m docgen examples`, and give examples=true)"
        )
    async with options.checker(options.concurrency) as checker:
        results = await check_texts(found.values(), checker)
    print(
        table("examples", ((c.verdict, name, c.error) for name, c in results.items()))
    )
    written: dict[Path, list[Text]] = {}
    for name, checked in results.items():
        symbol = library.symbols[name]
        text = replace(
            found[name], example=checked.verdict, source_hash=source_hash(symbol)
        )
        out = options.out or cache / kind / file_name(symbol.package, symbol.version)
        written.setdefault(out, []).append(text)
    for out, texts in written.items():
        write_texts(out, texts)
        print(f"written: {out}")
    return 0


main = Command("docgen check", str(__doc__), Options, _action)


_BY_USE = """Score documents by use: who sees one document alone writes a call, and the call is run.

``python -m docgen by_use package=pymatgen.analysis.defects out=used.jsonl model=openai`` says
whether each call runs and returns what the signature declares. The worst come first: those to write
again. Finished ones stand in ``out`` at once: the same command resumes, and asks again only where a
document has changed.
"""
INSTRUCTIONS = (Path(__file__).parent / "instructions/use.md").read_text(
    encoding="utf-8"
)
CALLED = frozenset({"function", "method", "classmethod", "staticmethod", "class"})


class UseOptions(RunOptions):
    """Arguments of ``python -m docgen by_use``."""

    out: Path = Field(
        description="JSONL file of verdicts; what it holds is not asked again"
    )
    model: Group = Field(
        Group(""), description="who answers; its keys by model.KEY=VALUE"
    )
    content: Content = Field(
        "written", description="what documents hold (retrieval.content)"
    )
    symbols: Annotated[tuple[str, ...], Commas] = Field(
        (), description="only these; none: all that is called"
    )
    sample: PositiveInt | None = Field(
        None, description="only so many, drawn by the seed"
    )
    seed: int = Field(0, description="of the sample")


@dataclass(frozen=True)
class Doc:
    """A document, who wrote it, and what it is the document of."""

    qualname: str
    writer: str
    text: str

    def key(self, model: Chat) -> str:
        """Of everything that a verdict depends on."""
        return digest(INSTRUCTIONS, model.name, self.qualname, self.text)


def documents(library: Library, content: Content) -> list[Doc]:
    """The documents of everything that can be called, as agents are given them."""
    written, _ = prewritten(library, text_files(library.versions, cache_folder()))
    ran = examples(library, text_files(library.versions, cache_folder(), "examples"))
    texts = contents(content, library, written, ran)
    return [
        Doc(
            name,
            texts[name].writer,
            render_document(render_facts(s), render_text(texts[name])),
        )
        for name, s in library.symbols.items()
        if s.kind in CALLED
    ]


async def use(shown: Doc, model: Chat, checker: Checker) -> dict[str, Any]:
    """Ask for a script about one document and run it; whatever the provider raises is raised."""
    said = await model.ask(shown.text, INSTRUCTIONS)
    code = (code_of(spoken(said.text)) or [""])[-1]
    found: dict[str, Any] = {
        "verdict": "none",
        "error": "no fenced script",
        "declared": "",
    }
    if code and shown.qualname.rpartition(".")[2] not in code:
        found["error"] = "the script does not use the symbol"
    elif code:
        found |= await checker.run("use", [code, shown.qualname])
    names = {"qualname": shown.qualname, "writer": shown.writer, "of": shown.key(model)}
    return {**names, **found, "code": code}


async def _score(options: UseOptions) -> int:
    library = read_library(options.package, site_packages(options.env)).public()
    shown = documents(library, options.content)
    if strange := set(options.symbols).difference(one.qualname for one in shown):
        raise UsageError(
            f"symbols={','.join(sorted(strange))}: nothing of that name can be called"
        )
    if options.symbols:
        shown = [one for one in shown if one.qualname in options.symbols]
    if options.sample is not None and options.sample < len(shown):
        shown = random.Random(options.seed).sample(shown, options.sample)  # noqa: S311 - no secret
    if not shown:
        raise UsageError(
            f"package={','.join(options.package)}: nothing of that can be called"
        )
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

            async def ask(one: Doc) -> None:
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


by_use = Command("docgen by_use", _BY_USE, UseOptions, _score, (OSError,))
