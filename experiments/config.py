"""The configuration of a run: composed by Hydra, checked here, frozen from then on.

Hydra only merges text; whether a value makes sense is decided by the models of this module,
whose errors name the key as a user types it.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import typing
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    create_model,
    field_validator,
)

from agents.models import ModelConfig
from retrieval.config import RetrievalConfig

#: What `experiments.run` hands to every system itself; never a key of the configuration.
INJECTED = frozenset({"self", "parts"})

#: Keys that change how a run is done, not what one answer is: not part of the hash.
#: A budget decides whether there is an answer, not which: what a limit ended is not scored.
UNHASHED = ("seeds", "limit", "ids", "concurrency", "budget", "run_budget", "out", "name")


#: What does not change an answer of a model either.
UNHASHED_MODEL = ("timeout", "max_retries", "cache", "record", "replay")


class ConfigError(Exception):
    """The user's configuration is wrong; one line that names the key and what is valid."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(_Strict):
    """Limits on spending; ``None`` means no limit."""

    calls: NonNegativeInt | None = Field(None, description="model calls")
    tokens: NonNegativeInt | None = Field(None, description="prompt and completion tokens")
    cost_usd: NonNegativeFloat | None = Field(None, description="US dollars")
    seconds: NonNegativeFloat | None = Field(None, description="wall time")
    sandbox_seconds: NonNegativeFloat | None = Field(None, description="time in the sandbox")


class SandboxSettings(_Strict):
    """Group ``sandbox``; the environment is the benchmark's, not the user's."""

    backend: str
    workers: PositiveInt = Field(2, description="warm workers")
    timeout: PositiveFloat = Field(60.0, description="seconds of processor time per execution")
    wall_factor: NonNegativeFloat = Field(4.0, description="wall time: factor * timeout + seconds")
    wall_seconds: NonNegativeFloat = Field(30.0, description="see wall_factor")
    memory_mb: PositiveInt = Field(2048, description="memory of one execution")
    max_processes: PositiveInt = Field(64, description="processes of one execution")
    disk_mb: PositiveInt = Field(64, description="scratch space of one execution")
    options: Mapping[str, Any] = Field(default_factory=dict, description="for the backend")


class Target(BaseModel):
    """A group whose YAML names a class: ``_target_``, ``name`` and constructor arguments."""

    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True)

    name: str
    target: str = Field(alias="_target_")

    @property
    def params(self) -> dict[str, Any]:
        """The arguments for the constructor."""
        return dict(self.model_extra or {})


