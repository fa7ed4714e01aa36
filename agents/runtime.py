"""Where everything comes together: configuration in; model, documents, sandbox and agent out.

Runs, the assistant and its MCP server are built here and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from agents.base import Agent
from agents.budget import Meter
from agents.config import RuntimeConfig, content_of, load_system
from agents.episode import Context
from agents.models import (
    Chat,
    ModelClient,
    ModelConfig,
    RecordingScope,
    build_model,
    find_price,
)
from foundation.errors import UsageError
from retrieval.base import Hit, RetrievalError, Retriever
from sandbox import environments, stoppable
from sandbox.base import Sandbox, SandboxConfig, Verifier

if TYPE_CHECKING:
    from sandbox.pool import Pool, PooledSandbox, PooledVerifier

Say = Callable[[str], None]
Made = TypeVar("Made")
SENT = 1.0  # seconds within which a first request is sent, before its answer is prepared for


@dataclass(frozen=True)
class Runtime:
    """Everything that works on the questions of one environment.

    ``sandbox`` runs the code of models, drafts and final answers, ``verifier`` what knows expected
    values; ``None`` where there is none. ``timeout`` is in seconds of processor time
    for one execution; ``versions`` are those installed, by distribution name.
    """

    agent: Agent
    model: ModelClient
    retriever: Retriever | None
    sandbox: Sandbox | None
    verifier: Verifier | None
    timeout: float
    versions: Mapping[str, str]


@asynccontextmanager
async def open_runtime(
    config: RuntimeConfig,
    environment: str,
    packages: Sequence[str],
    *,
    client: ModelClient,
    writer: Chat | None,
    say: Say,
    executes: bool | None = None,
    verifies: str | None = None,
    warm: bool = True,
    late: bool = False,
) -> AsyncIterator[Runtime]:
    """Build the parts for one environment, and stop the sandboxes at the end.

    Parameters
    ----------
    environment
        Sandbox environment that holds ``packages``, the import names that questions are about.
    writer
        Writes documentation and builds graphs, if anybody does.
    executes
        Whether code runs at all; ``None``: where the architecture writes code.
    verifies
        What a second sandbox, for verification, imports once (Python source; may be empty);
        ``None``: nothing is verified.
    warm
        Start the sandbox now; otherwise the first execution does.
    late
        Wait for neither the sandbox nor, where only tools need them, the documents: they become
        ready meanwhile, and what is wrong is said to whoever needs them.
    """
    system = load_system(config)
    if executes is None:
        executes = system.executes
    limits = config.sandbox.model_copy(update={"env": environment})
    retriever: Retriever | None = None
    versions: Mapping[str, str] = {}
    async with AsyncExitStack() as stack:
        if executes or config.retrieval.source != "none":
            await stoppable.in_thread(environments.build, environment, say=say)
            versions = environments.installed_versions(environment)
            making = partial(open_retriever, config, packages, limits, writer=writer)
            if (
                late
                and config.retrieval.source != "none"
                and system.retrieves_on_demand
            ):
                wanted = asyncio.Event()
                later = _later(making, wanted)
                retriever = Late(
                    await stack.enter_async_context(_meanwhile(later)), wanted
                )
            else:
                retriever = await making()
        # Where no drafts run, verification is all the work; elsewhere one worker keeps up with it.
        verifiers = 1 if system.writes_code else limits.workers
        sandbox: Sandbox | None = None
        verifier: Verifier | None = None
        if executes:
            sandbox = _sandbox(limits)
            await _open(stack, sandbox, warm=warm and not late)
        if (
            executes and verifies is not None
        ):  # compares data, without the environment's imports
            changes = {
                "workers": verifiers,
                "options": {**limits.options, "warmup": verifies},
            }
            verifier = _verifier(limits.model_copy(update=changes))
            await _open(stack, verifier, warm=True)
        if sandbox is not None and warm and late:
            starting = sandbox.run("", "", timeout=limits.timeout)
            await stack.enter_async_context(_meanwhile(starting))
        context = Context(
            model=client,
            retriever=retriever,
            sandbox=sandbox,
            budget=config.budget,
            execution_timeout=limits.timeout,
            strict=config.strict,
            packages=tuple(packages),
            k=config.retrieval.k,
            templates=config.prompts,
        )
        build: Callable[..., Agent] = system
        agent = build(context, **config.system.params)
        yield Runtime(
            agent, client, retriever, sandbox, verifier, limits.timeout, versions
        )


class Late(Retriever):
    """A `Retriever` that is being made while the model thinks."""

    name = "late"
    late = True

    def __init__(
        self, making: asyncio.Task[Retriever | None], wanted: asyncio.Event
    ) -> None:
        self.making = making
        self.wanted = wanted

    async def ready(self) -> Retriever:
        """The documents; raises `RetrievalError` when they cannot be made."""
        self.wanted.set()
        try:
            made = await asyncio.shield(self.making)
        except UsageError as error:
            raise RetrievalError(str(error)) from error
        assert made is not None
        return made

    async def search(self, query: str, *, k: int) -> Sequence[Hit]:
        """See :class:`retrieval.base.Retriever`."""
        return await (await self.ready()).search(query, k=k)

    async def lookup(self, name: str) -> Hit | None:
        """See :class:`retrieval.base.Retriever`."""
        return await (await self.ready()).lookup(name)


async def _later(
    work: Callable[[], Coroutine[Any, Any, Made]], wanted: asyncio.Event
) -> Made:
    """Work that begins when it is wanted, or when the first request had time to be sent."""
    with suppress(TimeoutError):
        await asyncio.wait_for(wanted.wait(), SENT)
    return await work()


@asynccontextmanager
async def _meanwhile(
    work: Coroutine[Any, Any, Made],
) -> AsyncIterator[asyncio.Task[Made]]:
    """Work beside what is done inside; what goes wrong is said to whoever waits for it."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()


