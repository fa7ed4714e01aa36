"""The assistant, the sandbox and the documents as a library: in a script, a notebook, async code.

What stays open between calls runs on an event loop and a thread of its own (anyio's portal).
"""

from __future__ import annotations

import atexit
import concurrent.futures
import queue
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import Generic, Self, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal
from langchain_core.documents import Document

from agents.assistant import (
    Answer,
    AssistantService,
    Event,
    Session,
    open_assistant,
    read_config,
)
from agents.assistant.config import needs_model, packages
from agents.assistant.files import attach
from agents.assistant.session import Listen
from agents.base import Usage
from agents.runtime import open_retriever
from foundation.errors import UsageError
from retrieval import name_search
from retrieval.base import Retriever as DocumentSource
from retrieval.langchain import document_of
from sandbox import environments, stoppable
from sandbox.base import Execution, Mount
from sandbox.base import Sandbox as Runs
from sandbox.factory import get_sandbox

T = TypeVar("T")
Made = TypeVar("Made")
Files = Sequence[str | Path]


@cache
def portal() -> BlockingPortal:
    """The way to the loop; it runs until the process ends."""
    stack = ExitStack()
    made = stack.enter_context(start_blocking_portal(name="matsmith"))
    atexit.register(stack.close)
    return made


def wait(
    work: Callable[[], Awaitable[T]],
    cancel: Callable[[], object] | None = None,
    heard: queue.SimpleQueue[Event | None] | None = None,
    listen: Listen | None = None,
) -> T:
    """The result of work on the loop; what is ``heard`` meanwhile is passed on in this thread.

    Ctrl-C (or a notebook's interrupt) calls ``cancel`` on the loop, and is raised when the work has
    ended.
    """
    events = heard or queue.SimpleQueue()
    future = portal().start_task_soon(work)
    future.add_done_callback(lambda _: events.put(None))
    try:
        for event in iter(events.get, None):
            if listen is not None:
                listen(event)
    except BaseException:
        portal().start_task_soon(cancel or future.cancel)
        concurrent.futures.wait([future])  # what became of it does not matter any more
        raise
    return future.result()