class Named(BaseModel):
    """A group that is checked where it is built (embedding)."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str


class RunConfig(_Strict):
    """Everything that decides a run."""

    system: Target = Field(description="the architecture under test")
    retrieval: RetrievalConfig = Field(description="what the architecture may look up")
    benchmark: Target = Field(description="the questions")
    model: ModelConfig = Field(description="the chat model; openai when OPENAI_API_KEY is set")
    judge: ModelConfig | None = Field(
        None, description="a model that judges prose, where a benchmark needs one"
    )
    embedding: Named = Field(description="vectors for dense retrieval")
    sandbox: SandboxSettings = Field(description="where model-written code runs")
    seeds: tuple[int, ...] = Field((0,), description="a count (3) or a list ([0,1,2])")
    limit: PositiveInt | None = Field(None, description="only the first N questions")
    ids: tuple[str, ...] = Field((), description="only these questions: ids=[a,b]")
    concurrency: PositiveInt = Field(4, description="questions, and model calls, in flight")
    strict: bool = Field(False, description="accept only the published answer format")
    writer: Literal["rules", "model"] = Field(
        "rules",
        description="who writes documentation that is not there yet: rules (no LLM, free) or "
        "model (the chat model: thousands of calls)",
    )
    budget: Limits = Field(default_factory=Limits, description="limits for one question")
    run_budget: Limits = Field(default_factory=Limits, description="limits for the whole run")
    out: Path | None = Field(None, description="run folder; default runs/<what it is>-<hash>")
    name: str | None = Field(None, description="put in front of the default folder's name")

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
        if value is not None and (not value or set(value) & set("/\\\0") or value.startswith(".")):
            raise ValueError("must be usable as a file name")
        return value

    def plain(self) -> dict[str, Any]:
        """The configuration as JSON-able data, keys as a user types them."""
        return self.model_dump(mode="json", by_alias=True)

    def hash(self, samples_digest: str) -> str:
        """Name of everything that decides one answer: configuration and questions.

        Parameters
        ----------
        samples_digest
            Digest of the whole benchmark, so that changed questions never resume old rows.
        """
        plain = self.plain()
        for key in UNHASHED:
            del plain[key]
        # More workers are faster, not different.
        del plain["sandbox"]["workers"]
        for model in filter(None, (plain["model"], plain["judge"])):
            for key in UNHASHED_MODEL:
                del model[key]
        text = json.dumps([plain, samples_digest], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def validate(plain: Mapping[str, Any]) -> RunConfig:
    """Check a composed configuration, constructor arguments of the classes included.

    Raises
    ------
    ConfigError
        With one line that names the key.
    """
    try:
        config = RunConfig.model_validate(plain)
    except ValidationError as error:
        raise ConfigError(describe(error)) from error
    for group in ("system", "benchmark"):
        check_parameters(group, getattr(config, group))
    return config


def load_class(target: str, *, key: str) -> type[Any]:
    """Import the class that ``_target_`` names.

    Raises
    ------
    ConfigError
        When there is no such class.
    """
    module_name, _, class_name = target.rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{key}._target_={target}: cannot be imported ({error})") from error
    if not inspect.isclass(found):
        raise ConfigError(f"{key}._target_={target}: is not a class")
    return found


def check_parameters(key: str, target: Target) -> None:
    """Compare the keys and values of a group with the constructor of its class.

    Raises
    ------
    ConfigError
        For an argument that the constructor does not take, or a value of the wrong type.
    """
    cls = load_class(target.target, key=key)
    constructor = cls.__init__
    hints = typing.get_type_hints(constructor, include_extras=True)
    parameters = {
        name: parameter
        for name, parameter in inspect.signature(constructor).parameters.items()
        if name not in INJECTED
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    }
    for name in target.params:
        if name not in parameters:
            raise ConfigError(unknown_key(f"{key}.{name}", [f"{key}.{p}" for p in parameters]))
    fields: dict[str, Any] = {
        name: (
            hints.get(name, Any),
            ... if parameter.default is parameter.empty else parameter.default,
        )
        for name, parameter in parameters.items()
    }
    checker = create_model(
        f"{cls.__name__}Parameters",
        __config__=ConfigDict(arbitrary_types_allowed=True, protected_namespaces=()),
        **fields,
    )
    try:
        checker.model_validate(target.params)
    except ValidationError as error:
        raise ConfigError(describe(error, prefix=f"{key}.")) from error


def effective(config: RunConfig) -> RunConfig:
    """The configuration as the architecture uses it.

    One that retrieves nothing is the same run with every ``retrieval``; one that is made for a
    mode of retrieval (``graphrag``) uses that mode of whatever source is configured.
    """
    cls = load_class(config.system.target, key="system")
    retrieval = config.retrieval
    if not getattr(cls, "uses_retrieval", True):
        return config.model_copy(update={"retrieval": RetrievalConfig(name="none")})
    mode = getattr(cls, "retrieval_mode", None)
    if mode is None or retrieval.source == "none" or retrieval.mode == mode:
        return config
    changed = {
        "name": f"{retrieval.name}_{mode}",
        "mode": mode,
        "default_embedding": retrieval.default_embedding or "hashing",
    }
    return config.model_copy(update={"retrieval": retrieval.model_copy(update=changed)})


def describe(error: ValidationError, prefix: str = "") -> str:
    """The first fault as one line: key, value, what would be valid."""
    first = error.errors(include_url=False)[0]
    path = [str(part) for part in first["loc"]]
    key = prefix + ".".join(path)
    if first["type"] == "extra_forbidden":
        valid = _siblings(path)
        return unknown_key(key, [prefix + name for name in valid])
    if first["type"] == "missing":
        return f"{key}: must be given"
    message = first["msg"].removeprefix("Value error, ")
    return f"{key}={first['input']}: {message[0].lower()}{message[1:]}"


def _siblings(path: Sequence[str]) -> list[str]:
    """The valid keys next to ``path`` in `RunConfig`."""
    model: Any = RunConfig
    for part in path[:-1]:
        model = model.model_fields[part].annotation
    parents = ".".join(path[:-1])
    return [f"{parents}.{name}" if parents else name for name in model.model_fields]


def declared_keys(parent: str) -> list[str]:
    """Keys that `RunConfig` declares in ``parent`` (``retrieval.evidence``); none for a class's."""
    model: object = RunConfig
    for part in parent.split("."):
        if not (inspect.isclass(model) and issubclass(model, BaseModel)):
            return []
        if part not in model.model_fields:
            return []
        model = model.model_fields[part].annotation
    if not (inspect.isclass(model) and issubclass(model, BaseModel)):
        return []
    return [] if model.model_config.get("extra") == "allow" else list(model.model_fields)


def unknown_key(key: str, valid: Iterable[str]) -> str:
    """One line about a key that does not exist."""
    choices = sorted(valid)
    near = get_close_matches(key, choices, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    listed = ", ".join(choices) or "none"
    return f"{key}: no such key{hint}; valid keys: {listed}"
