"""The sandbox and the documents by themselves."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.assistant.config import AssistantConfig, packages
from agents.assistant.files import attach
from matsmith.background import Opened, portal, wait
from matsmith.core.errors import UsageError
from retrieval.base import Retriever as Finder
from sandbox import environments
from sandbox.base import Execution, Mount
from sandbox.base import Sandbox as Runs
from sandbox.factory import get_sandbox

if TYPE_CHECKING:  # slow to import
    from langchain_core.documents import Document


class Sandbox(Opened[Runs]):
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
        await asyncio.to_thread(environments.build, config.env, say=self._say)
        limits = config.sandbox.model_copy(update={"env": config.env})
        async with get_sandbox(limits) as made:
            yield made

    def run(
        self, code: str, entry: str = "", *, timeout: float = 60.0, files: Sequence[str | Path] = ()
    ) -> Execution:
        """Execute a module, then call ``entry()``; see :meth:`sandbox.base.Sandbox.run`.

        ``timeout`` is in seconds of processor time; ``files`` are inputs, read-only under their own
        names in the working directory.
        """
        mounts = [Mount(path, name) for name, path in attach({}, files).items()]
        work = partial(self._opened().run, code, entry, timeout=timeout, mounts=mounts)
        done: Execution = _done(work)
        return done


class Retriever(Opened[Finder]):
    """Finds documents as ``retrieval=`` and its keys choose them (default: the assistant's).

    Examples
    --------
    >>> get_retriever("retrieval=llm_doc").search("space group of a structure", k=3)
    ... # doctest: +SKIP
    """

    @staticmethod
    def _checked(config: AssistantConfig) -> AssistantConfig:
        if config.retrieval.source == "none":
            raise UsageError("retrieval=none: there are no documents to search; choose another")
        return config

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Finder]:
        from agents.runtime import open_retriever  # noqa: PLC0415 -- slow to import

        config = self._config
        there = await asyncio.to_thread(packages, config, self._say)
        limits = config.sandbox.model_copy(update={"env": config.env})
        made = await open_retriever(config, there, limits, writer=None)
        assert made is not None
        yield made

    def search(self, query: str, k: int = 5) -> Sequence[Document]:
        """The ``k`` best documents, best first."""
        found: Sequence[Document] = _done(partial(self._opened().search, query, k=k))
        return found

    def lookup(self, name: str) -> Document | None:
        """The document of one symbol by its name, ``None`` where there is none."""
        found: Document | None = _done(partial(self._opened().lookup, name))
        return found


def _done(work: Callable[[], Any]) -> Any:
    future = portal().start_task_soon(work)
    return wait(future, future.cancel, queue.SimpleQueue(), None)


get_retriever = Retriever
