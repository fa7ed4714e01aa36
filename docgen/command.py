"""Commands with ``key=value`` arguments: read, checked, explained."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticUndefined
from yaml import YAMLError

from sandbox.terminal import printable

Options = TypeVar("Options", bound=BaseModel)


class UsageError(Exception):
    """A user's mistake; the message names the key and the valid choices."""


def read_options(arguments: Sequence[str], model: type[Options]) -> Options:
    """Check ``key=value`` arguments against a pydantic model.

    Raises
    ------
    UsageError
        One line per mistake.
    """
    for argument in arguments:
        if "=" not in argument:
            raise UsageError(f"{argument!r}: write key=value; keys: {_keys(model)}")
    try:
        values = OmegaConf.to_container(OmegaConf.from_dotlist(list(arguments)), resolve=True)
    except (OmegaConfBaseException, YAMLError) as error:
        raise UsageError(f"cannot read the arguments: {error}") from None
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise UsageError("\n".join(_explain(m, model) for m in error.errors())) from None


def run(
    program: str,
    description: str,
    model: type[Options],
    action: Callable[[Options], int],
    arguments: Sequence[str] | None = None,
) -> int:
    """Run a command: help on ``--help``, exit code 2 and one line for a user's mistake."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if {"-h", "--help"}.intersection(given):
        print(f"{description}\n\nusage: {program} key=value ...\n\n{_help(model)}")
        return 0
    try:
        return action(read_options(given, model))
    except UsageError as error:
        print(f"{program}: {printable(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\n{program}: stopped; the same command goes on", file=sys.stderr)
        return 130


def _keys(model: type[BaseModel]) -> str:
    return ", ".join(model.model_fields)


def _help(model: type[BaseModel]) -> str:
    width = max(len(name) for name in model.model_fields)
    lines = []
    for name, field in model.model_fields.items():
        text = field.description or ""
        if field.default is not PydanticUndefined:
            text += f" (default: {_shown(field.default)})"
        else:
            text += " (required)"
        lines.append(f"  {name:{width}}  {text}")
    return "\n".join(lines)


def _shown(value: object) -> object:
    if value is None:
        return "none"
    return ",".join(map(str, value)) if isinstance(value, tuple) else value


def _explain(mistake: Any, model: type[BaseModel]) -> str:
    key = ".".join(str(part) for part in mistake["loc"])
    if mistake["type"] == "extra_forbidden":
        return f"{key}: no such key; keys: {_keys(model)}"
    if mistake["type"] == "missing":
        return f"{key}=...: is required"
    return f"{key}={mistake['input']}: {mistake['msg']}"
