"""The configuration of a run: composed out of ``conf/``, checked here, frozen from then on.

Whether a value makes sense is decided by the models of this module and of :mod:`agents.config`,
whose errors name the key as a user types it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import (
    BaseModel,
    Field,
    PositiveFloat,
    PositiveInt,
    field_validator,
    model_validator,
)

from agents import config as runtime
from agents.budget import Budget
from agents.config import OPTIONAL, RuntimeConfig, Target, compose, overrides
from agents.models import ModelConfig, RecordingScope

#: Keys that change how a run is done, not what one answer is: not part of the hash.
#: A budget decides whether there is an answer, not which: what a limit ended is not scored.
UNHASHED = (
    "seeds",
    "limit",
    "ids",
    "concurrency",
    "budget",
    "run_budget",
    "out",
    "name",
    "launcher",
)

#: What does not change an answer of a model either.
UNHASHED_MODEL = ("timeout", "max_retries", "cache", "record", "strict", "images")


LAUNCHERS = ("local", "dask")


class LauncherConfig(BaseModel, extra="forbid", frozen=True, populate_by_name=True):
    """Where questions are answered: in this process, or by workers of Dask.

    Attributes
    ----------
    address
        Of a running scheduler (``tcp://HOST:8786``); none: workers are started.
    workers
        Worker processes to start. Each answers ``concurrency`` questions at once; those of a
        running scheduler answer as many as they have threads.
    patience
        Seconds to wait for a worker where there is none, before the run stops.
    target, options
        A launcher of somebody else (``launcher=my_module:MyLauncher``), and its parameters.
    """

    name: str = "local"
    target: str | None = Field(None, alias="_target_")
    options: Mapping[str, Any] = Field(default_factory=dict)
    address: str | None = None
    workers: PositiveInt = 2
    patience: PositiveFloat = 600.0

    @model_validator(mode="after")
    def _built_in(self) -> Self:
        if self.target is None and self.name not in LAUNCHERS:
            raise ValueError(f"name: choose from {', '.join(LAUNCHERS)}")
        return self


class RunConfig(RuntimeConfig):
    """Everything that decides a run."""

    benchmark: Target = Field(description="the questions")
    judge: ModelConfig | None = Field(
        None, description="a model that judges prose, where a benchmark needs one"
    )
    seeds: tuple[int, ...] = Field((0,), description="a count (3) or a list ([0,1,2])")
    limit: PositiveInt | None = Field(
        None, description="only the first N answerable questions"
    )
    ids: tuple[str, ...] = Field((), description="only these questions: ids=[a,b]")
    concurrency: PositiveInt = Field(
        4, description="questions, and model calls, in flight"
    )
    run_budget: Budget = Field(
        default_factory=Budget, description="limits for the whole run"
    )
    launcher: LauncherConfig = Field(
        default_factory=LauncherConfig,
        description="which processes and machines answer",
    )
    out: Path | None = Field(
        None, description="run folder; default runs/<what it is>-<hash>"
    )
    name: str | None = Field(
        None, description="put in front of the default folder's name"
    )

    @field_validator("judge", mode="before")
    @classmethod
    def _nobody(cls, value: object) -> object:
        nobody = isinstance(value, Mapping) and value.get("provider") == "none"
        return None if nobody else value

    @field_validator("seeds", mode="before")
    @classmethod
    def _count_or_list(cls, value: object) -> object:
        if isinstance(value, bool):
            raise ValueError("must be a count (3) or a list ([0,1,2])")  # noqa: TRY004
        if isinstance(value, int):
            if value < 1:
                raise ValueError("must be at least 1")
            return tuple(range(value))
        return value

    @field_validator("seeds")
    @classmethod
    def _distinct(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if not value or len(set(value)) != len(value):
            raise ValueError("must be distinct seeds, at least one")
        return value

    @field_validator("ids", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        values = value if isinstance(value, list | tuple) else (value,)
        return [str(item) if isinstance(item, int) else item for item in values]

    @field_validator("name")
    @classmethod
    def _file_name(cls, value: str | None) -> str | None:
        if value is not None and (
            not value or set(value) & set("/\\\0") or value.startswith(".")
        ):
            raise ValueError("must be usable as a file name")
        return value

    @property
    def recording_scope(self) -> RecordingScope:
        """What the model is asked for: recordings are kept by it."""
        settings = {
            name: value
            for name, value in self.benchmark.params.items()
            if isinstance(value, bool | int | float | str) and "/" not in str(value)
        }
        return RecordingScope(
            self.benchmark.name, settings, self.system.name, self.retrieval.name
        )

    def plain(self) -> dict[str, Any]:
        """The configuration as JSON-able data, keys as a user types them."""
        # Where code runs is the benchmark's: no part of what a user configured.
        return self.model_dump(mode="json", by_alias=True, exclude={"sandbox": {"env"}})

    def hash(self, samples_digest: str) -> str:
        """Name of everything that decides one answer: configuration and all questions."""
        left_out: dict[str, Any] = dict.fromkeys(UNHASHED, True)
        left_out |= {model: set(UNHASHED_MODEL) for model in ("model", "judge")}
        left_out["sandbox"] = {
            "env",
            "workers",
        }  # more workers are faster, not different
        plain = self.model_dump(mode="json", by_alias=True, exclude=left_out)
        # Without a choice of their own, runs keep the identity that they had before these groups.
        plain = {
            key: value
            for key, value in plain.items()
            if value is not None or key not in (*OPTIONAL, "prompts")
        }
        text = json.dumps([plain, samples_digest], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def validate(plain: Mapping[str, Any]) -> RunConfig:
    """Check a composed configuration, constructor arguments of the classes included."""
    return runtime.validate(plain, RunConfig, ("system", "benchmark"))


def read_runs(
    words: Sequence[str], *, several: bool = False
) -> list[tuple[dict[str, str], RunConfig]]:
    """The runs that a command line asks for, each with the values that were chosen for it."""
    conf, runs = overrides(words, several=several)
    return [(chosen, validate(compose(chosen, conf=conf))) for chosen in runs]


def read_run(words: Sequence[str]) -> RunConfig:
    """The one run that a command line asks for."""
    ((_, config),) = read_runs(words)
    return config
