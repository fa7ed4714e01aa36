"""Where everything comes together: configuration in; model, documents, sandbox and agent out.

Runs, the assistant and its MCP server are built here and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from langchain_core.language_models import BaseChatModel

from agents.base import Agent, Question, Step, Usage
from agents.budget import Meter
from agents.config import RuntimeConfig, load_class
from agents.episode import Parts
from agents.models import ModelClient, ModelConfig, build_model, find_price
from agents.models.chat import MeteredChat
from agents.models.pace import Reserve
from indexes.embedding import EmbeddingError, build_embedding
from retrieval.base import Retriever
from sandbox import environments
from sandbox.base import Sandbox, SandboxConfig
from sandbox.command import UsageError
from sandbox.factory import get_sandbox

Say = Callable[[str], None]


@dataclass(frozen=True)
class Runtime:
    """Everything that works on the questions of one environment.

    Attributes
    ----------
    agent
        The architecture, with its model, retriever and sandbox.
    sandbox
        Runs the code of models: drafts and final answers; ``None`` where there is no code.
    verifier
        Runs the verification, never a model's code; ``None`` where nothing is verified.
    timeout
        Seconds of processor time for one execution.
    versions
        Installed versions by distribution name; empty where the environment is not used.
    """

    agent: Agent
    model: ModelClient
    retriever: Retriever | None
    sandbox: Sandbox | None
    verifier: Sandbox | None
    timeout: float
    versions: Mapping[str, str]


@asynccontextmanager
async def open_runtime(
    config: RuntimeConfig,
    environment: str,
    packages: Sequence[str],
    *,
    client: ModelClient,
    writer: BaseChatModel,
    say: Say,
    executes: bool | None = None,
    verifies: str | None = None,
    on_step: Callable[[Question, Step], None] | None = None,
    warm: bool = True,
) -> AsyncIterator[Runtime]:
    """Build the parts for one environment, and stop the sandboxes at the end.

    Parameters
    ----------
    environment
        Sandbox environment that holds ``packages``, the import names that questions are about.
    client, writer
        The model under test, and the one that writes documentation and builds graphs.
    say
        Told what is being built.
    executes
        Whether code runs at all; ``None``: where the architecture writes code.
    verifies
        What a second sandbox, for verification, imports once (Python source; may be empty);
        ``None``: nothing is verified.
    on_step
        Told of every step of an answer.
    warm
        Start the sandbox now; otherwise the first execution does.

    Raises
    ------
    SandboxError, RetrievalError
        When the environment, the isolation or the documents are not available; the message says
        what to do.
    """
    system = load_class(config.system.target, key="system")
    if executes is None:
        executes = getattr(system, "executes", getattr(system, "writes_code", True))
    limits = config.sandbox.model_copy(update={"env": environment})
    retriever = None
    versions: Mapping[str, str] = {}
    if executes or config.retrieval.source != "none":
        await asyncio.to_thread(environments.build, environment, say=say)
        versions = environments.installed_versions(environment)
        retriever = await open_retriever(config, packages, limits, writer=writer)
    # Where no drafts run, verification is all the work; elsewhere one worker keeps up with it.
    verifiers = 1 if getattr(system, "writes_code", True) else limits.workers
    opened = _sandboxes(limits, verifiers, executes=executes, verifies=verifies, warm=warm)
    async with opened as (sandbox, verifier):
        parts = Parts(
            model=client,
            retriever=retriever,
            sandbox=sandbox,
            budget=config.budget,
            execution_timeout=limits.timeout,
            strict=config.strict,
            packages=tuple(packages),
            sources=environments.source_folders(environment) if versions else (),
            on_step=on_step,
        )
        agent = system(parts, **config.system.params)
        yield Runtime(agent, client, retriever, sandbox, verifier, limits.timeout, versions)


@asynccontextmanager
async def _sandboxes(
    limits: SandboxConfig, verifiers: int, *, executes: bool, verifies: str | None, warm: bool
) -> AsyncIterator[tuple[Sandbox | None, Sandbox | None]]:
    if not executes:
        yield None, None
        return
    async with AsyncExitStack() as stack:
        sandbox = get_sandbox(limits)
        stack.push_async_callback(sandbox.close)
        if warm:
            await stack.enter_async_context(sandbox)
        if verifies is None:
            yield sandbox, None
            return
        # Verification compares data, without the imports of the environment.
        options = {**limits.options, "warmup": verifies}
        plain = limits.model_copy(update={"workers": verifiers, "options": options})
        async with get_sandbox(plain) as verifier:
            yield sandbox, verifier


async def open_retriever(
    config: RuntimeConfig,
    packages: Sequence[str],
    limits: SandboxConfig,
    *,
    writer: BaseChatModel,
) -> Retriever | None:
    """The retriever, and its documents where they do not exist yet; ``None`` for none.

    Parameters
    ----------
    limits
        Of the sandbox whose environment holds ``packages``; documents by introspection start it.

    Raises
    ------
    UsageError, RetrievalError
        When it cannot be made.
    """
    if config.retrieval.source == "none":
        return None
    # Its libraries (Chroma, LightRAG, scikit-learn) take seconds to import: not for --help.
    from retrieval.factory import get_retriever  # noqa: PLC0415

    try:
        embedding = build_embedding(config.embedding.model_dump())
    except EmbeddingError as error:
        raise UsageError(str(error)) from error
    return await get_retriever(
        config.retrieval,
        packages=packages,
        site_packages=environments.site_packages(limits.env),
        writer=writer,
        writer_name=str(writer.name),
        embedding=embedding,
        cache=environments.cache_folder(),
        progress=True,
        open_sandbox=partial(get_sandbox, limits),
    )


def open_client(
    config: ModelConfig, *, concurrency: int = 8, role: str = "", reserve: Reserve | None = None
) -> ModelClient:
    """The client of a model, with the reply cache of the project.

    Parameters
    ----------
    role
        What a message about it begins with (``judge: ``).
    reserve
        Where requests are counted, if not in this process.

    Raises
    ------
    UsageError
        When it cannot be made (no key, no such class).
    """
    try:
        cache = environments.cache_folder()
        return build_model(config, concurrency=concurrency, cache=cache, reserve=reserve)
    except ValueError as error:
        raise UsageError(f"{role}{error}") from error


def open_writer(config: RuntimeConfig, client: ModelClient, meter: Meter) -> MeteredChat:
    """The model that writes documentation and builds graphs.

    What the model under test is asked for them counts against ``meter``.
    """
    if config.writer == "rules":
        return MeteredChat(client=build_model(ModelConfig(provider="rules", name="rules")))

    def count(usage: Usage) -> None:
        meter.usage += Usage(calls=usage.calls, prompt_tokens=usage.tokens, cost_usd=usage.cost_usd)

    def refuse() -> str | None:
        exceeded = meter.exceeded()
        return None if exceeded is None else str(exceeded)

    return MeteredChat(client=client, refuse=refuse, on_usage=count)


def check_price(limit: float | None, model: ModelConfig | None, *, group: str, role: str) -> None:
    """Refuse a limit in dollars that cannot be kept; what a recording cost stands in it.

    Raises
    ------
    UsageError
        When nobody knows what the model costs.
    """
    if limit is None or model is None or not model.llm or model.replay:
        return
    if find_price(model) is None:
        raise UsageError(
            f"{group}.cost_usd={limit}: the price of {model.name} is unknown; set it "
            f"with {role}.price='{{prompt: USD, completion: USD}}' (per million tokens), or "
            f"limit {group}.tokens instead"
        )
