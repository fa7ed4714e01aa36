"""Commands with ``key=value`` arguments: declared as a pydantic model, read, checked, explained.

Every command of the project ends with 0 (fine), 1 (something failed), 2 (the user has to change
something; one line says what) or 130 (interrupted). It lives in the lowest package because every
other one has commands.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Generic, TypeVar, get_origin

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, BeforeValidator, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from yaml import YAMLError

from sandbox.base import SandboxError
from sandbox.terminal import printable

CONF = Path(__file__).resolve().parent.parent / "conf"
INTERRUPTED = 130
HELP = frozenset({"-h", "--help"})
Options = TypeVar("Options", bound=BaseModel)


class UsageError(Exception):
    """A user's mistake; one line that names the key and what is valid."""


class Word:
    """Marks a field that is given without its name (``Annotated[Path, Word()]``).

    Fields take words in their order; a tuple takes all that are left.
    """


@dataclass(frozen=True)
class Group:
    """Content of ``conf/GROUP/NAME.yaml`` as ``GROUP=NAME GROUP.KEY=VALUE`` chooses it."""

    name: str
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names where several are chosen (``GROUP=A,B``)."""
        return tuple(filter(None, self.name.split(",")))

    def read(self, group: str) -> dict[str, Any]:
        """The configuration.

        Raises
        ------
        UsageError
            When there is none of this name.
        """
        return read_group(group, self.name, self.overrides)


def _listed(value: object) -> object:
    if isinstance(value, str):
        return value.split(",")
    return value if isinstance(value, list | tuple) else (value,)


#: Validator of a tuple that is written with commas.
Commas = BeforeValidator(_listed)


@dataclass(frozen=True)
class Command(Generic[Options]):
    """What a command takes and does.

    Attributes
    ----------
    options
        Its arguments.
    action
        Does it; returns the exit code.
    errors
        Exceptions, besides `UsageError` and `SandboxError`, whose text tells the user what to do.
    """

    program: str
    description: str
    options: type[Options]
    action: Callable[[Options], int | Coroutine[Any, Any, int]]
    errors: tuple[type[Exception], ...] = ()

    def __call__(self, arguments: Sequence[str] | None = None) -> int:
        """Run it; returns the exit code."""
        given = list(sys.argv[1:] if arguments is None else arguments)
        if HELP & set(given):
            print(self.help())
            return 0
        return guarded(lambda: self.action(read_options(given, self.options)), self.errors)

    def help(self) -> str:
        """What ``--help`` shows."""
        fields = self.options.model_fields
        words = [f"{name.upper()}{' ...' * _many(f)}" for name, f in fields.items() if _word(f)]
        named = ["key=value ..."] if len(words) < len(fields) else []
        usage = " ".join([f"usage: {self.program}", *words, *named])
        width = max((len(name) for name in fields), default=0)
        lines = [
            f"  {name.upper() if _word(each) else name:{width}}  {_about(each)}"
            for name, each in fields.items()
        ]
        return "\n".join([self.description.strip(), "", usage, "", *lines])


def run(
    program: str,
    description: str,
    options: type[Options],
    action: Callable[[Options], int | Coroutine[Any, Any, int]],
    arguments: Sequence[str] | None = None,
    *,
    errors: tuple[type[Exception], ...] = (),
) -> int:
    """Run a `Command` once."""
    return Command(program, description, options, action, errors)(arguments)


def run_one_of(
    program: str,
    description: str,
    commands: Mapping[str, Callable[[Sequence[str]], int]],
    arguments: Sequence[str] | None = None,
) -> int:
    """Run the command that the first word names."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in commands:
        return commands[given[0]](given[1:])
    listed = ", ".join(commands)
    if HELP & set(given):
        print(
            f"{description.strip()}\n\nusage: {program} COMMAND ...   ({listed}; each has --help)"
        )
        return 0
    said = f"no command {given[0]!r}; there are" if given else f"{program} needs a command"
    return refuse(f"{said}: {listed}")


