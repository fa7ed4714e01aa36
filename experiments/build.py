"""Makes the live parts of a run out of its configuration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from rich.console import Console

from agents.answer_formats import CODE
from agents.base import Agent
from agents.budget import Budget
from agents.episode import Parts
from agents.models import ModelClient, ModelConfig, build_model, find_price
from agents.models.chat import MeteredChat
from experiments.config import ConfigError, RunConfig, load_class
from experiments.meter import RunMeter
from experiments.samples import Benchmark, Sample
from indexes.embedding import EmbeddingError, build_embedding
from retrieval.base import Retriever
from sandbox import environments
from sandbox.base import Sandbox, SandboxConfig
from sandbox.factory import get_sandbox
from sandbox.pool import PooledSandbox

_RULES = ModelConfig(provider="rules", name="rules")


@dataclass(frozen=True)
class Laboratory:
    """Everything that works on the questions of one environment.

    Attributes
    ----------
    agent
        The architecture, with its model, retriever and sandbox.
    sandbox
        Runs the code of models: drafts and final answers; ``None`` where there is no code.
    verifier
        Runs the verification, never a model's code; ``None`` where nothing is executed.
    packages
        Installed versions by distribution name; empty where the environment is not used.
    """

    agent: Agent
    sandbox: Sandbox | None
    verifier: Sandbox | None
    packages: Mapping[str, str]


def build_benchmark(config: RunConfig) -> Benchmark:
    """Make the benchmark.

    Raises
    ------
    ConfigError
        When an argument is wrong.
    """
    cls = load_class(config.benchmark.target, key="benchmark")
    try:
        benchmark: Benchmark = cls(**config.benchmark.params)
    except (ValueError, OSError) as error:
        raise ConfigError(f"benchmark={config.benchmark.name}: {error}") from error
    return benchmark


def load_samples(benchmark: Benchmark, config: RunConfig) -> list[Sample]:
    """Load the questions.

    Raises
    ------
    ConfigError
        When they cannot be loaded.
    """
    try:
        return list(benchmark.load())
    except (ValueError, OSError) as error:
        raise ConfigError(f"benchmark={config.benchmark.name}: {error}") from error


def select(samples: Sequence[Sample], config: RunConfig) -> list[Sample]:
    """Apply ``ids`` and ``limit``.

    Raises
    ------
    ConfigError
        When ``ids`` names a question that the benchmark does not have.
    """
    known = {sample.question.id for sample in samples}
    for wanted in config.ids:
        if wanted not in known:
            near = get_close_matches(wanted, sorted(known), n=5, cutoff=0.5)
            hint = f"; near: {', '.join(near)}" if near else f", such as {min(known)}"
            raise ConfigError(f"ids={wanted}: no such question of {len(known)}{hint}")
    chosen = [sample for sample in samples if not config.ids or sample.question.id in config.ids]
    return chosen[: config.limit]


def check_answers(config: RunConfig, samples: Sequence[Sample]) -> None:
    """Refuse an architecture that writes and runs code where another answer is wanted.

    Raises
    ------
    ConfigError
        In one line that says which architectures can answer.
    """
    cls = load_class(config.system.target, key="system")
    other = next((t.question.answer for t in samples if t.question.answer != CODE), None)
    if other is not None and getattr(cls, "writes_code", True):
        raise ConfigError(
            f"system={config.system.name}: writes and runs code, but benchmark="
            f"{config.benchmark.name} asks for {other.name}; use system=single or system=rag"
        )


def build_judge(config: RunConfig) -> ModelClient | None:
    """Make the model that judges prose; ``None`` for ``judge=none``.

    Raises
    ------
    ConfigError
        When it cannot be made.
    """
    if config.judge is None:
        return None
    try:
        return build_model(
            config.judge, concurrency=config.concurrency, cache=environments.cache_folder()
        )
    except ValueError as error:
        raise ConfigError(f"judge: {error}") from error


def build_client(config: RunConfig) -> ModelClient:
    """Make the chat model.

    Raises
    ------
    ConfigError
        When it cannot be made (no key, no such class).
    """
    try:
        return build_model(
            config.model, concurrency=config.concurrency, cache=environments.cache_folder()
        )
    except ValueError as error:
        raise ConfigError(str(error)) from error


def check_price(config: RunConfig) -> None:
    """Refuse a limit in dollars that cannot be kept.

    Raises
    ------
    ConfigError
        When nobody knows what the model costs; what a recording cost stands in it.
    """
    run_limit = config.run_budget.cost_usd
    for group, limit, role, model in (
        ("budget", config.budget.cost_usd, "model", config.model),
        ("run_budget", run_limit, "model", config.model),
        ("run_budget", run_limit, "judge", config.judge),
    ):
        if limit is None or model is None or not model.llm or model.replay:
            continue
        if find_price(model) is None:
            raise ConfigError(
                f"{group}.cost_usd={limit}: the price of {model.name} is unknown; set it "
                f"with {role}.price='{{prompt: USD, completion: USD}}' (per million tokens), or "
                f"limit {group}.tokens instead"
            )


def build_writer(config: RunConfig, client: ModelClient, meter: RunMeter) -> MeteredChat:
    """The model that writes documentation and builds graphs.

    What the model under test is asked for them counts against the limits of the run.
    """
    if config.writer == "rules":
        return MeteredChat(client=build_model(_RULES))
    return build_chat(client, meter)


def build_chat(client: ModelClient, meter: RunMeter) -> MeteredChat:
    """The model under test for what is no question: counted, and refused past the limits."""
    return MeteredChat(
        client=client,
        refuse=lambda: meter.exhausted,
        on_usage=lambda usage: meter.add(
            calls=usage.calls, tokens=usage.tokens, cost_usd=usage.cost_usd
        ),
    )


def build_vectors(config: RunConfig) -> Embeddings | None:
    """Make the embedding; ``None`` for ``embedding=none``.

    Raises
    ------
    ConfigError
        When a key or value is wrong, or the endpoint needs a key that is not set.
    """
    try:
        return build_embedding(config.embedding.model_dump())
    except EmbeddingError as error:
        raise ConfigError(str(error)) from error


async def build_laboratory(
    config: RunConfig,
    benchmark: Benchmark,
    environment: str,
    client: ModelClient,
    writer: BaseChatModel,
    *,
    stack: AsyncExitStack,
    console: Console,
) -> Laboratory:
    """Make agent and sandboxes for one environment; ``stack`` closes them.

    Parameters
    ----------
    client, writer
        The model under test, and the one that writes documentation and builds graphs.

    Raises
    ------
    SandboxError
        When no isolation is available, or the environment cannot be built.
    RetrievalError
        When the documents cannot be made.
    """
    settings = config.sandbox
    limits = SandboxConfig(
        backend=settings.backend,
        env=environment,
        workers=settings.workers,
        timeout=settings.timeout,
        wall_factor=settings.wall_factor,
        wall_seconds=settings.wall_seconds,
        memory_mb=settings.memory_mb,
        max_processes=settings.max_processes,
        disk_mb=settings.disk_mb,
        options=dict(settings.options),
    )
    system = load_class(config.system.target, key="system")
    executes = benchmark.scorer.executes or getattr(system, "writes_code", True)
    retriever = sandbox = verifier = None
    versions: Mapping[str, str] = {}
    if executes or config.retrieval.source != "none":
        await asyncio.to_thread(
            environments.build,
            environment,
            say=lambda line: console.print(f"Environment {environment}: {line}", highlight=False),
        )
        versions = environments.installed_versions(environment)
        retriever = await build_retriever(
            config,
            benchmark.packages,
            environments.site_packages(environment),
            writer=writer,
            open_sandbox=partial(get_sandbox, limits),
        )
    if executes:
        with console.status("Starting the sandboxes"):
            sandbox = await stack.enter_async_context(get_sandbox(limits))
            verifier = await stack.enter_async_context(get_sandbox(_plain(limits)))
    parts = Parts(
        model=client,
        retriever=retriever,
        sandbox=sandbox,
        budget=Budget(**config.budget.model_dump()),
        execution_timeout=settings.timeout,
        strict=config.strict,
        packages=tuple(benchmark.packages),
        sources=environments.source_folders(environment) if versions else (),
    )
    return Laboratory(system(parts, **config.system.params), sandbox, verifier, versions)


def _plain(limits: SandboxConfig) -> SandboxConfig:
    """Verification compares data: one worker, without the imports of the environment."""
    return replace(limits, workers=1, options={**limits.options, "warmup": False})


async def build_retriever(
    config: RunConfig,
    packages: Sequence[str],
    packages_folder: Path,
    *,
    writer: BaseChatModel,
    open_sandbox: Callable[[], PooledSandbox] | None = None,
) -> Retriever | None:
    """Make the retriever, and its documents where they do not exist yet.

    Parameters
    ----------
    open_sandbox
        Starts a sandbox that holds the packages, for documents by introspection.

    Returns
    -------
    Retriever or None
        ``None`` for ``retrieval=none``.

    Raises
    ------
    ConfigError, RetrievalError
        When it cannot be made.
    """
    if config.retrieval.source == "none":
        return None
    # Its libraries (Chroma, LightRAG, scikit-learn) take seconds to import: not for --help.
    from retrieval.factory import get_retriever  # noqa: PLC0415

    return await get_retriever(
        config.retrieval,
        packages=packages,
        site_packages=packages_folder,
        writer=writer,
        writer_name=str(writer.name),
        embedding=build_vectors(config),
        cache=environments.cache_folder(),
        progress=True,
        open_sandbox=open_sandbox,
    )
