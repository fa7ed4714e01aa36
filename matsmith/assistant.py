"""The assistant as a library: questions in, executed answers out."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache, partial
from pathlib import Path

from agents.assistant import Answer, Event, Session, open_assistant
from agents.assistant import Assistant as Parts
from agents.assistant.config import needs_model
from agents.base import Usage
from matsmith.background import Listen, Opened, portal, wait

Files = Sequence[str | Path]


class Assistant(Opened[Parts]):
    """A conversation: every question sees the ones before it.

    The first question opens model, documents and sandbox, which takes seconds (the very first time
    on a machine, minutes); they stay open until `close`.

    Examples
    --------
    >>> with Assistant("model=openai", "model.name=gpt-4o") as assistant:  # doctest: +SKIP
    ...     answer = assistant.ask("What is the density of this cell?", files=["POSCAR"])
    ...     answer["density"]
    """

    _checked = staticmethod(needs_model)
    _session: Session | None = None

    def _open(self) -> AbstractAsyncContextManager[Parts]:
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
        events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        asking = partial(session.ask, files=files, timeout=timeout, listen=events.put)
        future = portal().start_task_soon(asking, question)
        return wait(future, partial(session.cancel, "interrupted"), events, listen)

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


open = Assistant  # noqa: A001 -- reads as `matsmith.open(...)`


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
