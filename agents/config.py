"""What model, documents, sandbox and architecture are made from: declared here, once.

Runs (`experiments.run.config.RunConfig`) and the assistant (`agents.assistant`) add their own keys.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from agents.base import Agent
from agents.budget import Budget
from agents.models import ModelConfig
from matsmith.core.errors import UsageError
from matsmith.core.faults import describe, unknown_key
from matsmith.core.targets import checked, load, parameters
from retrieval.config import RetrievalConfig, own_source
from sandbox.base import SandboxConfig

#: How many arguments of a constructor are handed over by a runtime: `agents.episode.Context`.
INJECTED = {"system": 1}

Config = TypeVar("Config", bound="RuntimeConfig")


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


class RuntimeConfig(BaseModel):
    """Everything that a :class:`agents.runtime.Runtime` is made from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    system: Target = Field(description="the architecture under test")
    retrieval: RetrievalConfig = Field(description="what the architecture may look up")
    model: ModelConfig = Field(description="the chat model; openai when OPENAI_API_KEY is set")
    embedding: Named = Field(description="vectors for dense retrieval")
    sandbox: SandboxConfig = Field(description="where model-written code runs")
    strict: bool = Field(False, description="accept only the published answer format")
    writer: Literal["facts", "model"] = Field(
        "facts",
        description="who writes documentation that is not there yet: facts (free) or "
        "model (the chat model: thousands of calls)",
    )
    budget: Budget = Field(default_factory=Budget, description="limits for one question")

    @model_validator(mode="after")
    def _environment(self) -> Self:
        if "env" in self.sandbox.model_fields_set:
            raise ValueError("sandbox.env: no such key; the environment is not the sandbox's")
        return self


def validate(plain: Mapping[str, Any], kind: type[Config], targets: Sequence[str]) -> Config:
    """Check a composed configuration, constructor arguments of the classes in ``targets`` included.

    Returned is what the architecture uses: one that retrieves nothing is the same with every
    ``retrieval``; one that is made for a mode of retrieval (``graphrag``) uses that mode of
    whatever source is configured. A `UsageError` names the key in one line.
    """
    try:
        config = kind.model_validate(_placed(plain, kind, targets))
    except ValidationError as error:
        raise UsageError(describe(error, kind)) from error
    complete: dict[str, Target] = {group: getattr(config, group) for group in targets}
    for group, target in complete.items():
        found = load(target.target, key=f"{group}._target_")
        values = checked(group, found, target.params, INJECTED.get(group, 0))
        whole = {"name": target.name, "_target_": target.target, **values}
        complete[group] = Target.model_validate(whole)
    config = config.model_copy(update=complete)
    cls = load_system(config)
    retrieval, mode = config.retrieval, cls.retrieval_mode
    if not cls.uses_retrieval:
        return config.model_copy(update={"retrieval": RetrievalConfig(name="none")})
    if mode is None or retrieval.source == "none" or retrieval.mode == mode:
        return config
    changed = {
        "name": f"{retrieval.name}_{mode}",
        "mode": mode,
        "default_embedding": retrieval.default_embedding or "hashing",
    }
    return config.model_copy(update={"retrieval": retrieval.model_copy(update=changed)})


def load_system(config: RuntimeConfig) -> type[Agent]:
    """The architecture that is configured."""
    found = load(config.system.target, key="system._target_")
    if not (inspect.isclass(found) and issubclass(found, Agent)):
        raise UsageError(
            f"system._target_={config.system.target}: does not derive from agents.base.Agent"
        )
    return found


def parameters_of(group: str, content: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The class or function that a choice names, and its parameters; none where it names none."""
    if group == "retrieval":
        return own_source(content)
    if "_target_" not in content:
        return None, {}
    found = load(str(content["_target_"]), key=f"{group}._target_")
    return found, parameters(found, INJECTED.get(group, 0))


def _placed(
    plain: Mapping[str, Any], kind: type[BaseModel], targets: Sequence[str]
) -> Mapping[str, Any]:
    """Keys that only a chosen class has, in its group: ``samples=3`` for ``system.samples=3``."""
    placed = dict(plain)
    for key in [key for key in plain if key not in kind.model_fields]:
        declared = {
            group: parameters_of(group, plain[group])[1] for group in (*targets, "retrieval")
        }
        groups = [group for group, names in declared.items() if key in names]
        if not groups:
            own = [f"{group}.{name}" for group, names in declared.items() for name in names]
            raise UsageError(unknown_key(key, [*kind.model_fields, *own]))
        if len(groups) > 1:
            raise UsageError(f"{key}: which one? {' or '.join(f'{g}.{key}' for g in groups)}")
        placed[groups[0]] = {**placed[groups[0]], key: placed.pop(key)}
    return placed
