"""Documentation of every symbol by a chat model: ordered, bounded, resumable."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pydoc import locate
from typing import Any, TypeVar

from docgen.prompts import INSTRUCTIONS, Prompter, batches, documentation_order
from docgen.replies import check_reply, clean_reply, split_reply
from docgen.symbols import Library
from docgen.texts import VERSION, Checkpoint, WrittenText, source_hash
from docgen.writing import WriteOptions, WriterModel, WriterReply
from foundation.command import Group
from foundation.configuration import CONF, load
from foundation.errors import UsageError
from foundation.progress import Progressing, meter
from sandbox.environments import cache_folder

_GIVE_UP = (
    20  # consecutive failed requests that end a run: the endpoint is down or refuses us
)
_ERROR = 300  # characters of an error that are kept
#: How a reply can end that is not all of it.
_ENDINGS = {
    "length": "the reply was cut off: raise set.max_tokens",
    "content_filter": "the endpoint's content filter refused",
}


@dataclass
class WriteReport:
    """What a run did.

    Attributes
    ----------
    texts
        Everything that is finished, by qualified name.
    shipped, reused, written
        Prewritten; taken from the checkpoint; written now.
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

    texts: dict[str, WrittenText] = field(default_factory=dict)
    shipped: list[str] = field(default_factory=list)
    reused: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
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

    def spend(self, reply: WriterReply) -> None:
        """Add what a reply took."""
        self.prompt_tokens = _sum(self.prompt_tokens, reply.prompt_tokens)
        self.completion_tokens = _sum(self.completion_tokens, reply.completion_tokens)
        self.cost_usd = _sum(self.cost_usd, reply.cost_usd)


Amount = TypeVar("Amount", int, float)


def _sum(spent: Amount | None, more: Amount | None) -> Amount | None:
    """``None`` where either is unknown."""
    return None if spent is None or more is None else spent + more


@asynccontextmanager
async def open_writer(
    model: Group, *, concurrency: int = 8, priced: bool = False
) -> AsyncIterator[WriterModel | None]:
    """The chat model that ``model`` chooses, ``None`` where it names none.

    It is open for as long as the context lasts. ``conf/chat.yaml`` says who builds it: chat models
    live in ``agents``, which is not imported from here. With ``priced`` its price must be known.
    What cannot be built is a `UsageError`.
    """
    async with AsyncExitStack() as stack:
        chat: WriterModel | None = None
        if model.name:
            build: Any = locate(load(CONF / "chat.yaml")["_target_"])
            config = model.read("model")
            cache = cache_folder()
            opened = build(config, concurrency=concurrency, cache=cache, priced=priced)
            try:
                chat = await stack.enter_async_context(opened)
            except ValueError as error:
                raise UsageError(f"model={model.name}: {error}") from error
        yield chat


async def write_documentation(
    library: Library,
    model: WriterModel,
    *,
    checkpoint: Checkpoint,
    options: WriteOptions | None = None,
    max_cost_usd: float | None = None,
    given: Mapping[str, WrittenText] | None = None,
    show_progress: bool = False,
) -> WriteReport:
    """Write what neither ``given`` nor the checkpoint hold yet, callees before callers.

    Returns
    -------
    WriteReport
        Also when items failed: look at ``complete``.
    """
    job = _Job(library, model, checkpoint, options or WriteOptions(), max_cost_usd)
    with meter(
        "Writing documentation", len(library.symbols), show=show_progress
    ) as progress:
        await job.run(given or {}, progress)
    return job.report


