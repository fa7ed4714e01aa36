"""Write examples that run: one short script per symbol, executed before it is kept.

``matsmith docs examples package=pymatgen.analysis.defects out=examples.jsonl model=openai`` asks
a model for a script that imports what it uses, makes its inputs and prints a result. One that
fails goes back with the failure, up to three times. ``tests=FOLDER`` takes examples out of the
library's own unit tests instead, without a model; of two that run the shorter one is used. Every
finished one stands in ``out`` at once: the same command resumes.
"""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import Field, PositiveInt

from docgen.calls import CodeResolver
from docgen.check import Checked, ExampleChecker, RunOptions, code_of, table
from docgen.library import build_library
from docgen.programs import Program, collect, only_asked, text_of
from docgen.prompts import Prompter, batches, documentation_order
from docgen.reading import spoken
from docgen.replies import behind
from docgen.sources import read_sources
from docgen.symbols import Library
from docgen.texts import (
    Checkpoint,
    WrittenText,
    best,
    prewritten,
    source_hash,
    text_files,
)
from docgen.writer import open_writer
from docgen.writing import WriterModel
from foundation.command import Command, Commas, Group
from foundation.errors import UsageError
from foundation.progress import meter
from sandbox.environments import cache_folder, site_packages

VERSION = "examples-2"  # raise it when the instructions change what a writer knows
TESTS = "tests"  # the writer of what was taken from unit tests
_TEXTS = Path(__file__).parent / "instructions"
INSTRUCTIONS = (_TEXTS / "example.md").read_text(encoding="utf-8")
GALLERY = _TEXTS / "gallery.md"
_TRIES = 3  # scripts out of tests that are run for one symbol
_VALUES = frozenset({"constant", "attribute"})  # looked up, not called
_OWNER = 3_000  # characters of a class whose members are asked for
_LONGEST, _LONGEST_TEST = (
    4_000,
    2_000,
)  # characters of a script, and of one out of tests
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}|/tmp/")
_NEEDS = re.compile(r"^Needs [^\n]{3,400}", re.MULTILINE)
_NO_SCRIPT = "no fenced script stands behind its name"


class ExampleOptions(RunOptions):
    """Arguments of ``matsmith docs examples``."""

    out: Path = Field(
        description="JSONL file of examples; what it holds is not made again"
    )
    symbols: Annotated[tuple[str, ...], Commas] = Field(
        (), description="only these; none: all but constants and attributes"
    )
    tests: Path | None = Field(
        None, description="unit tests of the library to take examples from"
    )
    model: Group = Field(
        Group(""), description="who writes; its keys by model.KEY=VALUE"
    )
    gallery: Path = Field(GALLERY, description="file with lines that make inputs")
    attempts: PositiveInt = Field(
        3, description="scripts per symbol, the first included"
    )


