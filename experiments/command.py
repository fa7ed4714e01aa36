"""Command line of the main job: Hydra's overrides, without Hydra's tracebacks.

Hydra composes, `experiments.config` validates. Overrides are looked at before Hydra sees
them, so that a wrong choice or key is answered with the valid ones.
"""

from __future__ import annotations

import itertools
import os
import sys
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

from experiments.config import (
    ConfigError,
    Limits,
    RunConfig,
    SandboxSettings,
    declared_keys,
    unknown_key,
)

CONF = Path(__file__).resolve().parents[1] / "conf"

#: Positions in ``--help``.
_WIDTH = 22

_EXAMPLES = """\
examples:
  python -m experiments.run                                the default: reflect + llm_doc
  python -m experiments.run system=single limit=5
  python -m experiments.run -m system=single,rag,reflect   one run each, one table
  python -m experiments.run model=openai model.name=gpt-4o-mini model.temperature=0.2
  python -m experiments.run model.base_url=http://localhost:11434/v1 model.name=qwen3
The same command resumes an interrupted run."""


def groups(conf: Path = CONF) -> dict[str, list[str]]:
    """Each configuration group and its choices."""
    return {
        folder.name: sorted(path.stem for path in folder.glob("*.yaml"))
        for folder in sorted(conf.iterdir())
        if folder.is_dir()
    }


def help_text(conf: Path = CONF, model: str | None = None) -> str:
    """Everything that one needs to use the command; ``model`` overrides the default shown."""
    fields = RunConfig.model_fields
    lines = [
        "usage: python -m experiments.run [-m] [--cfg] [GROUP=CHOICE ...] [KEY=VALUE ...]",
        "",
        "Runs a benchmark: question -> agent -> sandbox -> verification -> report.",
        "",
        "options:",
        f"  {'-m, --multirun':<{_WIDTH}} sweep over comma-separated values, one run each",
        f"  {'--cfg':<{_WIDTH}} print the composed configuration and stop",
        f"  {'-h, --help':<{_WIDTH}} this text",
        "",
        "groups (GROUP=CHOICE; single values by GROUP.KEY=VALUE, all of them with --cfg):",
    ]
    defaults = _default_choices(conf) | {"model": model or default_model()}
    for group, choices in groups(conf).items():
        about = fields[group].description if group in fields else ""
        lines.append(f"  {group:<{_WIDTH}} {about} [{defaults.get(group, '-')}]")
        lines.append(f"  {'':<{_WIDTH}} choices: {', '.join(choices)}")
    lines += ["", "keys [default]:"]
    base = OmegaConf.to_container(OmegaConf.load(conf / "config.yaml"))
    if not isinstance(base, dict):
        raise TypeError(f"{conf / 'config.yaml'} is not a mapping")
    for key, field in fields.items():
        if key in groups(conf):
            continue
        nested = Limits if field.annotation is Limits else None
        if nested is None:
            lines.append(f"  {key:<{_WIDTH}} {field.description} [{_show(base[key])}]")
        else:
            lines += _nested_help(key, nested, base[key], str(field.description))
    lines += _nested_help("sandbox", SandboxSettings, None, "limits of one execution")
    return "\n".join([*lines, "", _EXAMPLES])


def _nested_help(
    key: str, model: type[BaseModel], values: Mapping[str, Any] | None, about: str
) -> list[str]:
    lines = [f"  {key + '.*':<{_WIDTH}} {about}:"]
    for name, field in model.model_fields.items():
        if field.description is None:
            continue
        default = field.get_default(call_default_factory=True) if values is None else values[name]
        lines.append(f"    {key + '.' + name:<{_WIDTH}} {field.description} [{_show(default)}]")
    return lines


def _show(value: object) -> str:
    return "none" if value is None else str(value)


def _default_choices(conf: Path) -> dict[str, str]:
    listed = OmegaConf.to_container(OmegaConf.load(conf / "config.yaml"))
    entries = listed["defaults"] if isinstance(listed, dict) else []
    chosen = {key: str(name) for entry in entries if isinstance(entry, dict)
              for key, name in entry.items()}  # fmt: skip
    return {str(key): name for key, name in chosen.items()}


def default_model(environment: Mapping[str, str] = os.environ) -> str:
    """``openai`` when there is a key or an endpoint for it, else ``rules``."""
    given = environment.get("OPENAI_API_KEY") or environment.get("OPENAI_BASE_URL")
    return "openai" if given else "rules"


