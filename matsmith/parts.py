"""The sandbox and the documents by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agents.assistant.files import attach
from matsmith.background import Opened, submit, wait
from sandbox.base import Execution, Mount
from sandbox.command import UsageError

if TYPE_CHECKING:  # slow to import
    from langchain_core.documents import Document


class Sandbox(Opened):
    r"""Runs code that nobody vouches for: no network, read-only inputs, limits.

    Examples
    --------
    >>> with Sandbox("env=live") as sandbox:  # doctest: +SKIP
    ...     sandbox.run("def main():\n    return {'six': 6}", "main").result
    {'six': 6}
    """

    _fixed = ("model=rules", "system=single", "retrieval=none")

    def run(
        self, code: str, entry: str = "", *, timeout: float = 60.0, files: Sequence[str | Path] = ()
    ) -> Execution:
        """Execute a module, then call ``entry()``; see :meth:`sandbox.base.Sandbox.run`.

        Parameters
        ----------
        timeout
            Seconds of processor time.
        files
            Inputs, read-only under their own names in the working directory.
        """
        return wait(self._run(code, entry, timeout, files))

    async def run_async(
        self, code: str, entry: str = "", *, timeout: float = 60.0, files: Sequence[str | Path] = ()
    ) -> Execution:
        """`run` for ``async`` code."""
        return await asyncio.wrap_future(submit(self._run(code, entry, timeout, files)))

    async def _run(
        self, code: str, entry: str, timeout: float, files: Sequence[str | Path]
    ) -> Execution:
        sandbox = (await self._parts()).runtime.sandbox
        assert sandbox is not None
        mounts = [Mount(path, name) for name, path in attach({}, files).items()]
        return await sandbox.run(code, entry, timeout=timeout, mounts=mounts)


class Retriever(Opened):
    """Finds the documents of the installed libraries; made by `get_retriever`."""

    _fixed = ("model=rules", "system=rag")
    _warm = False

    def __init__(self, *settings: str, say: Callable[[str], None] = lambda _: None) -> None:
        super().__init__(*settings, say=say)
        if self._config.retrieval.source == "none":
            raise UsageError("retrieval=none: there are no documents to search; choose another")

    def search(self, query: str, k: int = 5) -> Sequence[Document]:
        """The ``k`` best documents, best first."""
        return wait(self._search(query, k))

    async def search_async(self, query: str, k: int = 5) -> Sequence[Document]:
        """`search` for ``async`` code."""
        return await asyncio.wrap_future(submit(self._search(query, k)))

    def lookup(self, name: str) -> Document | None:
        """The document of one symbol by its name, ``None`` where there is none."""
        return wait(self._lookup(name))

    async def _search(self, query: str, k: int) -> Sequence[Document]:
        retriever = (await self._parts()).runtime.retriever
        assert retriever is not None
        return await retriever.search(query, k=k)

    async def _lookup(self, name: str) -> Document | None:
        retriever = (await self._parts()).runtime.retriever
        assert retriever is not None
        return await retriever.lookup(name)


def get_retriever(*settings: str) -> Retriever:
    """Documents as ``retrieval=`` and its keys choose them (default: those of the assistant).

    Examples
    --------
    >>> get_retriever("retrieval=llm_doc").search("space group of a structure", k=3)
    ... # doctest: +SKIP
    """
    return Retriever(*settings)