class Opened(Generic[Made]):
    """What settings describe; the first use opens it, `close` or the end of the process closes it.

    Settings are words of the command line, such as ``"model=openai"``, ``"model.name=gpt-4o"`` or
    ``"system=rag"``; ``matsmith ask --help`` lists them. ``say`` is told what is being built.
    """

    def __init__(
        self, *settings: str, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self.settings = settings
        self._config = read_config(settings)
        self._say = say
        self._stack = ExitStack()
        self._made: Made | None = None

    def _open(self) -> AbstractAsyncContextManager[Made]:
        raise NotImplementedError

    def _opened(self) -> Made:
        """What is opened; blocks until it is."""
        if self._made is None:
            made = portal().wrap_async_context_manager(self._open())
            self._made = self._stack.enter_context(made)
            atexit.register(self.close)
        return self._made

    def close(self) -> None:
        """Stop the sandbox and close connections. Idempotent."""
        self._made = None
        atexit.unregister(self.close)
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        name = type(self).__name__.removeprefix("Opened")
        return f"matsmith.{name}({', '.join(map(repr, self.settings))})"


class OpenedAssistant(Opened[AssistantService]):
    """A conversation: every question sees the ones before it.

    The first question opens model, documents and sandbox, which takes seconds (the very first time
    on a machine, minutes); they stay open until `close`.

    Examples
    --------
    >>> with Assistant("model=openai", "model.name=gpt-4o") as assistant:  # doctest: +SKIP
    ...     answer = assistant.ask("What is the density of this cell?", files=["POSCAR"])
    ...     answer["density"]
    """

    def __init__(
        self, *settings: str, say: Callable[[str], None] = lambda _: None
    ) -> None:
        super().__init__(*settings, say=say)
        needs_model(self._config)
        self._session: Session | None = None

    def _open(self) -> AbstractAsyncContextManager[AssistantService]:
        return open_assistant(self._config, say=self._say)

    def ask(
        self,
        question: str,
        *,
        files: Files = (),
        timeout: float | None = None,
        listen: Listen | None = None,
    ) -> Answer:
        """Answer a question; see :meth:`agents.assistant.Session.ask`.

        An interrupt (Ctrl-C, a notebook's stop button) gives the question up, not the conversation.
        ``listen`` is called on the caller's thread.
        """
        if self._session is None:
            self._session = self._opened().session()
        session = self._session
        heard: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        asking = partial(
            session.ask, question, files=files, timeout=timeout, listen=heard.put
        )
        return wait(asking, partial(session.cancel, "interrupted"), heard, listen)

    @property
    def turns(self) -> tuple[Answer, ...]:
        """The answers of this conversation."""
        return () if self._session is None else tuple(self._session.turns)

    @property
    def usage(self) -> Usage:
        """Calls, tokens and dollars of this conversation."""
        return Usage() if self._session is None else self._session.usage

    def undo(self) -> Answer | None:
        """Forget the last question; returns its answer."""
        return None if self._session is None else self._session.undo()

    def forget(self) -> None:
        """Begin a new conversation; what is open stays open."""
        self._session = None

    def close(self) -> None:
        """Stop the sandbox and close connections; the conversation is forgotten. Idempotent."""
        super().close()
        self._session = None


Assistant = OpenedAssistant
open = Assistant  # noqa: A001 -- reads as `matsmith.open(...)`


@cache
def _shared(*settings: str) -> OpenedAssistant:
    return Assistant(*settings)


def ask(
    question: str, *settings: str, files: Files = (), timeout: float | None = None
) -> Answer:
    """Answer one question that depends on no other.

    What it needs stays open until the process ends, so that the next call with the same settings
    is quick.

    Examples
    --------
    >>> ask("How many atoms are in the unit cell?", "model.name=gpt-4o", files=["POSCAR"])
    ... # doctest: +SKIP
    """
    assistant = _shared(*settings)
    assistant.forget()
    return assistant.ask(question, files=files, timeout=timeout)


class OpenedSandbox(Opened[Runs]):
    r"""Runs code that nobody vouches for: no network, read-only inputs, limits.

    Examples
    --------
    >>> with Sandbox("env=live") as sandbox:  # doctest: +SKIP
    ...     sandbox.run("def main():\n    return {'six': 6}", "main").result
    {'six': 6}
    """

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Runs]:
        config = self._config
        await stoppable.in_thread(environments.build, config.env, say=self._say)
        limits = config.sandbox.model_copy(update={"env": config.env})
        async with get_sandbox(limits) as made:
            yield made

    def run(
        self,
        code: str,
        entry: str = "",
        *,
        timeout: float = 60.0,
        files: Sequence[str | Path] = (),
    ) -> Execution:
        """Execute a module, then call ``entry()``; see :meth:`sandbox.base.Sandbox.run`.

        ``timeout`` is in seconds of processor time; ``files`` are inputs, read-only under their own
        names in the working directory.
        """
        mounts = [Mount(path, name) for name, path in attach({}, files).items()]
        return wait(
            partial(self._opened().run, code, entry, timeout=timeout, mounts=mounts)
        )


class OpenedRetriever(Opened[DocumentSource]):
    """Finds documents as ``retrieval=`` and its keys choose them (default: the assistant's).

    Examples
    --------
    >>> get_retriever("retrieval=llm_doc").search("space group of a structure", k=3)
    ... # doctest: +SKIP
    """

    def __init__(
        self, *settings: str, say: Callable[[str], None] = lambda _: None
    ) -> None:
        super().__init__(*settings, say=say)
        if self._config.retrieval.source == "none":
            raise UsageError(
                "retrieval=none: there are no documents to search; choose another"
            )

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[DocumentSource]:
        config = self._config
        there = await stoppable.in_thread(packages, config, self._say)
        limits = config.sandbox.model_copy(update={"env": config.env})
        made = await open_retriever(config, there, limits, writer=None)
        assert made is not None
        yield made

    def search(self, query: str, k: int = 5) -> Sequence[Document]:
        """The ``k`` best documents, best first; see :mod:`retrieval.name_search`.

        A query of a few words is compared with names before documents.
        """
        hits = wait(partial(name_search.find, self._opened(), query, k=k))
        return [document_of(hit) for hit in hits]

    def lookup(self, name: str) -> Document | None:
        """The document of one symbol by its name, ``None`` where there is none."""
        hit = wait(partial(self._opened().lookup, name))
        return None if hit is None else document_of(hit)


Sandbox = OpenedSandbox
Retriever = OpenedRetriever
get_retriever = OpenedRetriever
