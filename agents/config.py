"""What model, documents, sandbox and architecture are made from: declared here, once.

Composed from the words of a command, checked, and listed in its help. Runs
(`experiments.run.config.RunConfig`) and the assistant (`agents.assistant`) add their own keys.
"""

from __future__ import annotations

import inspect
import os
import re
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticUndefined

from agents.base import Agent
from agents.budget import Budget
from agents.models import ModelConfig
from agents.templates import Templates, read_templates
from foundation.command import HELP
from foundation.configuration import DEFAULTS, Conf, expand, merged, pairs
from foundation.errors import UsageError
from foundation.targets import (
    checked,
    describe,
    is_model,
    load,
    parameters,
    unknown_key,
)
from retrieval.config import RetrievalConfig, own_source
from sandbox.base import SandboxConfig

#: How many arguments of a constructor are handed over by a runtime: `agents.episode.Context`.
INJECTED = {"system": 1}
#: Positions in ``--help``.
_WIDTH = 22
#: What is said of keys that many choices have.
_COMMON = {
    "name": "What it is called in tables and folders.",
    "packages": "Import names of the libraries whose documents are searched.",
    "provider": "Who makes the vectors.",
    "seed": "Which questions are drawn.",
}
#: Of a sandbox: chosen by the group, and by what is asked.
_NOT_KEYS = ("sandbox.backend", "sandbox.env")

Config = TypeVar("Config", bound="RuntimeConfig")


class NamedGroup(BaseModel, extra="allow", frozen=True):
    """A group that is checked where it is built (embedding)."""

    name: str


class Target(NamedGroup, populate_by_name=True):
    """A group whose YAML names a class: ``_target_``, ``name`` and constructor arguments."""

    target: str = Field(alias="_target_")

    @property
    def params(self) -> dict[str, Any]:
        """The arguments for the constructor."""
        return dict(self.model_extra or {})


#: Groups with a class only where somebody chose one; ``None`` is what is built in.
OPTIONAL = ("ranking", "reranker")


class RuntimeConfig(BaseModel, extra="forbid", frozen=True):
    """Everything that a :class:`agents.runtime.Runtime` is made from."""

    system: Target = Field(description="the architecture under test")
    retrieval: RetrievalConfig = Field(
        description="documents that the architecture may look up"
    )
    model: ModelConfig = Field(
        description="the chat model; openai when OPENAI_API_KEY is set"
    )
    embedding: NamedGroup = Field(description="vectors for dense retrieval")
    ranking: Target | None = Field(None, description="how documents are ranked")
    reranker: Target | None = Field(None, description="reorders the best documents")
    prompts: Templates | None = Field(
        None, description="templates of prompts; prompts=FOLDER replaces single ones"
    )
    sandbox: SandboxConfig = Field(description="where model-written code runs")
    strict: bool = Field(False, description="accept only the published answer format")
    writer: Literal["facts", "model"] = Field(
        "facts",
        description="who writes documentation that is not there yet: facts (free) or "
        "model (the chat model: thousands of calls)",
    )
    budget: Budget = Field(
        default_factory=Budget, description="limits for one question"
    )

    @field_validator(*OPTIONAL, mode="before")
    @classmethod
    def _built_in(cls, value: object, info: ValidationInfo) -> object:
        if not isinstance(value, Mapping) or "_target_" in value:
            return value
        if keys := value.keys() - {"name"}:
            key = f"{info.field_name}.{min(keys)}"
            raise UsageError(unknown_key(key, []) + f" of {value.get('name')}")
        return None

    @field_validator("prompts", mode="before")
    @classmethod
    def _templates(cls, value: object) -> object:
        return read_templates(value) if isinstance(value, Mapping) else value

    @model_validator(mode="after")
    def _environment(self) -> Self:
        if "env" in self.sandbox.model_fields_set:
            raise ValueError(
                "sandbox.env: no such key; the environment is not the sandbox's"
            )
        return self


