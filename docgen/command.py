"""Commands with ``key=value`` arguments: read, checked, explained; their configured parts."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hydra.utils import get_method
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticUndefined
from yaml import YAMLError

from sandbox.environments import cache_folder
from sandbox.terminal import printable

if TYPE_CHECKING:  # slow to import
    from langchain_core.language_models import BaseChatModel

CONF = Path(__file__).resolve().parent.parent / "conf"
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
        print(f"\n{program}: stopped; the same command resumes", file=sys.stderr)
        return 130


def read_group(group: str, name: str, overrides: dict[str, Any]) -> dict[str, Any]:
    """The configuration ``conf/<group>/<name>.yaml`` with overrides.

    Raises
    ------
    UsageError
        When there is no such configuration.
    """
    path = CONF / group / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in (CONF / group).glob("*.yaml")))
        raise UsageError(f"{group}={name}: no such configuration; valid ones: {known}")
    merged = OmegaConf.merge(OmegaConf.load(path), OmegaConf.create(overrides))
    content = OmegaConf.to_container(merged, resolve=True)
    return {str(key): value for key, value in content.items()} if isinstance(content, dict) else {}


@asynccontextmanager
async def open_model(
    name: str, overrides: dict[str, Any], *, concurrency: int = 8, priced: bool = False
) -> AsyncIterator[BaseChatModel]:
    """The chat model ``conf/model/<name>.yaml``, open for as long as the context lasts.

    Its ``name`` is the one under which its texts are stored. ``conf/chat.yaml`` says who builds
    it: chat models live in ``agents``, which is not imported from here.

    Parameters
    ----------
    priced
        Whether its cost is to be limited, for which its price must be known.

    Raises
    ------
    UsageError
        When there is no such configuration, or nothing can be built from it.
    """
    config = read_group("model", name, overrides)
    build = get_method(str(OmegaConf.select(OmegaConf.load(CONF / "chat.yaml"), "_target_")))
    opened = build(config, concurrency=concurrency, cache=cache_folder(), priced=priced)
    async with AsyncExitStack() as stack:
        try:
            model: BaseChatModel = await stack.enter_async_context(opened)
        except ValueError as error:
            raise UsageError(f"model={name}: {error}") from error
        yield model


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
