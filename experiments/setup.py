"""What a run is about: its benchmark, the questions asked of it, and what cannot go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

from agents.answer_formats import CODE
from agents.base import Image
from agents.config import load_class
from agents.runtime import check_price
from experiments.config import RunConfig
from experiments.samples import Benchmark, Sample
from sandbox.command import UsageError


def build_benchmark(config: RunConfig) -> Benchmark:
    """Make the benchmark.

    Raises
    ------
    UsageError
        When an argument is wrong.
    """
    cls = load_class(config.benchmark.target, key="benchmark")
    try:
        benchmark: Benchmark = cls(**config.benchmark.params)
    except (ValueError, OSError) as error:
        raise UsageError(f"benchmark={config.benchmark.name}: {error}") from error
    return benchmark


def load_samples(benchmark: Benchmark, config: RunConfig) -> list[Sample]:
    """Load the questions.

    Raises
    ------
    UsageError
        When they cannot be loaded.
    """
    try:
        return list(benchmark.load())
    except (ValueError, OSError) as error:
        raise UsageError(f"benchmark={config.benchmark.name}: {error}") from error


def select(samples: Sequence[Sample], config: RunConfig) -> list[Sample]:
    """Apply ``ids`` and ``limit``; what the model cannot look at becomes unavailable.

    Raises
    ------
    UsageError
        When ``ids`` names a question that the benchmark does not have.
    """
    known = {sample.question.id for sample in samples}
    for wanted in config.ids:
        if wanted not in known:
            near = get_close_matches(wanted, sorted(known), n=5, cutoff=0.5)
            hint = f"; near: {', '.join(near)}" if near else f", such as {min(known)}"
            raise UsageError(f"ids={wanted}: no such question of {len(known)}{hint}")
    chosen = [sample for sample in samples if not config.ids or sample.question.id in config.ids]
    return [_seen(sample, config) for sample in chosen[: config.limit]]


def _seen(sample: Sample, config: RunConfig) -> Sample:
    pictured = any(isinstance(part, Image) for part in sample.question.parts)
    if config.model.images or not pictured or sample.unavailable is not None:
        return sample
    return replace(sample, unavailable="model.images=false: the question has a picture")


def check_answers(config: RunConfig, samples: Sequence[Sample]) -> None:
    """Refuse an architecture that writes and runs code where another answer is wanted.

    Raises
    ------
    UsageError
        In one line that says which architectures can answer.
    """
    cls = load_class(config.system.target, key="system")
    other = next((t.question.answer for t in samples if t.question.answer != CODE), None)
    if other is not None and getattr(cls, "writes_code", True):
        raise UsageError(
            f"system={config.system.name}: writes and runs code, but benchmark="
            f"{config.benchmark.name} asks for {other.name}; use system=single or system=rag"
        )
    if not getattr(cls, "reads_files", True) and any(
        sample.question.mounts and sample.question.answer != CODE for sample in samples
    ):
        raise UsageError(
            f"system={config.system.name}: sees no files, but the questions of benchmark="
            f"{config.benchmark.name} come with some; use system=command, or another arm"
        )


def check_prices(config: RunConfig) -> None:
    """Refuse limits in dollars that cannot be kept.

    Raises
    ------
    UsageError
        When nobody knows what a model costs.
    """
    run_limit = config.run_budget.cost_usd
    check_price(config.budget.cost_usd, config.model, group="budget", role="model")
    check_price(run_limit, config.model, group="run_budget", role="model")
    check_price(run_limit, config.judge, group="run_budget", role="judge")