def validate(
    plain: Mapping[str, Any], kind: type[Config], targets: Sequence[str]
) -> Config:
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
    config = config.model_copy(update={**complete, **_chosen(config)})
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


def content_of(choice: NamedGroup | None) -> dict[str, Any]:
    """What the file of a choice would hold; nothing where none was made."""
    return {} if choice is None else choice.model_dump(by_alias=True)


def _chosen(config: RuntimeConfig) -> dict[str, NamedGroup]:
    """Groups with a class that a user chose, all its parameters written out."""
    groups: dict[str, NamedGroup] = {}
    for group in ("embedding", *OPTIONAL):
        choice: NamedGroup | None = getattr(config, group)
        content = content_of(choice)
        if choice is None or "_target_" not in content:
            continue
        target, name = content.pop("_target_"), content.pop("name")
        values = checked(group, load(target, key=group), content)
        whole = {"name": name, "_target_": target, **values}
        groups[group] = type(choice).model_validate(whole)
    return groups


def load_system(config: RuntimeConfig) -> type[Agent]:
    """The architecture that is configured."""
    system = load(config.system.target, key="system._target_")
    if not (inspect.isclass(system) and issubclass(system, Agent)):
        raise UsageError(
            f"system._target_={config.system.target}: does not derive from agents.base.Agent"
        )
    return system