def guarded(
    action: Callable[[], int | Coroutine[Any, Any, int]],
    errors: tuple[type[Exception], ...] = (),
) -> int:
    """Do something and return its exit code; a user's mistake becomes one line."""
    mistakes: tuple[type[Exception], ...] = (UsageError, SandboxError, *errors)
    try:
        done = action()
        return done if isinstance(done, int) else asyncio.run(done)
    except mistakes as error:
        return refuse(error)
    except ExceptionGroup as group:
        if group.split(mistakes)[1] is not None:
            raise
        return refuse(_first(group))
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted. What is finished is kept; the same command resumes.\n")
        return INTERRUPTED


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def refuse(reason: object) -> int:
    """Say on stderr what a user has to change; returns 2."""
    sys.stderr.write(f"error: {printable(reason)}\n")
    return 2


def read_options(arguments: Sequence[str], model: type[Options]) -> Options:
    """Check ``key=value`` arguments, and words without a key, against a pydantic model.

    Raises
    ------
    UsageError
        One line per mistake.
    """
    words = [name for name, field in model.model_fields.items() if _word(field)]
    lines: list[str] = []
    given: dict[str, Any] = {}
    for argument in arguments:
        if _is_pair(argument, words):
            lines.append(_grouped(argument, model))
        elif words and not argument.startswith("-"):
            name = words[0]
            if _many(model.model_fields[name]):
                given.setdefault(name, []).append(argument)
            else:
                given[words.pop(0)] = argument
        else:
            raise UsageError(
                f"{argument!r}: write key=value; keys: {', '.join(model.model_fields)}"
            )
    try:
        values = OmegaConf.to_container(OmegaConf.from_dotlist(lines), resolve=True)
    except (OmegaConfBaseException, YAMLError) as error:
        raise UsageError(f"cannot read the arguments: {' '.join(str(error).split())}") from None
    try:
        return model.model_validate({**_chosen(values, model), **given})
    except ValidationError as error:
        raise UsageError("\n".join(_explain(m, model) for m in error.errors())) from None


def _is_pair(argument: str, words: Sequence[str]) -> bool:
    """Whether it is ``key=value``; a sentence with an equals sign is a word."""
    key, equals, _ = argument.partition("=")
    return bool(equals) and (not words or not set(key) & set(" \t\n/"))


def _is_group(field: FieldInfo | None) -> bool:
    return field is not None and isinstance(field.default, Group)


def _grouped(argument: str, model: type[BaseModel]) -> str:
    """``model=openai`` as the empty key of the mapping that ``model.name=...`` adds keys to."""
    key, _, value = argument.partition("=")
    return f"{key}[]={value}" if _is_group(model.model_fields.get(key)) else argument


def _chosen(values: Any, model: type[BaseModel]) -> dict[str, Any]:
    """The values, with a `Group` for each field that is one."""
    found = {str(key): value for key, value in values.items()}
    for key, value in found.items():
        field = model.model_fields.get(key)
        if field is not None and _is_group(field):
            rest = dict(value)
            found[key] = Group(str(rest.pop("", field.default.name)), rest)
    return found


def read_group(group: str, name: str, overrides: Mapping[str, Any]) -> dict[str, Any]:
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
    merged = OmegaConf.merge(OmegaConf.load(path), OmegaConf.create(dict(overrides)))
    content = OmegaConf.to_container(merged, resolve=True)
    return {str(key): value for key, value in content.items()} if isinstance(content, dict) else {}


def unknown_key(key: str, valid: Sequence[str]) -> str:
    """One line about a key that does not exist."""
    near = get_close_matches(key, valid, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"{key}: no such key{hint}; valid keys: {', '.join(valid) or 'none'}"


def _word(field: FieldInfo) -> bool:
    return any(isinstance(item, Word) for item in field.metadata)


def _many(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is tuple


def _about(field: FieldInfo) -> str:
    if field.is_required():
        return f"{field.description or ''} (required)"
    default = field.default
    if default is PydanticUndefined:  # made by a factory
        default = field.get_default(call_default_factory=True)
    return f"{field.description or ''} [{_shown(default)}]"


def _shown(value: object) -> object:
    if isinstance(value, Group):
        return value.name
    if isinstance(value, tuple):
        value = ",".join(map(str, value))
    return "none" if value in (None, "", {}) else value


def _explain(mistake: Any, model: type[BaseModel]) -> str:
    key = ".".join(str(part) for part in mistake["loc"])
    if mistake["type"] == "extra_forbidden":
        return unknown_key(key, list(model.model_fields))
    if mistake["type"] == "missing":
        return f"{key}=...: is required"
    return f"{key}={mistake['input']}: {mistake['msg'].removeprefix('Value error, ')}"
