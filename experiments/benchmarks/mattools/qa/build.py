"""Make multiple-choice questions about the installed library, as MatTools QA has them.

With model=rules names are masked and members told apart by their documentation, without any
LLM. With a chat model every symbol is asked about twice, once with its code and once with its
documentation; only questions with four distinct choices, one letter and (code) a [MASK] are
kept. What is finished is kept when the command is stopped; the same command resumes.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from langchain_core.messages import HumanMessage
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, field_validator
from rich.console import Console

from agents.base import Usage
from agents.models import ModelError
from agents.models.chat import open_chat
from docgen.facts import render_facts
from docgen.library import read_library
from docgen.sources import SourceError
from docgen.symbols import Symbol
from experiments.benchmarks.mattools.journal import Journal
from experiments.benchmarks.mattools.qa.questions import QAQuestion, stored_line
from experiments.benchmarks.mattools.qa.rules import write_by_rules
from experiments.benchmarks.mattools.qa.wording import generation_prompt, read_generated
from experiments.store import write_json, write_text
from sandbox.base import SandboxError
from sandbox.command import Group, UsageError, run
from sandbox.environments import cache_folder, site_packages
from sandbox.progress import meter
from sandbox.terminal import printable

Kind = Literal["code", "doc"]

#: Consecutive symbols whose request may fail before the command gives up.
FAILURES = 50


class Options(BaseModel):
    """Arguments of ``python -m experiments.build_qa``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    out: Path = Field(Path("runs/qa/questions.jsonl"), description="JSON lines file to write")
    package: tuple[str, ...] = Field(("pymatgen",), description="import names, comma-separated")
    folder: Path | None = Field(None, description="folder that contains the packages")
    env: str = Field("live", description="sandbox environment that holds them, without folder")
    kinds: tuple[Kind, ...] = Field(("code", "doc"), description="code, doc, or both")
    docs: Path | None = Field(
        None, description="JSON lines of python -m docgen for doc questions; else docstrings"
    )
    model: Group = Field(Group("rules"), description="who writes; its keys by model.KEY=VALUE")
    concurrency: PositiveInt = Field(8, description="requests in flight")
    limit: PositiveInt | None = Field(None, description="only the first N symbols")

    @field_validator("package", "kinds", mode="before")
    @classmethod
    def _comma_separated(cls, value: object) -> object:
        return value.split(",") if isinstance(value, str) else value


class Made(BaseModel):
    """What a model made of one symbol: a line of the file that makes the command resumable."""

    symbol: str
    kind: Kind
    questions: list[QAQuestion]
    rejected: list[str]


def contents(
    symbols: Sequence[Symbol], kinds: Sequence[Kind], docs: Path | None
) -> list[tuple[Symbol, Kind, str]]:
    """What a model is shown of each symbol; symbols without any content are left out."""
    texts = {} if docs is None else _read_docs(docs)

    def content(symbol: Symbol, kind: Kind) -> str:
        if kind == "code":
            return symbol.source
        if docs is not None:
            return texts.get(symbol.qualname, "")
        return f"{render_facts(symbol)}\n\n{symbol.docstring}" if symbol.docstring else ""

    items = ((symbol, kind, content(symbol, kind)) for symbol in symbols for kind in kinds)
    return [item for item in items if item[2].strip()]


def _read_docs(path: Path) -> dict[str, str]:
    try:
        with path.open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        return {str(row["qualname"]): str(row["text"]) for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"docs={path}: no output of python -m docgen ({error})") from error


def _action(options: Options) -> int:
    console = Console()
    if not console.is_terminal:
        console = Console(width=100)
    config = options.model.read("model")
    try:
        with console.status("Reading the library"):
            library = read_library(options.package, options.folder or site_packages(options.env))
    except (SourceError, SandboxError) as error:
        raise UsageError(str(error)) from error
    symbols = [s for s in library.symbols.values() if s.kind != "module"][: options.limit]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    rejected: Counter[str] = Counter()
    usage = Usage()
    if config["provider"] == "rules":
        counts = write_by_rules(library, symbols, options.out, console, kinds=options.kinds)
    else:
        made, failures, usage = asyncio.run(_by_model(options, config, symbols, console))
        counts = Counter(row.kind for row in made for _ in row.questions)
        rejected = Counter(reason for row in made for reason in row.rejected)
    facts = {
        "model": config["name"], "versions": dict(library.versions), "source": library.digest,
        "questions": dict(counts), "rejected": dict(rejected), "failed": len(failures),
        "spent": asdict(usage),
    }  # fmt: skip
    write_json(options.out.with_suffix(".json"), facts)
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "none"
    console.print(f"{counts.total()} questions ({listed}) -> {options.out}", highlight=False)
    for reason, count in rejected.most_common():
        console.print(f"rejected {count}: {printable(reason)}", markup=False, highlight=False)
    for failure in failures[:5]:
        console.print(f"failed: {printable(failure)}", markup=False, highlight=False)
    if config["provider"] != "rules":
        console.print(f"{config['name']}: {usage}", markup=False, highlight=False)
    if failures:
        console.print(f"{len(failures)} requests failed; the same command retries them")
    return 1 if failures else 0


async def _by_model(
    options: Options, config: Mapping[str, Any], symbols: Sequence[Symbol], console: Console
) -> tuple[list[Made], list[str], Usage]:
    """Ask a chat model for the questions of each symbol that has none yet.

    Returns
    -------
    rows, failures, usage
        What is made so far, why symbols have no questions (after `FAILURES` of them the rest is
        not asked), and what was spent.
    """
    items = contents(symbols, options.kinds, options.docs)
    opened = open_chat(config, concurrency=options.concurrency, cache=cache_folder())
    failures: list[str] = []
    async with AsyncExitStack() as stack:
        try:
            chat = await stack.enter_async_context(opened)
        except ValueError as error:
            raise UsageError(f"model={options.model.name}: {error}") from error
        made = Journal(options.out.with_name(f"{options.out.name}.made"), Made)
        stack.callback(made.close)
        finished = {(row.symbol, row.kind) for row in made.rows}
        todo = [item for item in items if (item[0].qualname, item[1]) not in finished]
        progress = stack.enter_context(
            meter("requests", len(items), done=len(items) - len(todo), console=console)
        )
        waiting = iter(todo)
        count = sum(len(row.questions) for row in made.rows)

        async def work() -> None:
            nonlocal count
            for symbol, kind, content in waiting:
                if len(failures) >= FAILURES:
                    return
                package = ", ".join(options.package)
                prompt = generation_prompt(kind, package=package, path=symbol.path, content=content)
                try:
                    reply = await chat.ainvoke([HumanMessage(prompt)])
                except ModelError as error:
                    failures.append(f"{symbol.qualname}, {kind}: {error}")
                    continue
                source = f"{symbol.path}/{symbol.qualname}"
                valid, rejected = read_generated(str(reply.text), kind=kind, source=source)
                row = Made(symbol=symbol.qualname, kind=kind, questions=valid, rejected=rejected)
                made.add(row)
                count += len(valid)
                progress.advance(note=f"{count} questions")

        async with asyncio.TaskGroup() as group:
            for _ in range(options.concurrency):
                group.create_task(work())
    lines = (stored_line(question) for row in made.rows for question in row.questions)
    write_text(options.out, "".join(lines))
    return made.rows, failures, chat.usage


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m experiments.build_qa``."""
    return run("experiments.build_qa", str(__doc__), Options, _action, arguments)


if __name__ == "__main__":
    sys.exit(main())