def parse(arguments: Sequence[str], conf: Path = CONF) -> list[Override]:
    """Read overrides and check group choices and keys against what exists.

    Raises
    ------
    ConfigError
        For anything that does not name an existing group, choice or key.
    """
    parser = OverridesParser.create()
    known = groups(conf)
    overrides = []
    for argument in arguments:
        if argument.startswith("-"):
            raise ConfigError(f"{argument}: no such option; --help shows them")
        try:
            override = parser.parse_override(argument)
        except HydraException as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(
                f"{argument}: cannot be read as KEY=VALUE ({reason}); "
                "put quotes around values with special characters"
            ) from error
        key = str(override.key_or_group)
        if key.startswith("hydra"):  # of Hydra only the composition is used
            raise ConfigError(
                f"{argument}: Hydra's launchers and settings are not used. A sweep (-m) executes "
                "its runs one after the other, each with concurrency=N questions at once; for "
                "more, start several commands in parallel: they share caches and indexes"
            )
        if key in known:
            _check_choice(override, key, known[key])
        overrides.append(override)
    return overrides


def _check_choice(override: Override, group: str, choices: Sequence[str]) -> None:
    values = _values(override)
    for value in values:
        if value not in choices:
            raise ConfigError(f"{group}={value}: no such choice; choose from {', '.join(choices)}")


def _values(override: Override) -> list[str]:
    if override.is_sweep_override():
        return [str(value).strip("'\"") for value in override.sweep_string_iterator()]
    return [str(override.value())]


def expand(overrides: Sequence[Override], *, multirun: bool) -> Iterator[list[str]]:
    """The overrides of each run: one run, or with ``-m`` every combination.

    Raises
    ------
    ConfigError
        For several values without ``-m``.
    """
    lists = []
    for override in overrides:
        if not override.is_sweep_override():
            lists.append([str(override.input_line)])
        elif not multirun:
            raise ConfigError(f"{override.input_line}: several values; add -m to run each of them")
        else:
            key = override.get_key_element()
            lists.append([f"{key}={value}" for value in override.sweep_string_iterator()])
    for combination in itertools.product(*lists):
        yield list(combination)


def compose_plain(overrides: Sequence[str], conf: Path = CONF) -> dict[str, Any]:
    """Let Hydra merge the files and the overrides; plain data, interpolations resolved.

    Raises
    ------
    ConfigError
        For an unknown key, or whatever else Hydra refuses.
    """
    parser = OverridesParser.create()
    known = groups(conf)
    parsed = [parser.parse_override(text) for text in overrides]
    chosen = {str(override.key_or_group) for override in parsed}
    lines = list(overrides)
    if "model" not in chosen:
        endpoint = "model.base_url" in chosen
        lines.insert(0, f"model={'openai' if endpoint else default_model()}")
    choices = [line for line in lines if line.split("=", 1)[0] in known]
    with initialize_config_dir(str(conf), version_base="1.3"):
        base = _compose(choices)
        for override in parsed:
            key = str(override.key_or_group)
            if key in known or override.is_add():
                continue
            parent, _, last = key.rpartition(".")
            if last in declared_keys(parent):  # a file need not list every key that there is
                lines[lines.index(str(override.input_line))] = f"++{override.input_line}"
            else:
                _check_key(key, base)
        return _compose(lines)


def _compose(lines: list[str]) -> dict[str, Any]:
    try:
        composed = OmegaConf.to_container(compose("config", lines), resolve=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(" ".join(str(error).split())) from error
    if not isinstance(composed, dict):
        raise TypeError("config.yaml is not a mapping")
    return {str(key): value for key, value in composed.items()}


def _check_key(key: str, base: Mapping[str, Any]) -> None:
    level: object = base
    path: list[str] = []
    for part in key.split("."):
        if not isinstance(level, Mapping):
            raise ConfigError(f"{key}: {'.'.join(path)} is a value, it has no keys")
        if part not in level:
            names = declared_keys(".".join(path)) or [name for name in level if str(name)[0] != "_"]
            siblings = [".".join([*path, str(name)]) for name in names]
            raise ConfigError(unknown_key(key, siblings))
        level = level[part]
        path.append(part)


def update_help(document: str, conf: Path = CONF) -> str:
    """Put the help text between the ``help`` marks of a document."""
    before, opening, rest = document.partition("-->\n```text\n")
    _, closing, after = rest.partition("\n```\n<!-- /help -->")
    if not (opening and closing):
        raise ValueError("no help marks in this document")
    return before + opening + help_text(conf, model="rules") + closing + after


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(update_help(Path(name).read_text()))
