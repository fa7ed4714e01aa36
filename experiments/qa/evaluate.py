"""Asks a model multiple-choice questions: streamed, concurrent, resumable, with flat memory."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from langchain_core.messages import HumanMessage
from rich.console import Console

from agents.models import ModelConfig, ModelError, Reply, build_model
from agents.models.chat import MeteredChat
from experiments.build import build_chat, build_client, build_retriever, build_writer
from experiments.config import ConfigError, RunConfig
from experiments.meter import RunMeter
from experiments.progress import CountProgress
from experiments.qa.answers import Answers, selected, summarise
from experiments.qa.endpoint import Endpoint, behind_proxy
from experiments.qa.questions import QAError, QAQuestion, read_questions
from experiments.qa.wording import answering_prompt
from experiments.store import run_folder, write_json
from retrieval.base import RetrievalError
from retrieval.budget import shorten
from sandbox import environments
from sandbox.base import SandboxConfig
from sandbox.factory import get_sandbox

Ask = Callable[[str, str], Awaitable[Reply]]
Write = Callable[[QAQuestion], Awaitable[str]]
Job = tuple[int, int, QAQuestion]  # number, seed, question

#: Failures in a row after which the run stops: the endpoint is gone then.
FAILURES = 100

#: Architectures that make sense for a question that one letter answers.
SYSTEMS = ("single", "rag")


@dataclass(frozen=True)
class QuestionFile:
    """A file of questions: how many there are, and the SHA-256 of its content."""

    path: Path
    count: int
    digest: str

    @classmethod
    def check(cls, path: Path) -> QuestionFile:
        """Read it once as a whole, before the first question costs anything.

        Raises
        ------
        ConfigError
            When it is missing, empty, or something in it is no question.
        """
        try:
            count = sum(1 for _ in read_questions(path))
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except (QAError, OSError) as error:
            raise ConfigError(f"benchmark.path: {error}") from error
        if count == 0:
            raise ConfigError(f"benchmark.path={path}: holds no question")
        return cls(path, count, digest)

    def numbers(self, config: RunConfig) -> Collection[int]:
        """The questions that ``limit`` and ``ids`` select.

        Raises
        ------
        ConfigError
            When ``ids`` names a question that is not there.
        """
        for wanted in config.ids:
            if not wanted.isdecimal() or int(wanted) >= self.count:
                raise ConfigError(
                    f"ids={wanted}: no such question; they are numbered 0 to {self.count - 1}"
                )
        chosen = selected(config.limit, config.ids)
        return range(min(self.count, len(chosen))) if isinstance(chosen, range) else chosen

    def jobs(self, numbers: Collection[int], seeds: Sequence[int]) -> Iterator[Job]:
        """Stream the selected questions, once per seed."""
        last = max(numbers)
        for seed in seeds:
            for number, question in enumerate(read_questions(self.path)):
                if number > last:
                    break
                if number in numbers:
                    yield number, seed, question


async def evaluate(config: RunConfig, file: Path, packages: Sequence[str], env: str,
                   console: Console) -> Path:  # fmt: skip
    """Ask every question that has no answer yet, and write ``summary.json``.

    Parameters
    ----------
    config
        The run.
    file
        The questions.
    packages, env
        Import names whose documents ``system=rag`` retrieves, and the environment with them.

    Returns
    -------
    Path
        The run folder.

    Raises
    ------
    ConfigError, SandboxError, RetrievalError
        When the run cannot start; the message says what to do.
    """
    with console.status("Reading the questions"):
        questions = QuestionFile.check(file)
    numbers = questions.numbers(config)
    config_hash = config.hash(questions.digest)
    folder = run_folder(config, config_hash)
    meter = RunMeter(config.run_budget)
    client = build_client(config)
    writer, chat = build_writer(config, client, meter), build_chat(client, meter)
    write = await _writer(config, packages, env, console, chat=chat, writer=writer)
    with Answers(folder, config_hash, config.plain(), meter) as answers:
        done, _ = answers.counted(config.seeds, numbers)
        total = len(numbers) * len(config.seeds)
        console.print(_headline(config, folder, total=total, done=done), highlight=False)
        progress = CountProgress(console, config.system.name, total=total, done=done)
        try:
            async with asker(config.model, config.concurrency) as ask:
                with progress:
                    stopped = await answer(
                        questions.jobs(numbers, config.seeds), ask, answers, write=write,
                        meter=meter, concurrency=config.concurrency, progress=progress,
                    )  # fmt: skip
            if stopped:
                console.print(stopped, markup=False, highlight=False)
        finally:
            await client.close()
            answers.remember_spent(config.writer, writer.spent)
            answers.remember_spent("model", chat.spent)
            answers.flush()
            _, failed = answers.counted(config.seeds, numbers)
            summary = summarise(
                folder, config, config_hash=config_hash, questions=len(numbers), failed=failed,
                file=questions.path, digest=questions.digest,
            )  # fmt: skip
            write_json(folder / "summary.json", {**summary, "outside": answers.spent})
    return folder


def check_configuration(config: RunConfig) -> None:
    """Refuse what has no meaning for questions that one letter answers.

    Raises
    ------
    ConfigError
        In one line.
    """
    if config.system.name not in SYSTEMS:
        raise ConfigError(
            f"system={config.system.name}: cannot answer multiple-choice questions; use "
            "system=single (the published protocol) or system=rag (documents before the question)"
        )
    if config.system.name == "rag" and config.retrieval.source == "none":
        raise ConfigError("system=rag: needs documents; choose a retrieval, or system=single")
    for name in ("tokens", "cost_usd", "sandbox_seconds"):
        if getattr(config.budget, name) is not None:
            raise ConfigError(
                f"budget.{name}: a multiple-choice question is one call, which cannot be cut "
                f"short; use run_budget.{name} or model.max_tokens"
            )


def _headline(config: RunConfig, folder: Path, *, total: int, done: int) -> str:
    model = config.model.name if config.model.llm else f"{config.model.name} (no LLM)"
    resumed = f", {done} of them answered before" if done else ""
    return (
        f"{config.system.name} + {config.retrieval.name} + {model} on {config.benchmark.name}: "
        f"{total} questions{resumed} -> {folder}"
    )


async def answer(
    jobs: Iterator[Job],
    ask: Ask,
    answers: Answers,
    *,
    write: Write | None,
    meter: RunMeter,
    concurrency: int,
    progress: CountProgress,
) -> str | None:
    """Ask, ``concurrency`` at a time, until the questions or the means are used up.

    Parameters
    ----------
    write
        Makes the prompt; ``None`` for the question alone.

    Returns
    -------
    str or None
        Why it stopped early.

    Raises
    ------
    ConfigError
        When answers cannot be stored.
    """
    right = asked = failed = in_a_row = 0
    reason = ""

    async def work() -> None:
        nonlocal right, asked, failed, in_a_row, reason
        for number, seed, question in jobs:
            if answers.answered(seed, number):
                continue
            if meter.exhausted or in_a_row >= FAILURES or answers.broken:
                return
            try:
                prompt = answering_prompt(question) if write is None else await write(question)
                reply = await ask(prompt, f"qa {number} {seed}")
            except (ModelError, RetrievalError) as error:
                failed, in_a_row, reason = failed + 1, in_a_row + 1, str(error)
                answers.fail(number, seed, reason)
                continue
            in_a_row = 0
            asked += 1
            right += answers.add(number, seed, question, reply)
            progress.advance(f"{100 * right / asked:.1f} % right (lenient)")

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(work())
    if answers.broken:
        raise ConfigError(f"{answers.path}: cannot be written ({answers.broken})")
    if in_a_row >= FAILURES:
        return f"Stopped: {in_a_row} questions in a row failed, the last one with {reason}"
    if meter.exhausted:
        return f"Stopped: {meter.exhausted}. With a higher limit it goes on from here."
    if failed:
        return f"{failed} failed, the last one with {reason}; the same command asks them again"
    return None


async def _writer(
    config: RunConfig,
    packages: Sequence[str],
    env: str,
    console: Console,
    *,
    chat: MeteredChat,
    writer: MeteredChat,
) -> Write | None:
    """What puts documents before a question; ``None`` without retrieval."""
    if config.retrieval.source == "none":
        return None
    await asyncio.to_thread(
        environments.build,
        env,
        say=lambda line: console.print(f"Environment {env}: {line}", highlight=False),
    )
    site = environments.site_packages(env)
    open_sandbox = partial(get_sandbox, SandboxConfig(backend=config.sandbox.backend, env=env))
    retriever = await build_retriever(
        config, packages, site, writer=writer, open_sandbox=open_sandbox
    )
    if retriever is None:
        return None

    k = int(config.system.params.get("k") or config.model.documents)
    longest = config.model.document_characters

    async def write(question: QAQuestion) -> str:
        query = "\n".join([question.question, *question.choices.values()])
        documents = await retriever.search(query, k=k, chat=chat)
        return answering_prompt(question, shorten(documents, query, longest))

    return write


@asynccontextmanager
async def asker(config: ModelConfig, concurrency: int) -> AsyncIterator[Ask]:
    """A function that asks the model: over HTTP directly, or through LangChain.

    Raises
    ------
    ConfigError
        When the model cannot be made.
    """
    plain = config.provider == "openai" and config.record is None and config.replay is None
    try:
        if plain and not behind_proxy(config):
            async with Endpoint(config) as endpoint:
                yield lambda prompt, sample: endpoint.ask(prompt)  # noqa: ARG005
        else:
            # No cache: every answer is kept in the results.
            client = build_model(config, concurrency=concurrency)
            yield lambda prompt, sample: client.ask([HumanMessage(prompt)], sample=sample)
    except ValueError as error:
        raise ConfigError(str(error)) from error
