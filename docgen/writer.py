"""Documentation of every symbol by a chat model: ordered, bounded, resumable."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from docgen.checkpoint import Checkpoint, Written
from docgen.prompts import INSTRUCTIONS, build_prompt, check_reply, clean_reply, item_hash
from docgen.symbols import Library
from sandbox.progress import Progressing, meter

if TYPE_CHECKING:  # networkx and LangChain take half a second each to import
    from langchain_core.language_models import BaseChatModel

    from docgen.order import Order


_Tokens = tuple[int | None, int | None]
_Number = TypeVar("_Number", int, float)
_ERROR = 300  # characters of an error that are kept
_LONGEST_PAUSE = 120.0  # seconds that an endpoint can make a symbol wait
#: How a reply can end that is not all of it.
_ENDINGS = {
    "length": "the reply was cut off: raise set.max_tokens",
    "content_filter": "the endpoint's content filter refused",
}


class DocgenError(Exception):
    """Documentation could not be completed; says what failed and what to do next."""


@dataclass(frozen=True)
class WriteOptions:
    """How documentation is written.

    Attributes
    ----------
    concurrency
        Requests in flight.
    attempts
        Tries per symbol (exceptions and unusable replies count alike; a reply out of the cache
        is no try, it was one when it was paid for).
    backoff
        Seconds before the second try; doubles with every further one.
    give_up_after
        This many consecutive failed symbols end the run: the endpoint is down or refuses us.
    max_calls, max_cost_usd
        Limits of this run; ``None`` means no limit. Reaching one stops cleanly.
    """

    concurrency: int = 8
    attempts: int = 3
    backoff: float = 1.0
    give_up_after: int = 20
    max_calls: int | None = None
    max_cost_usd: float | None = None


@dataclass
class WriteReport:
    """What a run did.

    Attributes
    ----------
    texts
        Qualified name -> documentation, of everything that is finished.
    reused, written, changed
        Taken from the checkpoint; written now; written now because the symbol changed.
    failed
        Symbol -> why, after the last attempt.
    blocked
        Symbol -> the failed symbol it builds on: not written, never silently freed.
    pending
        Not reached because a limit ended the run (``stopped`` says which).
    calls, unanswered
        Requests, and those of them that failed: what these cost is not known.
    prompt_tokens, completion_tokens, cost_usd
        Of all replies; ``None`` when one came without.
    """

    texts: dict[str, str] = field(default_factory=dict)
    reused: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    blocked: dict[str, str] = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)
    stopped: str | None = None
    calls: int = 0
    unanswered: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost_usd: float | None = 0.0

    @property
    def complete(self) -> bool:
        """Whether every symbol has its documentation."""
        return not (self.failed or self.blocked or self.pending)


async def write_documentation(
    library: Library,
    model: BaseChatModel,
    *,
    model_name: str,
    checkpoint: Checkpoint,
    options: WriteOptions | None = None,
    show_progress: bool = False,
) -> WriteReport:
    """Write what the checkpoint does not hold yet, callees before callers.

    Parameters
    ----------
    model_name
        Stored with every text; texts of another model are not reused.

    Returns
    -------
    WriteReport
        Also when items failed: look at ``complete``.
    """
    job = _Job(library, model, model_name, checkpoint, options or WriteOptions())
    with (
        checkpoint.writer() as appender,
        meter("Writing documentation", len(library.symbols), show=show_progress) as progress,
    ):
        await job.run(appender.append, progress)
    return job.report


class _Job:
    """One run: the frontier of symbols whose dependencies are finished, and its workers."""

    def __init__(
        self,
        library: Library,
        model: BaseChatModel,
        model_name: str,
        checkpoint: Checkpoint,
        options: WriteOptions,
    ) -> None:
        from docgen.order import documentation_order  # noqa: PLC0415 - see above

        self.library, self.model, self.model_name = library, model, model_name
        self.checkpoint, self.options = checkpoint, options
        self.report = WriteReport()
        self.order: Order = documentation_order(library)
        self.rank = {name: rank for rank, name in enumerate(self.order.sequence)}
        self.callers = library.callers()
        self.waiting = {name: len(needs) for name, needs in self.order.needs.items()}
        self.dependants: dict[str, list[str]] = {}
        for name, needs in self.order.needs.items():
            for need in needs:
                self.dependants.setdefault(need, []).append(name)
        self.hashes = {name: item_hash(symbol) for name, symbol in library.symbols.items()}
        self.ready: list[tuple[int, str]] = []
        self.failures_in_a_row = 0
        self.last_error = ""

    async def run(self, append: Callable[[Written], None], progress: Progressing) -> None:
        running: dict[asyncio.Task[Written], str] = {}
        self._release(n for n in self.order.sequence if not self.order.needs[n])
        progress.advance(len(self.report.texts), self._note())
        try:
            while self.ready or running:
                while self.ready and len(running) < self.options.concurrency and self._may_go_on():
                    _, name = heapq.heappop(self.ready)
                    self.report.calls += 1  # counted before it starts: a limit is never overrun
                    running[asyncio.create_task(self._write(name))] = name
                if not running:
                    if not self._may_go_on():
                        break
                    continue
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    running.pop(task)
                    written = task.result()
                    append(written)
                    finished = len(self.report.texts)
                    self._settle(written)
                    progress.advance(max(1, len(self.report.texts) - finished), self._note())
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        self._account_for_the_rest()

    def _release(self, names: Iterable[str]) -> None:
        """Take up symbols whose dependencies are finished.

        What the checkpoint holds is finished at once, which may release more.
        """
        released = list(names)
        while released:
            name = released.pop()
            text = self.checkpoint.done(name, self.hashes[name], self.model_name)
            if text is None:
                heapq.heappush(self.ready, (self.rank[name], name))
            else:
                self.report.reused.append(name)
                released += self._finish(name, text)

    def _finish(self, name: str, text: str) -> list[str]:
        """Record a text; returns the symbols that now have everything they build on."""
        self.report.texts[name] = text
        released: list[str] = []
        for dependant in self.dependants.get(name, ()):
            self.waiting[dependant] -= 1
            if self.waiting[dependant] == 0:
                released.append(dependant)
        return released

    def _settle(self, written: Written) -> None:
        report, name = self.report, written.qualname
        if written.status == "done":
            self.failures_in_a_row = 0
            report.written.append(name)
            self._release(self._finish(name, written.text))
        else:
            self.failures_in_a_row += 1
            self.last_error = written.error or ""
            report.failed[name] = self.last_error

    def _may_go_on(self) -> bool:
        report, options = self.report, self.options
        if report.stopped is None:
            if self.failures_in_a_row >= options.give_up_after:
                report.stopped = (
                    f"{self.failures_in_a_row} consecutive symbols failed, the last with: "
                    f"{self.last_error}"
                )
            elif options.max_calls is not None and report.calls >= options.max_calls:
                report.stopped = f"the limit of {options.max_calls} model calls was reached"
            elif options.max_cost_usd is not None:
                if report.cost_usd is None:
                    report.stopped = (
                        f"the limit of ${options.max_cost_usd} cannot be kept: a reply came "
                        "without usage, or the model's price is not set"
                    )
                elif report.cost_usd >= options.max_cost_usd:
                    report.stopped = f"the limit of ${options.max_cost_usd} was reached"
        return report.stopped is None

    async def _write(self, name: str) -> Written:
        symbol = self.library.symbols[name]
        prompt = build_prompt(symbol, self.library, self.report.texts, self.callers.get(name, []))
        item = self.hashes[name]
        if self.checkpoint.known(name, self.model_name):
            self.report.changed.append(name)
        text = error = ""
        usage: _Tokens = (0, 0)
        attempts, pause = 0, 0.0
        while attempts < self.options.attempts:
            if error:
                if not self._may_go_on():
                    break
                self.report.calls += 1
                if attempts:
                    await asyncio.sleep(max(pause, self.options.backoff * 2 ** (attempts - 1)))
            text, error, spent, pause, cached = await self._ask(prompt)
            usage = (_plus(usage[0], spent[0]), _plus(usage[1], spent[1]))
            if cached:
                self.report.calls -= 1
            else:
                attempts += 1
            if not error:
                break
        return Written(
            qualname=name,
            item_hash=item,
            model=self.model_name,
            status="failed" if error else "done",
            text="" if error else text,
            error=error or None,
            attempts=attempts,
            prompt_tokens=usage[0],
            completion_tokens=usage[1],
        )

    async def _ask(self, prompt: str) -> tuple[str, str, _Tokens, float, bool]:
        """One request -> (text, error, tokens, seconds to wait as the endpoint asks, cached).

        The error is empty when the text is good.
        """
        messages = [("system", INSTRUCTIONS), ("human", prompt)]
        try:
            reply = await self.model.ainvoke(messages, {"tags": ["documentation"]})
        except Exception as failure:  # noqa: BLE001 - every provider has its own; recorded per item
            self.report.unanswered += 1
            reason = " ".join(str(failure).split())[:_ERROR]
            return "", f"{type(failure).__name__}: {reason}", (0, 0), _retry_after(failure), False
        usage: Mapping[str, object] = reply.usage_metadata or {}
        tokens = (_count(usage, "input_tokens"), _count(usage, "output_tokens"))
        about: Mapping[str, Any] = reply.response_metadata
        report = self.report
        report.prompt_tokens = _plus(report.prompt_tokens, tokens[0])
        report.completion_tokens = _plus(report.completion_tokens, tokens[1])
        report.cost_usd = _plus(report.cost_usd, about.get("cost_usd"))
        text = str(reply.text)
        error = _ENDINGS.get(str(about.get("fault"))) or check_reply(text) or ""
        return clean_reply(text), error, tokens, 0.0, bool(about.get("cached"))

    def _note(self) -> str:
        cost = "" if self.report.cost_usd is None else f"${self.report.cost_usd:.2f}"
        failed = f"{len(self.report.failed)} failed" if self.report.failed else ""
        return " ".join(part for part in (cost, failed) if part)

    def _account_for_the_rest(self) -> None:
        """Everything unfinished is named: blocked by a failure, or pending."""
        report = self.report
        for name in self.order.sequence:
            if name in report.texts or name in report.failed:
                continue
            culprit = next(
                (n for n in self.order.needs[name] if n in report.failed or n in report.blocked),
                None,
            )
            if culprit is None:
                report.pending.append(name)
            else:
                report.blocked[name] = report.blocked.get(culprit, culprit)


def _retry_after(failure: Exception) -> float:
    """Seconds that a reply with an error status asks to wait, 0 when it says nothing."""
    response = getattr(failure.__cause__ or failure, "response", None)
    headers = getattr(response, "headers", {})
    try:
        return min(max(0.0, float(headers.get("retry-after", 0))), _LONGEST_PAUSE)
    except ValueError:
        return 0.0  # a date; the usual pause then


def _plus(total: _Number | None, more: _Number | None) -> _Number | None:
    return None if total is None or more is None else total + more


def _count(metadata: Mapping[str, object], key: str) -> int | None:
    value = metadata.get(key)
    return value if isinstance(value, int) else None