@dataclass(frozen=True)
class ExampleWriter:
    """Asks a model for examples and runs them; ``prose`` tells about what symbols use."""

    library: Library
    model: WriterModel
    checker: ExampleChecker
    prose: Mapping[str, WrittenText]
    gallery: str
    attempts: int = 3

    async def all(
        self, names: Iterable[str], checkpoint: Checkpoint, concurrency: int
    ) -> list[str]:
        """Write what the checkpoint does not hold yet; returns what could not be asked."""
        hashes = {name: source_hash(self.library.symbols[name]) for name in names}
        missing = {
            name
            for name, at in hashes.items()
            if not checkpoint.done(name, at, self.model.name)
        }
        prompter = Prompter(self.library)
        slots = asyncio.Semaphore(concurrency)

        async def write_group(group: Sequence[str]) -> str:
            async with slots:
                texts, unanswered = await self.write(group, prompter)
            for text in texts:
                checkpoint.add(text)
            progress.advance(len(group))
            return unanswered

        groups = batches(self.library, documentation_order(self.library), missing)
        with meter("Writing examples", len(missing), show=True) as progress:
            return [
                line for line in await asyncio.gather(*map(write_group, groups)) if line
            ]

    async def write(
        self, names: Sequence[str], prompter: Prompter
    ) -> tuple[list[WrittenText], str]:
        """Examples of some symbols, one request after the other while some fail.

        Returns
        -------
        tuple
            The examples, and why the last request was not answered (empty: it was).
        """
        written: list[WrittenText] = []
        wrong = dict.fromkeys(names, "")
        for attempt in range(1, self.attempts + 1):
            pending = list(wrong)
            faults = [f"# {name}\n{fault}" for name, fault in wrong.items() if fault]
            parts = [prompter.build(pending, self.prose), *self._owners(pending)]
            parts += ["These failed; write them anew:", *faults] if faults else []
            try:
                reply = await self.model.ask(
                    "\n".join(parts), INSTRUCTIONS + self.gallery
                )
            except Exception as failure:  # noqa: BLE001 - every provider has its own; reported
                return (
                    written,
                    f"{', '.join(pending)}: {type(failure).__name__}: {failure}",
                )
            replies = split(reply.text, pending)
            tried = await asyncio.gather(
                *(self._try(n, replies[n], attempt) for n in pending)
            )
            wrong = {}
            for name, (section, checked) in zip(pending, tried, strict=True):
                if checked.error and attempt < self.attempts:
                    wrong[name] = f"{section}\n{checked.error}".strip()
                else:
                    written.append(
                        _text(self.library, name, self.model.name, section, checked)
                    )
            if not wrong:
                break
        return written, ""

    def _owners(self, names: Sequence[str]) -> list[str]:
        """How the classes are made whose members are asked for without them."""
        owners = {name.rpartition(".")[0] for name in names}.difference(names)
        classes = (
            self.library.symbols[owner]
            for owner in sorted(owners & self.library.symbols.keys())
        )
        sources = (
            f"# {c.qualname}\n{c.source[:_OWNER]}" for c in classes if c.kind == "class"
        )
        return [f"<bases>\n{source}\n</bases>" for source in sources]

    async def _try(self, name: str, part: str, attempt: int) -> tuple[str, Checked]:
        """The section of an example, and what is wrong with it."""
        scripts = code_of(part)
        needs = _NEEDS.search(part)
        if not scripts and needs and attempt > 1:
            return needs[0], Checked("inputs")
        if not scripts:
            fault = "try once, with an input that is made up" if needs else _NO_SCRIPT
            return "", Checked("none", error=fault)
        code = scripts[-1].strip() + "\n"
        if fault := unfit(code, name):
            return f"{_section(code)}\nFails: {fault}", Checked("fails", error=fault)
        checked = await self.checker.check(code)
        if checked.verdict == "runs" and (fault := unstable(checked.printed)):
            checked = Checked("fails", error=fault)
        failure = f"\nFails: {checked.error}" if checked.error else ""
        return _section(code, checked.printed) + failure, checked


def split(reply: str, names: Sequence[str]) -> dict[str, str]:
    """What a reply says about each name, empty where it says nothing."""
    text = spoken(reply)
    listed = "|".join(map(re.escape, names))
    marks = list(re.finditer(rf"^#{{1,4}} `?({listed})`?[ \t]*$", text, re.MULTILINE))
    if len(names) == 1 and not marks:
        return {names[0]: text}
    return {**dict.fromkeys(names, ""), **dict(behind(marks, text))}


def unfit(code: str, name: str) -> str:
    """Why a script is not worth running."""
    if len(code) > _LONGEST:
        return f"it is longer than {_LONGEST} characters"
    last = name.rpartition(".")[2]
    return (
        "" if re.search(rf"\b{re.escape(last)}\b", code) else f"it does not use {last}"
    )


def unstable(printed: str) -> str:
    """Why what a script printed is of no use."""
    if not printed.strip():
        return "it prints nothing"
    return (
        "it prints an address or a temporary path" if _ADDRESS.search(printed) else ""
    )


def _text(
    library: Library, name: str, writer: str, section: str, checked: Checked
) -> WrittenText:
    """An example as it is kept, in the form of a document with one section."""
    date = datetime.now(UTC).date().isoformat()
    at = source_hash(library.symbols[name])
    return WrittenText(
        name, at, VERSION, writer, date, f"## Example\n{section}\n", checked.verdict
    )


