"""What a run is about: its benchmark, the questions asked of it, and what cannot go together."""

from __future__ import annotations

import hashlib
import inspect
import re
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from json import JSONDecodeError

from agents.base import Agent, Image
from agents.config import load_system
from agents.models.recordings import Recordings
from agents.runtime import check_price
from experiments.benchmarks import Benchmark
from experiments.run.config import RunConfig
from experiments.samples import Sample
from experiments.scorers.base import Scorer
from foundation.errors import UsageError
from foundation.failures import describe_failure, from_plugin
from foundation.targets import load


@contextmanager
def _one_line(config: RunConfig, plugin: object) -> Iterator[None]:
    """What goes wrong while questions are read, as one line; a fault of ours stays a traceback."""
    name = f"benchmark={config.benchmark.name}"
    try:
        yield
    except UsageError:
        raise
    except (LookupError, TypeError, AttributeError, JSONDecodeError) as error:
        raise UsageError(f"{name}: {_located(error, plugin)}") from error
    except (ValueError, OSError) as error:
        raise UsageError(f"{name}: {error}") from error
    except Exception as error:
        if not from_plugin(error, plugin):
            raise
        raise UsageError(f"{name}: {_located(error, plugin)}") from error


def _located(error: Exception, plugin: object) -> str:
    """Type, message, file and line of an exception, in the plug-in's file where it passed that."""
    if from_plugin(error, plugin):
        return describe_failure(error, plugin)
    frames = traceback.extract_tb(error.__traceback__)
    home = inspect.getsourcefile(plugin) if callable(plugin) else None
    own = [frame for frame in frames if frame.filename == home] or frames
    return f"{own[-1].filename}:{own[-1].lineno}: {type(error).__name__}: {error}"


def build_benchmark(config: RunConfig) -> Benchmark:
    """Make the benchmark."""
    make = load(config.benchmark.target, key="benchmark._target_")
    with _one_line(config, make):
        benchmark: Benchmark = make(**config.benchmark.params)
    return benchmark


def load_samples(benchmark: Benchmark, config: RunConfig) -> list[Sample]:
    """Load the questions."""
    make = load(config.benchmark.target, key="benchmark._target_")
    with _one_line(config, make):
        samples = list(benchmark.load())
        scorer = benchmark.scorer
        if not scorer.metrics:
            raise UsageError(
                f"benchmark={config.benchmark.name}: its scorer has no metric"
            )
        for sample in samples:
            scorer.criteria(sample)
    ids = Counter(sample.question.id for sample in samples)
    if twice := [key for key, count in ids.items() if count > 1]:
        listed = ", ".join(twice[:5])
        raise UsageError(
            f"benchmark={config.benchmark.name}: several questions have the id {listed}"
        )
    return samples


def scorer_digest(scorer: Scorer) -> str:
    """Digest of a scorer's source and parameters, functions among them by their own source."""
    settings = sorted((name, value) for name, value in vars(scorer).items())
    functions = [
        getattr(value, "func", value) for _, value in settings if callable(value)
    ]
    modules = filter(None, map(inspect.getmodule, (type(scorer), *functions)))
    sources = {inspect.getsource(module) for module in modules}
    parameters = [(name, str(value)) for name, value in settings]
    text = re.sub(
        r" at 0x[0-9a-f]+", "", f"{sorted(sources)}{parameters}"
    )  # another each time
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def select(samples: Sequence[Sample], config: RunConfig) -> list[Sample]:
    """Apply ``ids`` and ``limit``; what the model cannot look at becomes unavailable.

    ``limit`` counts questions that can be answered.
    """
    ids = {sample.question.id for sample in samples}
    for wanted in config.ids:
        if wanted not in ids:
            near = get_close_matches(wanted, sorted(ids), n=5, cutoff=0.5)
            hint = f"; near: {', '.join(near)}" if near else f", such as {min(ids)}"
            raise UsageError(f"ids={wanted}: no such question of {len(ids)}{hint}")
    system = load_system(config)
    selected = []
    answerable = 0
    for sample in samples:
        if config.ids and sample.question.id not in config.ids:
            continue
        if answerable == config.limit:
            break
        reason = sample.unavailable or _unanswerable(sample, system, config)
        selected.append(replace(sample, unavailable=reason))
        answerable += reason is None
    return selected


def _unanswerable(sample: Sample, system: type[Agent], config: RunConfig) -> str | None:
    """Why a system cannot answer a sample; ``None`` where it can."""
    if system.needs_reference and sample.reference is None:
        return f"system={config.system.name}: the benchmark has no reference"
    pictured = any(isinstance(part, Image) for part in sample.question.attachments)
    if pictured and not config.model.images and system.llm is not False:
        return "model.images=false: the question has a picture"
    return None


def check_answers(config: RunConfig, samples: Sequence[Sample]) -> None:
    """Refuse an architecture that writes and runs code where another answer is wanted."""
    system = load_system(config)
    other = next(
        (t.question.answer for t in samples if not t.question.wants_code), None
    )
    if other is not None and system.writes_code:
        raise UsageError(
            f"system={config.system.name}: writes and runs code, but benchmark="
            f"{config.benchmark.name} asks for {type(other).__name__.lower()}; "
            "use system=single or system=rag"
        )
    if not system.reads_files and any(
        sample.question.mounts and not sample.question.wants_code for sample in samples
    ):
        raise UsageError(
            f"system={config.system.name}: sees no files, but the questions of benchmark="
            f"{config.benchmark.name} come with some; use system=command, or another arm"
        )


def check_recorded(config: RunConfig, samples: Sequence[Sample]) -> None:
    """Refuse questions to which no reply was recorded, where recorded replies are played."""
    if config.model.plays and load_system(config).llm is None:
        asked = [t.question.id for t in samples if t.unavailable is None]
        recordings = Recordings(config.model, config.recording_scope)
        recordings.check((name, seed) for seed in config.seeds for name in asked)


def check_prices(config: RunConfig) -> None:
    """Refuse limits in dollars that cannot be kept."""
    run_limit = config.run_budget.cost_usd
    check_price(config.budget.cost_usd, config.model, group="budget", role="model")
    check_price(run_limit, config.model, group="run_budget", role="model")
    check_price(run_limit, config.judge, group="run_budget", role="judge")
