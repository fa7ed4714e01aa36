"""One run: every question answered, scored and stored once, and a summary at the end."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import fmean

from rich.console import Console

from agents.base import Image, Usage
from agents.budget import Meter
from agents.config import load_system
from agents.models import find_price
from agents.models.recordings import SHIPPED, read_exchanges
from experiments.files import write_json
from experiments.record import Row
from experiments.run.answering import Answered, Plan, Trial
from experiments.run.cluster import open_launcher
from experiments.run.config import RunConfig
from experiments.run.launcher import Executor, ExecutorError, Launcher, LocalLauncher
from experiments.run.setup import (
    build_benchmark,
    check_answers,
    check_recorded,
    load_samples,
    scorer_digest,
    select,
)
from experiments.run.store import Store, run_folder
from experiments.run.summary import samples_digest, summarise
from experiments.samples import Sample
from experiments.scorers.base import amount, measure
from foundation.errors import ActionableError, UsageError
from foundation.progress import Progressing
from foundation.progress import meter as counting

#: Consecutive questions that fail because of a component before a run stops: the endpoint is
#: gone then.
FAILURES = 100
#: Reasons why questions are unavailable that are printed.
REASONS = 5
#: Answers of a run from which the others are estimated.
FIRST = 3


async def execute_all(
    configs: Sequence[RunConfig], console: Console
) -> list[Path | Exception]:
    """Execute runs in their order, in one event loop: clients keep their connections in it.

    Returns the folder of each, or why it could not start or end; that of a single run is raised.
    """
    ended: list[Path | Exception] = []
    async with open_launcher(configs, console) as launcher:
        for config in configs:
            try:
                ended.append(await execute(config, console, launcher))
            except Exception as error:
                if len(configs) == 1:
                    raise
                ended.append(error)
    return ended


async def execute(
    config: RunConfig, console: Console, launcher: Launcher | None = None
) -> Path:
    """Run whatever is not finished yet, and write the summary; returns the run folder."""
    benchmark = build_benchmark(config)
    all_samples = load_samples(benchmark, config)
    samples = select(all_samples, config)
    check_answers(config, samples)
    check_recorded(config, samples)
    try:
        config_hash = config.hash(samples_digest(all_samples))
    except OSError as error:
        raise UsageError(f"benchmark={config.benchmark.name}: {error}") from error
    launcher = launcher or LocalLauncher()
    launcher.check(config)
    # A system that does not say asks a model where the configured one replies at all.
    declared = load_system(config).llm
    llm = config.model.replies if declared is None else declared
    folder = run_folder(config, config_hash)
    with Store(folder, config_hash, config.plain()) as store:
        finished = store.finished(config.budget)
        if store.remember_scorer(scorer_digest(benchmark.scorer)) and finished:
            _advise_regrading(config, folder, console)
        answerable = [sample for sample in samples if sample.unavailable is None]
        all_trials = [
            Trial(sample, seed) for seed in config.seeds for sample in answerable
        ]
        trials = [trial for trial in all_trials if trial.key not in finished]
        before = len(all_trials) - len(trials)
        asked = _counted(len(answerable), config.seeds, before)
        console.print(f"{_title(config, llm)}: {asked} -> {folder}")
        for remark in unavailable(samples):
            console.print(remark, markup=False, highlight=False, soft_wrap=True)
        estimate = from_answers(finished.values(), len(trials), config.concurrency)
        if llm and (line := estimate or from_recordings(config, len(trials))):
            console.print(line, highlight=False)
        plan = Plan(
            config,
            config_hash,
            benchmark,
            sorted({trial.sample.environment for trial in trials}),
            lambda env, line: console.print(
                f"Environment {env}: {line}", highlight=False
            ),
            _meter_of(config, store.lines()),
            warm=any(sample.question.wants_code for sample in samples),
        )
        progress = counting(
            config.system.name,
            len(all_trials),
            done=len(all_trials) - len(trials),
            console=console,
        )
        print_estimate = None if estimate else partial(console.print, highlight=False)
        stopped: str | None = None
        try:
            began = time.monotonic()
            async with (
                store.ends_when_removed(),
                launcher.executor(plan, store) if trials else nullcontext() as executor,
            ):
                ready = time.monotonic()
                with progress as advancing:
                    if executor is not None:
                        work = Work(plan, store, executor, advancing, print_estimate)
                        stopped = await work.through(trials)
                answered = time.monotonic()
                console.print(
                    f"environment, documents and sandboxes: {ready - began:.0f} s; "
                    f"questions: {answered - ready:.0f} s",
                    highlight=False,
                )
        finally:
            store.check()
            selected = {
                (sample.question.id, seed)
                for sample in samples
                for seed in config.seeds
            }
            summary = summarise(
                config,
                config_hash=config_hash,
                llm=llm,
                metrics=benchmark.scorer.metrics,
                samples=samples,
                rows=[row for row in store.lines() if row.key in selected],
                packages=store.packages,
                outside=store.spent,
                stopped=stopped,
            )
            write_json(folder / "summary.json", summary)
    return folder


def _advise_regrading(config: RunConfig, folder: Path, console: Console) -> None:
    """Say that finished answers were scored by another version of the scorer."""
    target = config.benchmark.target
    benchmark = target if ":" in target else config.benchmark.name
    console.print(
        "Verdicts are of an earlier version of the scorer; `matsmith regrade "
        f"benchmark={benchmark} answers={folder}` scores again without paying",
        style="yellow",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _title(config: RunConfig, llm: bool) -> str:
    """System, source of documents, model and benchmark."""
    model_name = config.model.name if llm else "no model"
    return (
        f"{config.system.name} + {config.retrieval.name} + {model_name} on "
        f"{config.benchmark.name}"
    )


def _counted(questions: int, seeds: Sequence[int], finished: int) -> str:
    """How many questions there are, and how many answers an earlier run has finished."""
    plural = "" if questions == 1 else "s"
    repeated = f" x {len(seeds)} seeds" if len(seeds) > 1 else ""
    resumed = f", {finished} answers finished before" if finished else ""
    return f"{questions} question{plural}{repeated}{resumed}"


def _meter_of(config: RunConfig, rows: Iterable[Row]) -> Meter:
    """The budget of the run, with what earlier answers have used of it."""
    meter = Meter(config.run_budget, group="run_budget")
    for row in rows:
        _count(row, meter)
    return meter


def _count(row: Row, meter: Meter) -> None:
    priced = row.cost_usd is not None and row.judge_cost_usd is not None
    meter.usage += Usage(
        calls=(row.calls or 0) + row.judge_calls,
        prompt_tokens=(row.tokens or 0) + row.judge_tokens,  # only the sum counts here
        cost_usd=(row.cost_usd or 0.0) + (row.judge_cost_usd or 0.0)
        if priced
        else None,
        unmetered=row.calls is None,
    )
    meter.sandbox_seconds += row.sandbox_seconds


def _first(errors: BaseExceptionGroup[BaseException]) -> ActionableError:
    """One of several errors that happened together."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, ActionableError)
    return error


