"""Judge documents by what runs in the sandbox: their examples.

``matsmith docs check package=pymatgen.analysis.defects`` checks the texts that were shipped or
imported (or those of ``file=``) and keeps the verdicts where the next corpus finds them. One
that fails says so in its document.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, PositiveFloat, PositiveInt

from docgen.library import read_library
from docgen.reading import fences
from docgen.replies import section_of
from docgen.symbols import Verdict
from docgen.texts import (
    Folder,
    WrittenText,
    best,
    file_name,
    prewritten,
    read_texts,
    source_hash,
    text_files,
    write_texts,
)
from foundation.command import Command, Commas
from foundation.errors import UsageError
from foundation.progress import meter
from sandbox.base import Outcome, Sandbox, SandboxConfig
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
    async def checker(self, at_once: int = AT_ONCE) -> AsyncIterator[ExampleChecker]:
        """What runs scripts in the environment."""
        async with get_sandbox(
            SandboxConfig(backend=self.backend, env=self.env)
        ) as sandbox:
            yield ExampleChecker(sandbox, self.timeout, asyncio.Semaphore(at_once))


class CheckOptions(RunOptions):
    """Arguments of ``matsmith docs check``."""

    file: Path | None = Field(
        None, description="texts to check, instead of shipped and imported"
    )
    examples: bool = Field(
        False, description="the texts are examples of `matsmith docs examples`"
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
class ExampleChecker:
    """Runs examples, a few at once, each for some seconds of the processor."""

    sandbox: Sandbox
    timeout: float = 60.0
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def check(self, code: str) -> Checked:
        """Run one example; `SandboxError` when the sandbox itself failed."""
        if not code.strip():
            return Checked("none")
        reply = await self.run("check", [code])
        verdict = reply.get("verdict")
        return Checked(
            verdict if verdict in {"runs", "inputs"} else "fails",
            str(reply.get("error", "")),
            str(reply.get("printed", "")),
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


async def check_texts(
    texts: Iterable[WrittenText], checker: ExampleChecker
) -> dict[str, Checked]:
    """Check every example; what has no code and says what it needs keeps its verdict."""

    async def check(text: WrittenText) -> Checked:
        checked = await checker.check(example_of(text.text))
        progress.advance()
        example = checked.verdict == "none" and text.example
        return Checked(example) if example else checked

    documents = {text.qualname: text for text in texts}
    with meter("Running examples", len(documents), show=True) as progress:
        results = await asyncio.gather(*map(check, documents.values()))
    return dict(zip(documents, results, strict=True))


#: What each verdict means, from worst to best.
WORDS = {
    "none": "have no code",
    "fails": "fail",
    "inputs": "use names, files or packages that they do not make",
    "runs": "run as they stand",
}


def table(what: str, results: Iterable[tuple[str, str, str]]) -> str:
    """How often each verdict was given, then name and reason of what does not run, worst first."""
    rows = sorted(results, key=lambda row: ([*WORDS].index(row[0]), row[1]))
    counts = Counter(verdict for verdict, _, _ in rows)
    head = ", ".join(
        f"{counts[verdict]} {WORDS[verdict]}"
        for verdict in reversed(WORDS)
        if counts[verdict]
    )
    failures = (
        f"{verdict}: {name}: {why}" for verdict, name, why in rows if verdict != "runs"
    )
    return "\n".join([f"{len(rows)} {what}: {head}", *failures])


async def _action(options: CheckOptions) -> int:
    library = read_library(options.package, site_packages(options.env)).public()
    cache = cache_folder()
    kind: Folder = "examples" if options.examples else "written"
    files = (
        [options.file] if options.file else text_files(library.versions, cache, kind)
    )
    if options.examples:  # also those whose source has changed: they may still run
        examples = best(
            (text for file in files for text in read_texts(file)), library.symbols
        )
    else:
        examples, _ = prewritten(library, files)
    if not examples:
        raise UsageError(
            f"package={','.join(options.package)}: no text fits it; write some with "
            "`matsmith docs package=... out=docs.jsonl`, and give file=docs.jsonl.written (or with "
            "`matsmith docs examples`, and give examples=true)"
        )
    async with options.checker(options.concurrency) as checker:
        results = await check_texts(examples.values(), checker)
    print(
        table("examples", ((c.verdict, name, c.error) for name, c in results.items()))
    )
    written: dict[Path, list[WrittenText]] = {}
    for name, checked in results.items():
        symbol = library.symbols[name]
        text = replace(
            examples[name], example=checked.verdict, source_hash=source_hash(symbol)
        )
        out = options.out or cache / kind / file_name(symbol.package, symbol.version)
        written.setdefault(out, []).append(text)
    for out, texts in written.items():
        write_texts(out, texts)
        print(f"written: {out}")
    return 0


main = Command("matsmith docs check", str(__doc__), CheckOptions, _action)