def _section(code: str, printed: str = "") -> str:
    output = f"\nPrints:\n```text\n{printed.rstrip()}\n```" if printed.strip() else ""
    return f"```python\n{code}```{output}"


def scripts(
    tests: Path, resolver: CodeResolver, library: Library
) -> dict[str, list[str]]:
    """Symbol -> scripts out of unit tests that use it and print a value, the shortest first.

    No comment, message or expected value of a test is taken over. Who measures with questions made
    of the same tests must not give an agent these examples.
    """
    codes_of: dict[str, set[str]] = {}
    for program in collect(tests)[0]:
        for number, assertion in enumerate(program.assertions):
            code = "" if assertion.kind == "raises" else _script(program, number)
            if 0 < len(code) <= _LONGEST_TEST:
                for name in resolver.symbols(code).keys() & library.symbols.keys():
                    codes_of.setdefault(name, set()).add(code)
    return {
        name: sorted(codes, key=lambda c: (len(c), c))
        for name, codes in codes_of.items()
    }


def _script(program: Program, number: int) -> str:
    """What one assertion of a test looks at, printed."""
    assertion = program.assertions[number]
    before = program.body[: program.body.index(assertion) + 1]
    preamble, body = only_asked(replace(program, body=before), [number])
    statements = [ast.unparse(part) for part, _ in body if isinstance(part, ast.stmt)]
    printed = f"print({ast.unparse(assertion.actual)})"
    return "\n".join([text_of(preamble), "", *statements, printed, ""]).lstrip()


async def mine(
    library: Library,
    codes_of: Mapping[str, Sequence[str]],
    names: Iterable[str],
    checker: ExampleChecker,
) -> list[WrittenText]:
    """The first script of each symbol that runs and prints something; few are tried."""
    ran: dict[str, asyncio.Task[Checked]] = {}  # several symbols stand in one script

    async def first_script(name: str) -> WrittenText | None:
        for code in codes_of[name][:_TRIES]:
            if code not in ran:
                ran[code] = asyncio.create_task(checker.check(code))
            checked = await ran[code]
            if checked.verdict == "runs" and not unstable(checked.printed):
                return _text(
                    library, name, TESTS, _section(code, checked.printed), checked
                )
        return None

    texts = await asyncio.gather(
        *(first_script(name) for name in names if name in codes_of)
    )
    return [text for text in texts if text is not None]


async def _action(options: ExampleOptions) -> int:
    sources = read_sources(options.package, site_packages(options.env))
    library = build_library(sources).public()
    used = [n for n, s in library.symbols.items() if s.kind not in _VALUES]
    names = list(options.symbols or used)
    if strange := [name for name in names if name not in library.symbols]:
        raise UsageError(
            f"symbols={','.join(strange)}: no such symbols in {options.package}"
        )
    if not options.model.name and options.tests is None:
        raise UsageError(
            "who writes? model=NAME, or tests=FOLDER for examples out of unit tests"
        )
    checkpoint = Checkpoint(options.out)
    lost: list[str] = []
    async with (
        options.checker() as checker,
        open_writer(options.model, concurrency=options.concurrency) as model,
    ):
        if options.tests is not None:
            codes_of = scripts(options.tests, CodeResolver(sources), library)
            print(
                f"{sum(n in codes_of for n in names)} of {len(names)} symbols stand in tests"
            )
            for text in await mine(library, codes_of, names, checker):
                checkpoint.add(text)
        if model is not None:
            prose, _ = prewritten(library, text_files(library.versions, cache_folder()))
            gallery = options.gallery.read_text(encoding="utf-8")
            writer = ExampleWriter(
                library, model, checker, prose, gallery, options.attempts
            )
            lost = await writer.all(names, checkpoint, options.concurrency)
    texts = best(checkpoint.texts(), names)
    rows = (
        (t.example or "none", name, t.text.splitlines()[-1])
        for name, t in texts.items()
    )
    print(table(f"examples of {len(names)} symbols", rows))
    for line in lost:
        print(f"not answered: {line}")
    return 1 if lost else 0


main = Command(
    "matsmith docs examples", str(__doc__), ExampleOptions, _action, (OSError,)
)