@dataclass
class Work:
    """Hands out questions, stores what comes back, and estimates what the others will cost."""

    plan: Plan
    store: Store
    executor: Executor
    progress: Progressing
    print_estimate: Callable[[str], None] | None = None
    left: int = field(default=0, init=False)
    first: list[Row] = field(default_factory=list, init=False)
    failures: int = field(default=0, init=False)  # consecutive
    #: Why nobody is left to answer.
    gone: str | None = field(default=None, init=False)
    gained: float = field(default=0.0, init=False)  # of the primary metric
    out_of: float = field(default=0.0, init=False)

    async def through(self, trials: Sequence[Trial]) -> str | None:
        """Do all trials in their order; returns what left questions unanswered."""
        waiting = deque(trials)
        self.left = len(trials)
        try:
            async with asyncio.TaskGroup() as group:
                await self._hand_out(waiting, group)
        except BaseExceptionGroup as errors:
            _, others = errors.split(ActionableError)
            if others is not None:
                raise
            raise _first(errors) from errors  # a file that cannot be written, told once
        # With every question handed out, only an executor that died left some unanswered.
        return self._stopped() if waiting else self.gone

    async def _hand_out(self, waiting: deque[Trial], group: asyncio.TaskGroup) -> None:
        while waiting and self._stopped() is None:
            try:
                await self.executor.acquire()
            except ExecutorError as error:
                self.gone = str(error)
                break
            if self._stopped() is not None:  # by what was answered meanwhile
                self.executor.release()
                break
            group.create_task(self._do(waiting.popleft()))

    def _stopped(self) -> str | None:
        if self.gone is not None:
            return self.gone
        if exceeded := self.plan.meter.exceeded():
            return str(exceeded)
        count = self.failures
        return f"{count} consecutive questions failed" if count >= FAILURES else None

    async def _do(self, trial: Trial) -> None:
        try:
            self._keep(trial, await self.executor.answer(trial))
        except ExecutorError as error:
            self.gone = str(error)
        finally:
            self.executor.release()

    def _keep(self, trial: Trial, answered: Answered) -> None:
        """Store an answer, count it and show it."""
        row, store = answered.row, self.store
        for part in trial.sample.question.attachments:
            if isinstance(part, Image) and not trial.sample.private:
                store.keep_image(part)
        store.append(row, answered.record, answered.figures)
        self.failures = self.failures + 1 if row.infra else 0
        _count(row, self.plan.meter)
        metric = self.plan.benchmark.scorer.metrics[0]
        gained, out_of = measure(row, metric)
        self.gained += gained
        self.out_of += out_of
        self.left -= 1
        # Some of the first answers may tell no price; after twice as many nothing is estimated.
        self.first = [*self.first, row][: 2 * FIRST]
        if self.print_estimate is not None and len(self.first) < 2 * FIRST:
            together = self.plan.config.concurrency
            if line := from_answers(self.first, self.left, together):
                self.print_estimate(line)
                self.print_estimate = None
        self.progress.advance(
            note=f"{amount(self.gained)}/{self.out_of:.0f} {metric.title}"
        )


