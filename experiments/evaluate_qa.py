"""Ask a model the questions of MatTools QA, or of any file in its form.

Questions are streamed from the file and answers to the results, so memory does not grow with
their number; a run that was killed goes on with the first question that has no answer yet.
Accuracy is given twice: by the strict rule (one letter in <answer> tags and nothing else) and
by the letter that the reply most likely means.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError
from rich.console import Console
from rich.table import Table

from agents.models import ModelConfig, ModelError, build_model, find_price
from docgen.command import UsageError, run
from docgen.models import read_group
from experiments.benchmarks.mattools_qa import (
    QAError,
    QAQuestion,
    answering_prompt,
    lenient_letter,
    read_questions,
    strict_letter,
)
from experiments.progress import CountProgress
from experiments.qa_endpoint import Answer, Endpoint, EndpointError, behind_proxy
from experiments.store import write_json

Ask = Callable[[str, int], Awaitable[Answer]]

#: Questions that may fail before the run gives up: the endpoint is gone then.
FAILURES = 100


class Options(BaseModel):
    """Arguments of ``python -m experiments.evaluate_qa``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    questions: Path = Field(description="JSON lines, or a published JSON array")
    model: str = Field("rules", description="configuration of conf/model: rules, openai")
    set: dict[str, Any] = Field({}, description="overrides of it: set.name=... set.base_url=...")
    concurrency: PositiveInt = Field(32, description="requests in flight")
    limit: PositiveInt | None = Field(None, description="only the first N questions")
    out: Path | None = Field(None, description="folder of the results; the same one resumes")


class Answers:
    """The results file: one line per answered question. Use within an event loop.

    A thread hands lines to the system, where they survive the end of this process; lines that
    come in during a write go out together, right after it. Only which questions are answered is
    kept in memory, one byte each.
    """

    def __init__(self, path: Path) -> None:
        self._answered = bytearray()
        self._pending: list[bytes] = []
        self._writer = ThreadPoolExecutor(1, "answers")
        self._writing: Future[None] | None = None
        whole = 0
        with path.open("a+b") as file:
            file.seek(0)
            for line in file:
                if line.endswith(b"\n"):  # a killed process leaves half a line
                    whole += len(line)
                    self._mark(int(json.loads(line)["number"]))
            file.truncate(whole)
        self._file = path.open("ab", buffering=0)  # one system call per write

    def _mark(self, number: int) -> None:
        if number >= len(self._answered):
            self._answered.extend(bytes(max(number + 1 - len(self._answered), 4096)))
        self._answered[number] = 1

    def __contains__(self, number: int) -> bool:
        return number < len(self._answered) and bool(self._answered[number])

    @property
    def count(self) -> int:
        """Answered questions."""
        return sum(self._answered)

    def add(self, number: int, line: dict[str, Any]) -> None:
        """Keep an answer."""
        text = json.dumps({"number": number, **line}, ensure_ascii=False)
        self._pending.append(text.encode("utf-8", "replace") + b"\n")
        self._mark(number)
        if self._writing is None or self._writing.done():
            self._start_writing()

    def _start_writing(self) -> None:
        if self._writing is not None:
            self._writing.result()  # a full disk ends the run
        data = b"".join(self._pending)
        self._pending.clear()
        self._writing = self._writer.submit(self._write, data)
        loop = asyncio.get_running_loop()
        self._writing.add_done_callback(lambda _: loop.call_soon_threadsafe(self._written))

    def _written(self) -> None:
        if self._pending:
            self._start_writing()

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]

    def close(self) -> None:
        """Write what is left and let go of the file."""
        self._writer.shutdown()
        if self._writing is not None:
            self._writing.result()
        self._write(b"".join(self._pending))
        self._pending.clear()
        self._file.close()