async def _open(stack: AsyncExitStack, pool: Pool, *, warm: bool) -> None:
    stack.push_async_callback(pool.close)
    if warm:
        await stack.enter_async_context(pool)


def _sandbox(limits: SandboxConfig) -> PooledSandbox:
    from sandbox.factory import get_sandbox  # noqa: PLC0415 -- Docker's client is slow to import

    return get_sandbox(limits)


def _verifier(limits: SandboxConfig) -> PooledVerifier:
    from sandbox.factory import get_verifier  # noqa: PLC0415 -- see above

    return get_verifier(limits)


async def open_retriever(
    config: RuntimeConfig,
    packages: Sequence[str],
    limits: SandboxConfig,
    *,
    writer: Chat | None,
) -> Retriever | None:
    """The retriever, and its documents where they do not exist yet; ``None`` for none.

    ``limits`` are those of the sandbox whose environment holds ``packages``.
    """
    if config.retrieval.source == "none":
        return None
    # Their libraries (Chroma, LightRAG, scikit-learn) take seconds to import: not for --help.
    from indexes.embedding import build_embedding  # noqa: PLC0415
    from retrieval.choices import build_ranking, build_reranker  # noqa: PLC0415
    from retrieval.factory import RetrieverFactory  # noqa: PLC0415

    return await RetrieverFactory(
        settings=config.retrieval,
        packages=packages,
        site_packages=environments.site_packages(limits.env),
        writer=writer,
        embedding=build_embedding(config.embedding.model_dump()),
        ranking=build_ranking(content_of(config.ranking)),
        reranker=build_reranker(content_of(config.reranker)),
        cache=environments.cache_folder(),
        progress=True,
        open_sandbox=partial(_sandbox, limits),
    ).make()


def open_client(
    config: ModelConfig,
    *,
    concurrency: int = 8,
    role: str = "",
    scope: RecordingScope = RecordingScope(),  # noqa: B008 -- frozen
) -> ModelClient:
    """The client of a model, with the project's reply cache; ``role`` begins what is said of it."""
    try:
        cache = environments.cache_folder()
        return build_model(config, concurrency=concurrency, cache=cache, scope=scope)
    except ValueError as error:
        raise UsageError(f"{role}{error}") from error


def open_writer(
    config: RuntimeConfig, client: ModelClient, meter: Meter
) -> Chat | None:
    """Who writes documentation, within ``meter``; ``None`` for documents by facts."""
    if config.writer == "facts":
        return None
    return Chat(client, meter)


def check_price(
    limit: float | None, model: ModelConfig | None, *, group: str, role: str
) -> None:
    """Refuse a limit in dollars that cannot be kept; what a recording cost stands in it."""
    if limit is None or model is None or not model.is_live:
        return
    if find_price(model) is None:
        raise UsageError(
            f"{group}.cost_usd={limit}: the price of {model.name} is unknown; set it "
            f"with {role}.price='{{prompt: USD, completion: USD}}' (per million tokens), or "
            f"limit {group}.tokens instead"
        )