class _Job:
    """One run: batches that wait for those that they build on."""

    def __init__(
        self,
        library: Library,
        model: WriterModel,
        checkpoint: Checkpoint,
        options: WriteOptions,
        max_cost_usd: float | None,
    ) -> None:
        self.library, self.model, self.max_cost_usd = library, model, max_cost_usd
        self.checkpoint, self.options = checkpoint, options
        self.report = WriteReport()
        self.hashes = {
            name: source_hash(symbol) for name, symbol in library.symbols.items()
        }
        self.prompter = Prompter(library)
        self.failures_in_a_row = 0
        self.last_error = ""

    async def run(
        self, given: Mapping[str, WrittenText], progress: Progressing
    ) -> None:
        needs = documentation_order(self.library)
        for name in needs:
            self._reuse(name, given.get(name))
        report = self.report
        written = {n: asyncio.Event() for n in needs if n not in report.texts}
        progress.advance(len(report.texts), self._note())
        slots = asyncio.Semaphore(self.options.concurrency)

        async def write(group: Sequence[str]) -> None:
            needed = {n for name in group for n in needs[name]}
            for name in written.keys() & needed - set(group):
                await written[name].wait()
            async with slots:
                for name in await self._write(group, needs):
                    await self._write([name], needs)
            for name in group:
                written[name].set()
            progress.advance(len(group), self._note())

        groups = batches(self.library, needs, written)
        tasks = [asyncio.create_task(write(group)) for group in groups]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._account_for_the_rest(needs)

    def _reuse(self, name: str, given: WrittenText | None) -> None:
        """Take a text that is there; of two the one that the present prompt was asked for."""
        checkpointed = self.checkpoint.done(name, self.hashes[name], self.model.name)
        texts = [text for text in (given, checkpointed) if text is not None]
        if not texts:
            return
        current = [text for text in texts if text.prompt == VERSION]
        text = (current or texts)[0]
        self.report.texts[name] = text
        names = self.report.reused if text is checkpointed else self.report.shipped
        names.append(name)

    def _may_go_on(self) -> bool:
        report = self.report
        report.stopped = report.stopped or self._reason_to_stop()
        return report.stopped is None

    def _reason_to_stop(self) -> str | None:
        """Which limit is reached."""
        report = self.report
        calls = self.options.max_calls
        cost = self.max_cost_usd
        if self.failures_in_a_row >= _GIVE_UP:
            return (
                f"{_GIVE_UP} consecutive requests failed, the last with: "
                f"{self.last_error}"
            )
        if calls is not None and report.calls >= calls:
            return f"the limit of {calls} model calls was reached"
        if cost is None:
            return None
        if report.cost_usd is None:
            return (
                f"the limit of ${cost} cannot be kept: a reply came without usage, or "
                "the model's price is not set"
            )
        if report.cost_usd >= cost:
            return f"the limit of ${cost} was reached"
        return None

    async def _write(
        self, names: Sequence[str], needs: Mapping[str, Sequence[str]]
    ) -> list[str]:
        """Ask for those that build on nothing that failed; returns what must be asked for alone.

        Several are asked for once, one until it is there or has failed for good.
        """
        report = self.report
        free = list[str]()
        for name in names:
            if all(need in report.texts or need in free for need in needs[name]):
                free.append(name)
        prompt = self.prompter.build(free, report.texts) if free else ""
        failed: dict[str, str] = {}
        tries = 0
        while free and tries < self.options.attempts and self._may_go_on():
            report.calls += 1  # counted before it starts: a limit is never overrun
            reply, failed = await self._ask(prompt, free)
            if reply is not None and reply.cached:
                report.calls -= 1
            else:
                tries += 1
            if reply is not None and len(free) > 1:
                failed = {}
            if not failed:
                break
        if any(name in report.texts for name in free):
            self.failures_in_a_row = 0
        if failed:
            report.failed |= failed
            self.failures_in_a_row += 1
            self.last_error = next(iter(failed.values()))
        return [
            name for name in free if name not in report.texts and name not in failed
        ]

    async def _ask(
        self, prompt: str, names: Sequence[str]
    ) -> tuple[WriterReply | None, dict[str, str]]:
        """One request: its reply, whose good texts are kept, and what is wrong with the others."""
        report = self.report
        try:
            reply = await self.model.ask(prompt, INSTRUCTIONS)
        except Exception as failure:  # noqa: BLE001 - every provider has its own; recorded per item
            report.unanswered += 1
            reason = (
                f"{type(failure).__name__}: {' '.join(str(failure).split())[:_ERROR]}"
            )
            return None, dict.fromkeys(names, reason)
        report.spend(reply)
        ending = _ENDINGS.get(reply.fault or "", "")
        parts = split_reply(reply.text, names)
        faults = {name: ending or check_reply(parts.get(name, "")) for name in names}
        date = datetime.now(UTC).date().isoformat()
        for name in names:
            if faults[name]:
                continue
            body = clean_reply(parts[name])
            text = WrittenText(
                name, self.hashes[name], VERSION, self.model.name, date, body
            )
            self.checkpoint.add(text)
            report.written.append(name)
            report.texts[name] = text
        return reply, {name: fault for name, fault in faults.items() if fault}

    def _note(self) -> str:
        cost = "" if self.report.cost_usd is None else f"${self.report.cost_usd:.2f}"
        failed = f"{len(self.report.failed)} failed" if self.report.failed else ""
        return " ".join(part for part in (cost, failed) if part)

    def _account_for_the_rest(self, needs: Mapping[str, Sequence[str]]) -> None:
        """Everything unfinished is named: blocked by a failure, or pending."""
        report = self.report
        for name in needs:
            if name not in report.texts and name not in report.failed:
                lost = (
                    n for n in needs[name] if n in report.failed or n in report.blocked
                )
                culprit = next(lost, None)
                if culprit is None:
                    report.pending.append(name)
                else:
                    report.blocked[name] = report.blocked.get(culprit, culprit)
