"""Documentation of every symbol by a chat model: ordered, bounded, resumable."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from docgen.checkpoint import Checkpoint, Written
from docgen.prompts import INSTRUCTIONS, VERSION, Prompter, source_hash
from docgen.replies import check_reply, clean_reply, split_reply
from docgen.symbols import Library
from docgen.texts import Prewritten, Text
from sandbox.progress import Progressing, meter

if TYPE_CHECKING:  # networkx and LangChain take half a second each to import
    from langchain_core.language_models import BaseChatModel

    from docgen.schedule import Schedule


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
    rewrite
        Whether texts from a prompt of another version are written again.
    """

    concurrency: int = 8
    attempts: int = 3
    backoff: float = 1.0
    give_up_after: int = 20
    max_calls: int | None = None
    max_cost_usd: float | None = None
    rewrite: bool = False


@dataclass
class WriteReport:
    """What a run did.

    Attributes
    ----------
    texts, sources
        Qualified name -> documentation, of everything that is finished; and who wrote it when.
    shipped, reused, written, changed
        Prewritten; taken from the checkpoint; written now; written now because the symbol changed.
    older
        Of those not written now: from a prompt of another version.
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
    sources: dict[str, Text] = field(default_factory=dict)
    shipped: list[str] = field(default_factory=list)
    reused: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    older: list[str] = field(default_factory=list)
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
    given: Prewritten | None = None,
    show_progress: bool = False,
) -> WriteReport:
    """Write what neither ``given`` nor the checkpoint hold yet, callees before callers.

    Parameters
    ----------
    model_name
        Stored with every text; texts of another model are not reused.

    Returns
    -------
    WriteReport
        Also when items failed: look at ``complete``.
    """
    texts = given.texts if given is not None else {}
    job = _Job(library, model, model_name, checkpoint, options=options, given=texts)
    with (
        checkpoint.writer() as appender,
        meter("Writing documentation", len(library.symbols), show=show_progress) as progress,
    ):
        await job.run(appender.append, progress)
    return job.report


@dataclass(frozen=True)
class _Answer:
    """What one request brought; ``error`` is empty when every text is good.

    ``pause`` are the seconds to wait that the endpoint asks for.
    """

    texts: Mapping[str, str]
    error: str
    answered: bool = True
    tokens: _Tokens = (0, 0)
    pause: float = 0.0
    cached: bool = False


class _Job:
    """One run: the frontier of symbols whose dependencies are finished, and its workers."""

    def __init__(
        self,
        library: Library,
        model: BaseChatModel,
        model_name: str,
        checkpoint: Checkpoint,
        *,
        options: WriteOptions | None = None,
        given: Mapping[str, Text] | None = None,
    ) -> None:
        from docgen import schedule  # noqa: PLC0415 - see above

        self.library, self.model, self.model_name = library, model, model_name
        self.checkpoint, self.options = checkpoint, options or WriteOptions()
        self.given = given or {}
        self.report = WriteReport()
        self.prompter = Prompter(library)
        self.hashes = {name: source_hash(symbol) for name, symbol in library.symbols.items()}
        self.schedule: Schedule = schedule.Schedule(
            library, self.prompter, kept=lambda name: self._finished(name) is not None
        )
        self.failures_in_a_row = 0
        self.last_error = ""

    async def run(self, append: Callable[[Written], None], progress: Progressing) -> None:
        running: dict[asyncio.Task[list[Written]], list[str]] = {}
        self._release(self.schedule.start())
        progress.advance(len(self.report.texts), self._note())
        try:
            while self.schedule or running:
                free = self.options.concurrency
                while self.schedule and len(running) < free and self._may_go_on():
                    group = self.schedule.next()
                    self.report.calls += 1  # counted before it starts: a limit is never overrun
                    running[asyncio.create_task(self._write(group))] = group
                if not running:
                    if not self._may_go_on():
                        break
                    continue
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                finished = len(self.report.texts)
                for task in done:
                    group = running.pop(task)
                    for written in task.result():
                        append(written)
                        self._settle(written)
                        group.remove(written.qualname)
                    self.schedule.ask_alone(group)
                progress.advance(max(1, len(self.report.texts) - finished), self._note())
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        self._account_for_the_rest()

    def _finished(self, name: str) -> Text | None:
        """The text that need not be written, if there is one."""
        given = self.given.get(name)
        done = self.checkpoint.done(name, self.hashes[name], self.model_name)
        texts = [given, done.as_text() if done else None]
        current = [t for t in texts if t is not None and t.prompt == VERSION]
        older = [t for t in texts if t is not None and not self.options.rewrite]
        return next(iter([*current, *older]), None)

    def _release(self, names: Iterable[str]) -> None:
        """Take up symbols whose dependencies are finished.

        What the checkpoint holds is finished at once, which may release more.
        """
        released = list(names)
        while released:
            name = released.pop()
            text = self._finished(name)
            if text is None:
                self.schedule.add([name])
                continue
            kept = self.report.shipped if text is self.given.get(name) else self.report.reused
            kept.append(name)
            if text.prompt != VERSION:
                self.report.older.append(name)
            released += self._finish(text)

    def _finish(self, text: Text) -> list[str]:
        """Record a text; returns the symbols that now have everything they build on."""
        self.report.texts[text.qualname] = text.text
        self.report.sources[text.qualname] = text
        return self.schedule.finish(text.qualname)

    def _settle(self, written: Written) -> None:
        report, name = self.report, written.qualname
        if written.status == "done":
            self.failures_in_a_row = 0
            report.written.append(name)
            self._release(self._finish(written.as_text()))
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

    async def _write(self, names: Sequence[str]) -> list[Written]:
        """Ask for some symbols: several once, one until it is there or has failed for good."""
        self.report.changed += [
            n for n in names if self.checkpoint.known(n, self.hashes[n], self.model_name)
        ]
        prompt = self.prompter.build(names, self.report.texts)
        asked = _Answer({}, "", answered=False)
        usage: _Tokens = (0, 0)
        attempts = 0
        while attempts < self.options.attempts:
            if asked.error:
                if asked.answered and len(names) > 1:
                    break
                if not self._may_go_on():
                    break
                self.report.calls += 1
                if attempts:
                    pause = self.options.backoff * 2 ** (attempts - 1)
                    await asyncio.sleep(max(asked.pause, pause))
            asked = await self._ask(prompt, names)
            usage = (_plus(usage[0], asked.tokens[0]), _plus(usage[1], asked.tokens[1]))
            if asked.cached:
                self.report.calls -= 1
            else:
                attempts += 1
            if not asked.error:
                break
        texts, failed = asked.texts, not asked.answered or len(names) == 1
        return [
            Written(
                qualname=name,
                source_hash=self.hashes[name],
                writer=self.model_name,
                text=texts.get(name, ""),
                status="done" if name in texts else "failed",
                prompt=VERSION,
                date=datetime.now(UTC).date().isoformat(),
                error=None if name in texts else asked.error,
                attempts=attempts,
                together=len(names),
                prompt_tokens=usage[0],
                completion_tokens=usage[1],
            )
            for name in names
            if name in texts or failed
        ]

    async def _ask(self, prompt: str, names: Sequence[str]) -> _Answer:
        """One request."""
        messages = [("system", INSTRUCTIONS), ("human", prompt)]
        try:
            reply = await self.model.ainvoke(messages, {"tags": ["documentation"]})
        except Exception as failure:  # noqa: BLE001 - every provider has its own; recorded per item
            self.report.unanswered += 1
            reason = f"{type(failure).__name__}: {' '.join(str(failure).split())[:_ERROR]}"
            return _Answer({}, reason, answered=False, pause=_retry_after(failure))
        usage: Mapping[str, object] = reply.usage_metadata or {}
        tokens = (_count(usage, "input_tokens"), _count(usage, "output_tokens"))
        about: Mapping[str, Any] = reply.response_metadata
        report = self.report
        report.prompt_tokens = _plus(report.prompt_tokens, tokens[0])
        report.completion_tokens = _plus(report.completion_tokens, tokens[1])
        report.cost_usd = _plus(report.cost_usd, about.get("cost_usd"))
        ending = _ENDINGS.get(str(about.get("fault")), "")
        parts = split_reply(str(reply.text), names)
        faults = {name: ending or check_reply(parts.get(name, "")) for name in names}
        return _Answer(
            texts={name: clean_reply(parts[name]) for name in names if not faults[name]},
            error=next((fault for fault in faults.values() if fault), ""),
            tokens=tokens,
            cached=bool(about.get("cached")),
        )

    def _note(self) -> str:
        cost = "" if self.report.cost_usd is None else f"${self.report.cost_usd:.2f}"
        failed = f"{len(self.report.failed)} failed" if self.report.failed else ""
        return " ".join(part for part in (cost, failed) if part)

    def _account_for_the_rest(self) -> None:
        """Everything unfinished is named: blocked by a failure, or pending."""
        report = self.report
        for name in self.schedule.order.sequence:
            if name in report.texts or name in report.failed:
                continue
            culprit = next(
                (
                    n
                    for n in self.schedule.order.needs[name]
                    if n in report.failed or n in report.blocked
                ),
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