@asynccontextmanager
async def asker(config: ModelConfig, concurrency: int) -> AsyncIterator[Ask]:
    """A function that asks the model: over HTTP directly, or through LangChain.

    Raises
    ------
    ValueError
        When the model cannot be made.
    """
    thin = config.provider == "openai" and config.record is None and config.replay is None
    if thin and not behind_proxy(config):
        async with Endpoint(config) as endpoint:
            yield lambda prompt, number: endpoint.ask(prompt)  # noqa: ARG005
        return
    client = build_model(config, concurrency=concurrency)

    async def ask(prompt: str, number: int) -> Answer:
        try:
            reply = await client.ask([HumanMessage(prompt)], sample=f"qa {number}")
        except ModelError as error:
            raise EndpointError(str(error)) from error
        known = not reply.usage.estimated
        usage = reply.usage
        return Answer(
            reply.text,
            usage.prompt_tokens if known else None,
            usage.completion_tokens if known else None,
        )

    yield ask


async def evaluate(
    questions: Iterator[tuple[int, QAQuestion]],
    ask: Ask,
    answers: Answers,
    *,
    concurrency: int,
    progress: CountProgress,
) -> list[str]:
    """Ask every question that has no answer yet.

    Returns
    -------
    list of str
        Why questions have no answer; at most `FAILURES`, then the rest is not asked.
    """
    failures: list[str] = []
    right = asked = 0

    async def work() -> None:
        nonlocal right, asked
        for number, question in questions:
            if number in answers:
                continue
            if len(failures) >= FAILURES:
                return
            try:
                answer = await ask(answering_prompt(question), number)
            except EndpointError as error:
                failures.append(f"question {number}: {error}")
                continue
            strict = strict_letter(answer.text)
            lenient = strict or lenient_letter(answer.text)
            answers.add(
                number,
                {
                    "digest": question.digest,
                    "kind": question.kind,
                    "correct": question.correct_answer,
                    "strict": strict,
                    "lenient": lenient,
                    "reply": answer.text,
                    "prompt_tokens": answer.prompt_tokens,
                    "completion_tokens": answer.completion_tokens,
                },
            )
            asked += 1
            right += lenient == question.correct_answer
            progress.advance(f"{100 * right / asked:.1f} % right (lenient)")

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(work())
    return failures


def summarise(path: Path, config: ModelConfig) -> dict[str, Any]:
    """Count the answers of a results file, one line at a time."""
    counts: dict[str, dict[str, int]] = defaultdict(
        lambda: dict.fromkeys(("questions", "strict", "lenient", "no_strict", "no_lenient"), 0)
    )
    tokens: dict[str, int | None] = {"prompt_tokens": 0, "completion_tokens": 0}
    with path.open("rb") as lines:
        for line in lines:
            row = json.loads(line)
            for name in {"all", row["kind"] or "all"}:
                count = counts[name]
                count["questions"] += 1
                for rule in ("strict", "lenient"):
                    count[rule] += row[rule] == row["correct"]
                    count[f"no_{rule}"] += row[rule] is None
            for name, total in tokens.items():
                known = total is not None and row[name] is not None
                tokens[name] = total + row[name] if known and total is not None else None
    price = find_price(config)
    prompt, completion = tokens["prompt_tokens"], tokens["completion_tokens"]
    cost: float | None = 0.0 if not config.llm else None
    if price is not None and prompt is not None and completion is not None:
        cost = round((prompt * price.prompt + completion * price.completion) / 1e6, 6)
    return {"model": config.name, "counts": dict(counts), **tokens, "cost_usd": cost}


def wilson(right: int, total: int) -> tuple[float, float]:
    """95 % interval of a share (Wilson's score interval)."""
    if total == 0:
        return 0.0, 1.0
    z = 1.959964
    share, spread = right / total, z * z / total
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    return middle - half, middle + half


