"""The assistant as a library: questions in, executed answers out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from agents.assistant import Answer, Event, Session
from agents.base import Usage
from matsmith.background import Heard, Listen, Opened, submit

Files = Sequence[str | Path]


class Assistant(Opened):
    """A conversation: every question sees the ones before it.

    The first question opens model, documents and sandbox, which takes seconds (the very first time
    on a machine, minutes); they stay open until `close`.

    Examples
    --------
    >>> with Assistant("model=openai", "model.name=gpt-4o") as assistant:  # doctest: +SKIP
    ...     answer = assistant.ask("What is the density of this cell?", files=["POSCAR"])
    ...     answer["density"]
    """

    _session: Session | None = None

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

        Parameters
        ----------
        files
            Inputs, files or folders: the code sees them read-only.
        timeout
            Seconds of wall time after which the question is given up.
        listen
            Told what happens, on the caller's thread.

        Raises
        ------
        UsageError, SandboxError, RetrievalError
            When an input does not exist, or something is not available.
        """
        heard = Heard(listen)
        future = submit(self._ask(question, files, timeout, heard.put))

        def cancel() -> None:
            if self._session is None:  # still opening
                future.cancel()
            else:
                self._session.cancel("interrupted")

        return heard.until(future, cancel)

    async def ask_async(
        self,
        question: str,
        *,
        files: Files = (),
        timeout: float | None = None,
        listen: Listen | None = None,
    ) -> Answer:
        """`ask` for ``async`` code; ``listen`` is called on the loop of the caller."""
        mine = asyncio.get_running_loop()

        def tell(event: Event) -> None:
            if listen is not None:
                mine.call_soon_threadsafe(listen, event)

        return await asyncio.wrap_future(submit(self._ask(question, files, timeout, tell)))

    async def _ask(
        self, question: str, files: Files, timeout: float | None, listen: Listen
    ) -> Answer:
        parts = await self._parts()
        if self._session is None:
            self._session = parts.session()
        return await self._session.ask(question, files=files, timeout=timeout, listen=listen)

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


@cache
def _shared(*settings: str) -> Assistant:
    return Assistant(*settings)


def ask(question: str, *settings: str, files: Files = (), timeout: float | None = None) -> Answer:
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