def parameters_of(group: str, content: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The class or function that a choice names, and its parameters; none where it names none."""
    if group == "retrieval":
        return own_source(content)
    if "_target_" not in content:
        return None, {}
    target = load(str(content["_target_"]), key=f"{group}._target_")
    return target, parameters(target, INJECTED.get(group, 0))


def _placed(
    plain: Mapping[str, Any], kind: type[BaseModel], targets: Sequence[str]
) -> Mapping[str, Any]:
    """Keys that only a chosen class has, in its group: ``samples=3`` for ``system.samples=3``."""
    placed = dict(plain)
    for key in [key for key in plain if key not in kind.model_fields]:
        declared = {
            group: parameters_of(group, plain[group])[1]
            for group in (*targets, "retrieval")
        }
        groups = [group for group, names in declared.items() if key in names]
        if not groups:
            own = [
                f"{group}.{name}" for group, names in declared.items() for name in names
            ]
            raise UsageError(unknown_key(key, [*kind.model_fields, *own]))
        if len(groups) > 1:
            raise UsageError(
                f"{key}: which one? {' or '.join(f'{g}.{key}' for g in groups)}"
            )
        placed[groups[0]] = {**placed[groups[0]], key: placed.pop(key)}
    return placed


def default_model() -> str:
    """``openai`` when there is a key or an endpoint for it, else ``recorded``."""
    given = os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL")
    return "openai" if given else "recorded"


def overrides(
    words: Sequence[str], *, several: bool = False
) -> tuple[Conf, list[dict[str, str]]]:
    """Where choices are looked for, and what the words ask of each run."""
    conf, rest = Conf.of(words)
    return conf, list(expand(pairs(rest), several=several))


def compose(
    given: Mapping[str, str], *, root: str = "config", conf: Conf | None = None
) -> dict[str, Any]:
    """What ``conf/<root>.yaml`` and overrides say, not checked yet."""
    if "model" not in given:
        endpoint = given.keys() & {"model.base_url", "model.name"}
        given = {"model": "openai" if endpoint else default_model(), **given}
    return (conf or Conf.of(())[0]).compose(root, given)


def help_text(
    kind: type[BaseModel], usage: Sequence[str], *, root: str, model: str | None = None
) -> str:
    """Everything that one needs to use a command whose configuration is composed.

    ``usage`` are its first lines, ``conf/<root>.yaml`` is the file to begin with, and ``model``
    replaces the default that is shown.
    """
    conf, _ = Conf.of(())
    base, defaults = conf.root(root)
    defaults["model"] = model or default_model()
    known = conf.groups()
    lines = [*usage, "", "groups (GROUP=CHOICE; single values by GROUP.KEY=VALUE):"]
    for group in sorted(defaults):
        about = kind.model_fields[group].description
        lines.append(f"  {group:<{_WIDTH}} {about} [{defaults[group]}]")
        lines.append(f"  {'':<{_WIDTH}} choices: {', '.join(known[group])}")
    lines += [
        "",
        "GROUP=CHOICE --help shows the keys of a choice.",
        "",
        "keys [default]:",
    ]
    for key, field in kind.model_fields.items():
        nested = field.annotation
        if key in defaults and key != "sandbox":
            continue
        if is_model(nested):
            lines.append(f"  {key + '.*':<{_WIDTH}} {field.description}:")
            lines += [f"  {line}" for line in _fields(key, nested, base.get(key, {}))]
        else:
            default = base.get(key, field.get_default(call_default_factory=True))
            lines.append(_line(key, field.description or "", default))
    return "\n".join(lines)


def choice_help(words: Sequence[str], kind: type[BaseModel]) -> str:
    """The keys of each ``GROUP=CHOICE`` among the words, with defaults; empty without any."""
    conf, (given,) = overrides(
        [w for w in words if w not in {*HELP, "-m", "--multirun", "--cfg"}]
    )
    lines = []
    for group in given.keys() & conf.groups().keys():
        content = merged(conf.read(group, given[group]))
        content.pop(DEFAULTS, None)
        lines += [f"{group}={given[group]}"]
        found, parameters = parameters_of(group, content)
        about = _COMMON | _described(found) | conf.remarks(group, given[group])
        for name, parameter in parameters.items():
            default = content.pop(name, parameter.default)
            lines.append(_line(f"{group}.{name}", about.get(name, ""), default))
        if "_target_" in content:
            continue
        annotation = kind.model_fields[group].annotation
        declared = next(
            (k for k in (annotation, *typing.get_args(annotation)) if is_model(k)), None
        )
        if declared is None or declared.model_config.get("extra") == "allow":
            lines += [
                _line(f"{group}.{n}", about.get(n, ""), v) for n, v in content.items()
            ]
        else:
            lines += _fields(group, declared, content, known=about)
    return "\n".join(lines)


def _described(target: Any) -> dict[str, str]:
    """What the numpy docstrings of a function, or a class and its bases, say of parameters."""
    found: dict[str, str] = {}
    names: list[str] = []
    plain = [vars(base).get("__doc__") for base in getattr(target, "__mro__", ())]
    texts = [inspect.cleandoc(text or "") for text in plain or [target.__doc__]]
    for line in "\n".join(reversed(texts)).splitlines():
        if re.fullmatch(r"[\w, ]+", line) and not line.startswith(" "):
            names = [name.strip() for name in line.split(",")]
        elif line.startswith("    "):
            found |= {
                name: f"{found.get(name, '')} {line.strip()}".strip() for name in names
            }
        else:
            names = []
    return found


def _fields(
    group: str,
    kind: type[BaseModel],
    values: Mapping[str, Any],
    known: Mapping[str, str] = {},
) -> list[str]:
    about = {**known, **_described(kind)}
    lines = []
    for name, field in kind.model_fields.items():
        key = f"{group}.{name}"
        if key not in _NOT_KEYS:
            default = values.get(name, field.get_default(call_default_factory=True))
            lines.append(_line(key, field.description or about.get(name, ""), default))
    return lines


def _line(key: str, about: str, default: object) -> str:
    if isinstance(default, list | tuple):
        default = ",".join(map(str, default))
    missing = default in (inspect.Parameter.empty, PydanticUndefined)
    default_text = "none" if default in (None, {}, "") else default
    about = re.sub(r"(?::\w+:)?`+~?([^`]+)`+", r"\1", about)
    return (
        f"  {key:<{_WIDTH}} {about} {'(required)' if missing else f'[{default_text}]'}"
    )