def print_summary(summary: dict[str, Any], console: Console) -> None:
    """The accuracy table: strict beside lenient, with what could not be read."""
    table = Table(title=f"MatTools QA, {summary['model']}")
    table.add_column("questions of")
    for name in ("questions", "strict %", "lenient %", "95 % interval", "not strict", "no letter"):
        table.add_column(name, justify="right")
    for kind, count in sorted(summary["counts"].items()):
        low, high = wilson(count["lenient"], count["questions"])
        share = {name: f"{100 * count[name] / count['questions']:.2f}"
                 for name in ("strict", "lenient")}  # fmt: skip
        table.add_row(
            kind, str(count["questions"]), share["strict"], share["lenient"],
            f"{100 * low:.2f} to {100 * high:.2f}", str(count["no_strict"]),
            str(count["no_lenient"]),
        )  # fmt: skip
    console.print(table)


def model_config(options: Options) -> ModelConfig:
    """The model that the options name.

    Raises
    ------
    UsageError
        When there is no such configuration, or it holds something wrong.
    """
    try:
        return ModelConfig.model_validate(read_group("model", options.model, options.set))
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"set.{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def _folder(options: Options, config: ModelConfig) -> Path:
    if options.out is not None:
        return options.out
    with options.questions.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    identity = config.model_dump(mode="json", exclude={"timeout", "max_retries", "base_url"})
    digest.update(json.dumps(identity, sort_keys=True).encode())
    name = config.name.replace("/", "_")
    return Path("runs") / f"qa-{name}-{digest.hexdigest()[:8]}"


def _claim(folder: Path, options: Options, config: ModelConfig) -> None:
    """Refuse a folder that holds another run.

    Raises
    ------
    UsageError
        When it does.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with options.questions.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    mine = {"questions": digest, "model": config.model_dump(
        mode="json", exclude={"timeout", "max_retries", "base_url", "price"})}  # fmt: skip
    described = folder / "run.json"
    if described.exists() and json.loads(described.read_text()) != mine:
        raise UsageError(f"out={folder}: holds a run of other questions or another model")
    write_json(described, mine)


def _numbered(path: Path, limit: int | None) -> Iterator[tuple[int, QAQuestion]]:
    for number, question in enumerate(read_questions(path)):
        if limit is not None and number >= limit:
            return
        yield number, question


def _count(path: Path, limit: int | None) -> int:
    """Questions in the file; also checks all of them before the first one costs anything."""
    return sum(1 for _ in _numbered(path, limit))


async def _run(options: Options, config: ModelConfig, folder: Path, console: Console) -> list[str]:
    answers = Answers(folder / "results.jsonl")
    try:
        with console.status("Reading the questions"):
            total = _count(options.questions, options.limit)
        done = answers.count
        console.print(f"{total} questions, {done} of them answered before -> {folder}")
        progress = CountProgress(console, config.name, total=total, done=done)
        async with asker(config, options.concurrency) as ask:
            with progress:
                return await evaluate(
                    _numbered(options.questions, options.limit),
                    ask,
                    answers,
                    concurrency=options.concurrency,
                    progress=progress,
                )
    finally:
        answers.close()


def _action(options: Options) -> int:
    console = Console()
    if not console.is_terminal:
        console = Console(width=100)
    config = model_config(options)
    if not options.questions.is_file():
        raise UsageError(
            f"questions={options.questions}: no such file; python -m experiments.build_qa makes one"
        )
    folder = _folder(options, config)
    _claim(folder, options, config)
    try:
        failures = asyncio.run(_run(options, config, folder, console))
    except (QAError, ValueError) as error:
        raise UsageError(str(error)) from error
    for failure in failures[:5]:
        console.print(f"no answer: {failure}", markup=False)
    summary = summarise(folder / "results.jsonl", config)
    write_json(folder / "summary.json", {**summary, "unanswered": len(failures)})
    print_summary(summary, console)
    if failures:
        console.print(f"{len(failures)} without an answer; the same command asks them again")
    return 1 if failures else 0


def main(arguments: list[str] | None = None) -> int:
    """Entry point of ``python -m experiments.evaluate_qa``."""
    return run("experiments.evaluate_qa", str(__doc__), Options, _action, arguments)


if __name__ == "__main__":
    sys.exit(main())
