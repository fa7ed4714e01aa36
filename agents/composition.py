"""The configuration of a command from its words, and the help that lists what it can be."""

from __future__ import annotations

import inspect
import os
import re
import typing
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from agents.config import parameters_of
from matsmith.core.command import HELP
from matsmith.core.configuration import DEFAULTS, Conf, expand, merged, pairs

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


def default_model(environment: Mapping[str, str] = os.environ) -> str:
    """``openai`` when there is a key or an endpoint for it, else ``recorded``."""
    given = environment.get("OPENAI_API_KEY") or environment.get("OPENAI_BASE_URL")
    return "openai" if given else "recorded"


def overrides(words: Sequence[str], *, several: bool = False) -> tuple[Conf, list[dict[str, str]]]:
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
    lines += ["", "GROUP=CHOICE --help shows the keys of a choice.", "", "keys [default]:"]
    for key, field in kind.model_fields.items():
        nested = field.annotation
        if key in defaults and key != "sandbox":
            continue
        if _is_model(nested):
            lines.append(f"  {key + '.*':<{_WIDTH}} {field.description}:")
            lines += [f"  {line}" for line in _fields(key, nested, base.get(key, {}))]
        else:
            lines += _fields("", kind, base, only=key)
    return "\n".join(lines)


def choice_help(words: Sequence[str], kind: type[BaseModel]) -> str:
    """The keys of each ``GROUP=CHOICE`` among the words, with defaults; empty without any."""
    conf, (given,) = overrides([w for w in words if w not in {*HELP, "-m", "--multirun", "--cfg"}])
    lines = []
    for group in given.keys() & conf.groups().keys():
        content = merged(conf.read(group, given[group]))
        content.pop(DEFAULTS, None)
        lines += [f"{group}={given[group]}"]
        found, parameters = parameters_of(group, content)
        about = _COMMON | described(found) | conf.remarks(group, given[group])
        for name, parameter in parameters.items():
            default = content.pop(name, parameter.default)
            lines.append(_line(f"{group}.{name}", about.get(name, ""), default))
        if "_target_" in content:
            continue
        annotation = kind.model_fields[group].annotation
        declared = next(
            (k for k in (annotation, *typing.get_args(annotation)) if _is_model(k)), None
        )
        if declared is None or declared.model_config.get("extra") == "allow":
            lines += [_line(f"{group}.{n}", about.get(n, ""), v) for n, v in content.items()]
        else:
            lines += _fields(group, declared, content, known=about)
    return "\n".join(lines)


def _is_model(found: object) -> TypeGuard[type[BaseModel]]:
    return inspect.isclass(found) and issubclass(found, BaseModel)


def described(target: Any) -> dict[str, str]:
    """What the numpy docstrings of a function, or a class and its bases, say of parameters."""
    found: dict[str, str] = {}
    names: list[str] = []
    plain = [vars(base).get("__doc__") for base in getattr(target, "__mro__", ())]
    texts = [inspect.cleandoc(text or "") for text in plain or [target.__doc__]]
    for line in "\n".join(reversed(texts)).splitlines():
        if re.fullmatch(r"[\w, ]+", line) and not line.startswith(" "):
            names = [name.strip() for name in line.split(",")]
        elif line.startswith("    "):
            found |= {name: f"{found.get(name, '')} {line.strip()}".strip() for name in names}
        else:
            names = []
    return found


def _fields(
    group: str,
    kind: type[BaseModel],
    values: Mapping[str, Any],
    only: str | None = None,
    known: Mapping[str, str] = {},
) -> list[str]:
    about = {**known, **described(kind)}
    lines = []
    for name, field in kind.model_fields.items():
        key = f"{group}.{name}".lstrip(".")
        if key not in _NOT_KEYS and only in (None, name):
            default = values.get(name, field.get_default(call_default_factory=True))
            lines.append(_line(key, field.description or about.get(name, ""), default))
    return lines


def _line(key: str, about: str, default: object) -> str:
    if isinstance(default, list | tuple):
        default = ",".join(map(str, default))
    missing = default in (inspect.Parameter.empty, PydanticUndefined)
    shown = "none" if default in (None, {}, "") else default
    about = re.sub(r"(?::\w+:)?`+~?([^`]+)`+", r"\1", about)
    return f"  {key:<{_WIDTH}} {about} {'(required)' if missing else f'[{shown}]'}"
