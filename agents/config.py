"""What model, documents, sandbox and architecture are made from: declared here, once.

Runs (`experiments.config.RunConfig`) and the assistant (`agents.assistant`) add their own keys.
"""

from __future__ import annotations

import importlib
import inspect
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

from agents.budget import Budget
from agents.models import ModelConfig
from retrieval.config import RetrievalConfig
from sandbox.base import SandboxConfig
from sandbox.command import UsageError, unknown_key

#: What a runtime hands to every system itself; never a key of the configuration.
INJECTED = frozenset({"self", "parts"})

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
    writer: Literal["rules", "model"] = Field(
        "rules",
        description="who writes documentation that is not there yet: rules (no LLM, free) or "
        "model (the chat model: thousands of calls)",
    )
    budget: Budget = Field(default_factory=Budget, description="limits for one question")

    @model_validator(mode="after")
    def _environment(self) -> Self:
        if "env" in self.sandbox.model_fields_set:
            raise ValueError("sandbox.env: no such key; the environment is not the sandbox's")
        return self


def validate(plain: Mapping[str, Any], kind: type[Config], targets: Sequence[str]) -> Config:
    """Check a composed configuration, constructor arguments of the classes included.

    Parameters
    ----------
    targets
        Groups that name a class.

    Returns
    -------
    RuntimeConfig
        As the architecture uses it: one that retrieves nothing is the same with every
        ``retrieval``; one that is made for a mode of retrieval (``graphrag``) uses that mode of
        whatever source is configured.

    Raises
    ------
    UsageError
        With one line that names the key.
    """
    try:
        config = kind.model_validate(plain)
    except ValidationError as error:
        raise UsageError(describe(error, kind)) from error
    for group in targets:
        _check_parameters(group, getattr(config, group))
    cls = load_class(config.system.target, key="system")
    retrieval, mode = config.retrieval, getattr(cls, "retrieval_mode", None)
    if not getattr(cls, "uses_retrieval", True):
        return config.model_copy(update={"retrieval": RetrievalConfig(name="none")})
    if mode is None or retrieval.source == "none" or retrieval.mode == mode:
        return config
    changed = {
        "name": f"{retrieval.name}_{mode}",
        "mode": mode,
        "default_embedding": retrieval.default_embedding or "hashing",
    }
    return config.model_copy(update={"retrieval": retrieval.model_copy(update=changed)})


def load_class(target: str, *, key: str) -> type[Any]:
    """Import the class that ``_target_`` names.

    Raises
    ------
    UsageError
        When there is no such class.
    """
    module_name, _, class_name = target.rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"{key}._target_={target}: cannot be imported ({error})") from error
    if not inspect.isclass(found):
        raise UsageError(f"{key}._target_={target}: is not a class")
    return found


def _check_parameters(key: str, target: Target) -> None:
    """Compare the keys and values of a group with the constructor of its class."""
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
            raise UsageError(unknown_key(f"{key}.{name}", [f"{key}.{p}" for p in parameters]))
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
        raise UsageError(describe(error, checker, prefix=f"{key}.")) from error


def describe(error: ValidationError, kind: type[BaseModel], prefix: str = "") -> str:
    """The first fault as one line: key, value, what would be valid."""
    first = error.errors(include_url=False)[0]
    path = [str(part) for part in first["loc"]]
    key = prefix + ".".join(path)
    if first["type"] == "extra_forbidden":
        parent = ".".join(path[:-1])
        names = declared_keys(kind, parent)
        return unknown_key(key, [prefix + f"{parent}.{n}".lstrip(".") for n in names])
    message = first["msg"].removeprefix("Value error, ")
    if not path:
        return message
    if first["type"] == "missing":
        return f"{key}: must be given"
    return f"{key}={first['input']}: {message[0].lower()}{message[1:]}"


def declared_keys(kind: type[BaseModel], parent: str) -> list[str]:
    """Keys that ``kind`` declares in ``parent`` (``retrieval.evidence``); none for a class's."""
    model: object = kind
    for part in parent.split(".") if parent else ():
        if not (inspect.isclass(model) and issubclass(model, BaseModel)):
            return []
        if part not in model.model_fields:
            return []
        model = model.model_fields[part].annotation
    if not (inspect.isclass(model) and issubclass(model, BaseModel)):
        return []
    return [] if model.model_config.get("extra") == "allow" else list(model.model_fields)
