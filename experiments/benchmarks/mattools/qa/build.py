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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
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
from experiments.benchmarks.mattools.qa.questions import QAQuestion, stored_line
from experiments.benchmarks.mattools.qa.rules import write_by_rules
from experiments.benchmarks.mattools.qa.wording import generation_prompt, read_generated
from experiments.store import write_json
from sandbox.base import SandboxError
from sandbox.command import UsageError, read_group, run
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
    model: str = Field("rules", description="configuration of conf/model: rules, openai")
    set: dict[str, Any] = Field({}, description="overrides of it: set.name=... set.base_url=...")
    concurrency: PositiveInt = Field(8, description="requests in flight")
    limit: PositiveInt | None = Field(None, description="only the first N symbols")

    @field_validator("package", "kinds", mode="before")
    @classmethod
    def _comma_separated(cls, value: object) -> object:
        return value.split(",") if isinstance(value, str) else value


class Made:
    """What a model has made so far: one line per symbol and kind, kept at once."""

    def __init__(self, path: Path) -> None:
        self.counts: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self.finished: set[tuple[str, str]] = set()
        self._file = path.open("a+b")
        self._file.seek(0)
        whole, end, _ = self._file.read().rpartition(b"\n")
        self._file.truncate(len(whole) + len(end))
        for line in whole.splitlines():
            self._count(json.loads(line))

    def _count(self, row: dict[str, Any]) -> None:
        self.finished.add((row["symbol"], row["kind"]))
        self.counts[row["kind"]] += len(row["questions"])
        self.rejected.update(row["rejected"])

    def add(
        self, symbol: str, kind: str, questions: Sequence[QAQuestion], rejected: Sequence[str]
    ) -> None:
        """Keep the questions of a symbol."""
        row = {
            "symbol": symbol, "kind": kind, "questions": [q.plain() for q in questions],
            "rejected": list(rejected),
        }  # fmt: skip
        self._file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        self._file.flush()
        self._count(row)

    def write(self, out: Path) -> None:
        """Write all questions, replacing the file at once."""
        fresh = out.with_name(f".{out.name}.new")
        self._file.seek(0)
        with fresh.open("w", encoding="utf-8") as file:
            for line in self._file:
                file.writelines(stored_line(QAQuestion(**q)) for q in json.loads(line)["questions"])
        fresh.replace(out)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


async def write_by_model(
    items: Sequence[tuple[Symbol, Kind, str]],
    chat: BaseChatModel,
    made: Made,
    package: str,
    *,
    concurrency: int,
    console: Console,
) -> list[str]:
    """Ask a chat model for the questions of each item that is not finished.

    Parameters
    ----------
    items
        Symbol, kind of question, and the content that is shown.
    package
        What the questions are about, for the prompt.

    Returns
    -------
    list of str
        Why symbols have no questions; after `FAILURES` of them the rest is not asked.
    """
    waiting: Iterator[tuple[Symbol, Kind, str]] = iter(
        [item for item in items if (item[0].qualname, item[1]) not in made.finished]
    )
    failures: list[str] = []
    done = sum((symbol.qualname, kind) in made.finished for symbol, kind, _ in items)

    async def work() -> None:
        for symbol, kind, content in waiting:
            if len(failures) >= FAILURES:
                return
            prompt = generation_prompt(kind, package=package, path=symbol.path, content=content)
            try:
                reply = await chat.ainvoke([HumanMessage(prompt)])
            except ModelError as error:
                failures.append(f"{symbol.qualname}, {kind}: {error}")
                continue
            source = f"{symbol.path}/{symbol.qualname}"
            made.add(
                symbol.qualname, kind, *read_generated(str(reply.text), kind=kind, source=source)
            )
            progress.advance(note=f"{made.counts.total()} questions")

    with meter("requests", len(items), done=done, console=console) as progress:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(work())
    return failures


def contents(
    symbols: Sequence[Symbol], kinds: Sequence[Kind], docs: Path | None
) -> list[tuple[Symbol, Kind, str]]:
    """What a model is shown of each symbol; symbols without any content are left out.

    Raises
    ------
    UsageError
        When ``docs`` cannot be read.
    """
    texts = {} if docs is None else _read_docs(docs)
    items: list[tuple[Symbol, Kind, str]] = []
    for symbol in symbols:
        for kind in kinds:
            if kind == "code":
                content = symbol.source if symbol.kind != "module" else ""
            elif docs is not None:
                content = texts.get(symbol.qualname, "")
            else:
                content = (
                    f"{render_facts(symbol)}\n\n{symbol.docstring}" if symbol.docstring else ""
                )
            if content.strip():
                items.append((symbol, kind, content))
    return items


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
    config = read_group("model", options.model, options.set)
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
        counts, rejected = made.counts, made.rejected
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
) -> tuple[Made, list[str], Usage]:
    items = contents(symbols, options.kinds, options.docs)
    opened = open_chat(config, concurrency=options.concurrency, cache=cache_folder())
    async with AsyncExitStack() as stack:
        try:
            chat = await stack.enter_async_context(opened)
        except ValueError as error:
            raise UsageError(f"model={options.model}: {error}") from error
        made = Made(options.out.with_name(f"{options.out.name}.made"))
        stack.callback(made.close)
        failures = await write_by_model(
            items, chat, made, ", ".join(options.package),
            concurrency=options.concurrency, console=console,
        )  # fmt: skip
        made.write(options.out)
    return made, failures, chat.usage


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m experiments.build_qa``."""
    return run("experiments.build_qa", str(__doc__), Options, _action, arguments)


if __name__ == "__main__":
    sys.exit(main())