def unavailable(samples: Sequence[Sample]) -> list[str]:
    """A line for each reason why questions cannot be asked; the summary names all of them."""
    names: dict[str, list[str]] = defaultdict(list)
    for sample in samples:
        if sample.unavailable is not None:
            names[sample.unavailable].append(sample.question.id)
    lines = [
        f"unavailable: {ids[0]}{f' and {len(ids) - 1} more' if ids[1:] else ''}: {reason}"
        for reason, ids in names.items()
    ]
    more = len(lines) - REASONS
    last = [f"unavailable: {more} more, listed in the report"] if more > 0 else []
    return [*lines[:REASONS], *last]


def from_answers(rows: Iterable[Row], left: int, together: int) -> str | None:
    """A line from the first answers; nothing where their price is unknown or nothing is left."""
    answers = [row for row in rows if row.scored and row.calls and not row.cached_calls]
    costs = [row.cost_usd for row in answers if row.cost_usd is not None]
    if len(answers) < FIRST or len(costs) < len(answers) or not left:
        return None
    minutes = left * fmean(row.seconds for row in answers) / min(together, left) / 60
    return (
        f"about {left * fmean(costs):.2g} dollars, {minutes:.2g} minutes for the other {left} "
        f"answers (from the first {len(answers)})"
    )


def from_recordings(config: RunConfig, left: int) -> str | None:
    """A line from recordings of the same system and benchmark; nothing without any, or a price."""
    price = find_price(config.model)
    if price is None or not left:
        return None
    exchanges = [
        each for file in SHIPPED.glob("*.jsonl.gz") for each in read_exchanges(file)
    ]
    recorded = [
        each
        for each in exchanges
        if each.fits(config.recording_scope) and "usage" in each.reply
    ]
    if not recorded:
        return None
    answers = len({(each.question, each.seed) for each in recorded})
    prompts, replies = (
        sum(each.reply["usage"][n] for each in recorded) / answers for n in (0, 1)
    )
    dollars = left * (prompts * price.prompt + replies * price.completion) / 1e6
    return (
        f"about {dollars:.2g} dollars for {left} answers, from the tokens of {answers} recorded "
        f"ones of {recorded[0].model}; minutes follow after the first {FIRST}"
    )
