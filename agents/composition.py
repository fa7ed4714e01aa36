"""Composes a configuration from ``conf/``: Hydra's groups and overrides, without its tracebacks.

Hydra composes, :mod:`agents.config` validates. Overrides are looked at before Hydra sees them, so
that a wrong choice or key is answered with the valid ones.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel

from agents.budget import Budget
from agents.config import declared_keys
from sandbox.base import SandboxConfig
from sandbox.command import CONF, UsageError, unknown_key

#: Positions in ``--help``.
_WIDTH = 22
#: Of a sandbox: chosen by the group, and by what is asked.
_NOT_KEYS = ("backend", "env")


def groups(conf: Path = CONF) -> dict[str, list[str]]:
    """Each configuration group and its choices."""
    return {
        folder.name: sorted(path.stem for path in folder.glob("*.yaml"))
        for folder in sorted(conf.iterdir())
        if folder.is_dir()
    }


def default_model(environment: Mapping[str, str] = os.environ) -> str:
    """``openai`` when there is a key or an endpoint for it, else ``rules``."""
    given = environment.get("OPENAI_API_KEY") or environment.get("OPENAI_BASE_URL")
    return "openai" if given else "rules"


def help_text(
    kind: type[BaseModel],
    usage: Sequence[str],
    *,
    root: str,
    conf: Path = CONF,
    model: str | None = None,
) -> str:
    """Everything that one needs to use a command whose configuration is composed.

    Parameters
    ----------
    kind, root
        As for `compose_plain`.
    usage
        Its first lines.
    model
        Replaces the default that is shown.
    """
    fields = kind.model_fields
    known = {group: choices for group, choices in groups(conf).items() if group in fields}
    lines = [*usage, "", "groups (GROUP=CHOICE; single values by GROUP.KEY=VALUE):"]
    base = OmegaConf.to_container(OmegaConf.load(conf / f"{root}.yaml"))
    if not isinstance(base, dict):
        raise TypeError(f"{root}.yaml is not a mapping")
    defaults = {str(k): v for entry in base["defaults"] if isinstance(entry, dict)
                for k, v in entry.items()} | {"model": model or default_model()}  # fmt: skip
    for group, choices in known.items():
        lines.append(f"  {group:<{_WIDTH}} {fields[group].description} [{defaults[group]}]")
        lines.append(f"  {'':<{_WIDTH}} choices: {', '.join(choices)}")
    lines += ["", "keys [default]:"]
    for key, field in fields.items():
        if key in known:
            continue
        default = base.get(key, field.get_default(call_default_factory=True))
        if field.annotation is Budget:
            lines += _nested_help(key, Budget, default, str(field.description))
        else:
            lines.append(f"  {key:<{_WIDTH}} {field.description} [{_show(default)}]")
    limits = base.get("sandbox", {})
    return "\n".join(
        lines + _nested_help("sandbox", SandboxConfig, limits, "limits of one execution")
    )


def _nested_help(
    key: str, model: type[BaseModel], values: Mapping[str, Any], about: str
) -> list[str]:
    lines = [f"  {key + '.*':<{_WIDTH}} {about}:"]
    for name, field in model.model_fields.items():
        if name not in _NOT_KEYS:
            default = values.get(name, field.get_default(call_default_factory=True))
            lines.append(f"    {key + '.' + name:<{_WIDTH}} {field.description} [{_show(default)}]")
    return lines


def _show(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value)) or "none"
    return "none" if value in (None, {}) else str(value)


def parse(arguments: Sequence[str], conf: Path = CONF) -> list[Override]:
    """Read overrides and check group choices and keys against what exists.

    Raises
    ------
    UsageError
        For anything that does not name an existing group, choice or key.
    """
    parser = OverridesParser.create()
    known = groups(conf)
    overrides = []
    for argument in arguments:
        if argument.startswith("-"):
            raise UsageError(f"{argument}: no such option; --help shows them")
        try:
            override = parser.parse_override(argument)
        except HydraException as error:
            reason = str(error).splitlines()[0]
            raise UsageError(
                f"{argument}: cannot be read as KEY=VALUE ({reason}); "
                "put quotes around values with special characters"
            ) from error
        key = str(override.key_or_group)
        if key.startswith("hydra"):  # of Hydra only the composition is used
            raise UsageError(
                f"{argument}: Hydra's launchers and settings are not used; launcher=dask and "
                "launcher=slurm spread questions over processes and machines (docs/cluster.md)"
            )
        if key in known:
            _check_choice(override, key, known[key])
        overrides.append(override)
    return overrides


def _check_choice(override: Override, group: str, choices: Sequence[str]) -> None:
    values = _values(override)
    for value in values:
        if value not in choices:
            raise UsageError(f"{group}={value}: no such choice; choose from {', '.join(choices)}")


def _values(override: Override) -> list[str]:
    if override.is_sweep_override():
        return [str(value).strip("'\"") for value in override.sweep_string_iterator()]
    return [str(override.value())]


def expand(overrides: Sequence[Override], *, multirun: bool) -> Iterator[list[str]]:
    """The overrides of each run: one run, or with ``-m`` every combination.

    Raises
    ------
    UsageError
        For several values without ``-m``.
    """
    lists = []
    for override in overrides:
        if not override.is_sweep_override():
            lists.append([str(override.input_line)])
        elif not multirun:
            raise UsageError(f"{override.input_line}: several values; add -m to run each of them")
        else:
            key = override.get_key_element()
            lists.append([f"{key}={value}" for value in override.sweep_string_iterator()])
    for combination in itertools.product(*lists):
        yield list(combination)


def compose_plain(
    overrides: Sequence[str], conf: Path = CONF, *, kind: type[BaseModel], root: str = "config"
) -> dict[str, Any]:
    """Let Hydra merge the files and the overrides; plain data, interpolations resolved.

    Parameters
    ----------
    kind
        What is made of it: its keys can be set whether or not a file lists them.
    root
        The file to begin with, ``conf/<root>.yaml``.

    Raises
    ------
    UsageError
        For an unknown key, or whatever else Hydra refuses.
    """
    parser = OverridesParser.create()
    known = groups(conf)
    parsed = [parser.parse_override(text) for text in overrides]
    chosen = {str(override.key_or_group) for override in parsed}
    lines = list(overrides)
    if "model" not in chosen:
        endpoint = chosen & {"model.base_url", "model.name"}
        lines.insert(0, f"model={'openai' if endpoint else default_model()}")
    choices = [line for line in lines if line.split("=", 1)[0] in known]
    with initialize_config_dir(str(conf), version_base="1.3"):
        base = _compose(root, choices)
        for override in parsed:
            key = str(override.key_or_group)
            if key in known or override.is_add():
                continue
            parent, _, last = key.rpartition(".")
            if last in declared_keys(kind, parent):  # a file need not list every key that there is
                lines[lines.index(str(override.input_line))] = f"++{override.input_line}"
            else:
                _check_key(key, base, kind)
        return _compose(root, lines)


def _compose(root: str, lines: list[str]) -> dict[str, Any]:
    try:
        composed = OmegaConf.to_container(compose(root, lines), resolve=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise UsageError(" ".join(str(error).split())) from error
    if not isinstance(composed, dict):
        raise TypeError(f"{root}.yaml is not a mapping")
    return {str(key): value for key, value in composed.items()}


def _check_key(key: str, base: Mapping[str, Any], kind: type[BaseModel]) -> None:
    level: object = base
    path: list[str] = []
    for part in key.split("."):
        if not isinstance(level, Mapping):
            raise UsageError(f"{key}: {'.'.join(path)} is a value, it has no keys")
        if part not in level:
            names = declared_keys(kind, ".".join(path)) or [
                name for name in level if str(name)[0] != "_"
            ]
            siblings = [".".join([*path, str(name)]) for name in names]
            raise UsageError(unknown_key(key, siblings))
        level = level[part]
        path.append(part)
