"""Commands with ``key=value`` arguments: declared as a pydantic model, read, checked, explained.

Every command of the project ends with 0 (fine), 1 (something failed), 2 (the user has to change
something; one line says what), 130 (interrupted) or 143 (ended by TERM).
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, get_origin

from pydantic import BaseModel, BeforeValidator, ValidationError
from pydantic.fields import FieldInfo

from foundation.configuration import Conf, merged, pairs, place, read_value
from foundation.errors import ActionableError, UsageError
from foundation.secrets import guarded_output
from foundation.signals import cancelled_by_signals, terminable
from foundation.targets import describe
from foundation.terminal import printable

INTERRUPTED = 130
TERMINATED = 143
HELP = frozenset({"-h", "--help"})
Options = TypeVar("Options", bound=BaseModel)
Done = TypeVar("Done")


class Nothing(BaseModel, extra="forbid"):
    """No arguments."""


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
        """The configuration."""
        conf, _ = Conf.of(())
        return merged(conf.read(group, self.name), self.overrides)


def _listed(value: object) -> object:
    if isinstance(value, str):
        return value.split(",")
    return value if isinstance(value, list | tuple) else (value,)


#: Validator of a tuple that is written with commas.
Commas = BeforeValidator(_listed)


@dataclass(frozen=True)
class Command(Generic[Options]):
    """What a command takes and does; ``action`` returns the exit code.

    The text of ``errors``, as that of `ActionableError`, tells the user what to do.
    """

    program: str
    description: str
    options: type[Options]
    action: Callable[[Options], int | Coroutine[Any, Any, int]]
    errors: tuple[type[Exception], ...] = ()

    def __call__(self, arguments: Sequence[str] | None = None) -> int:
        """Run it; returns the exit code."""
        given = list(sys.argv[1:] if arguments is None else arguments)
        if asks_help(given):
            return tell(self.help())
        return guarded(
            lambda: self.action(read_options(given, self.options)), self.errors
        )

    def help(self) -> str:
        """What ``--help`` shows."""
        fields = self.options.model_fields
        names = {
            n: n.upper() if _word(field) else field.alias or n
            for n, field in fields.items()
        }
        words = [
            f"{names[n]}{' ...' * _many(f)}" for n, f in fields.items() if _word(f)
        ]
        named = ["key=value ..."] if len(words) < len(fields) else []
        usage = " ".join([f"usage: {self.program}", *words, *named])
        width = max(map(len, fields), default=0)
        lines = [
            f"  {names[n]:{width}}  {_about(field)}" for n, field in fields.items()
        ]
        return "\n".join([self.description.strip(), "", usage, "", *lines])


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
    if asks_help(given):
        return tell(
            f"{description.strip()}\n\nusage: {program} COMMAND ...   ({listed}; each has --help)"
        )
    said = (
        f"no command {given[0]!r}; there are" if given else f"{program} needs a command"
    )
    return refuse(f"{said}: {listed}")


def guarded(
    action: Callable[[], int | Coroutine[Any, Any, int]],
    errors: tuple[type[Exception], ...] = (),
) -> int:
    """Do something and return its exit code; a user's mistake becomes one line."""
    mistakes: tuple[type[Exception], ...] = (ActionableError, *errors)
    with guarded_output(sys.stdout, sys.stderr), terminable() as signals:
        try:
            done = action()
            code = (
                done
                if isinstance(done, int)
                else asyncio.run(cancelled_by_signals(done))
            )
            sys.stdout.flush()
        except BrokenPipeError:
            return _unread()
        except mistakes as error:
            return refuse(error)
        except ExceptionGroup as group:
            if group.split(mistakes)[1] is not None:
                raise
            return refuse(_first(group))
        except (KeyboardInterrupt, asyncio.CancelledError):
            how, code = (
                ("Terminated", TERMINATED)
                if signal.SIGTERM in signals
                else ("Interrupted", INTERRUPTED)
            )
            sys.stderr.write(
                f"\n{how}. What is finished is kept; the same command resumes.\n"
            )
    return code


def _unread() -> int:
    """Whoever reads the output has seen enough (``| head``): that is no mistake."""
    with suppress(BrokenPipeError):
        sys.stdout.flush()
    asked = select.poll()  # a write that has failed once may leave nothing to flush
    asked.register(sys.stdout.fileno(), 0)
    if not asked.poll(0):  # neither POLLERR nor POLLHUP: of something else
        raise  # noqa: PLE0704 -- called where it is handled
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def tell(text: str) -> int:
    """Print a text; returns 0."""
    return guarded(lambda: min(0, sys.stdout.write(f"{text}\n")))


def asks_help(words: Sequence[str]) -> bool:
    """Whether ``--help`` is among the words before ``--``."""
    words = list(words)
    return bool(HELP & set(words[: words.index("--")] if "--" in words else words))


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
    """Check arguments against a pydantic model.

    ``key=value``, ``--key=value``, ``--key value`` (of a switch also ``--key``), and words without
    a key; after ``--`` everything is such a word.
    """
    keys = {field.alias or name: field for name, field in model.model_fields.items()}
    words = [name for name, field in model.model_fields.items() if _word(field)]
    given: dict[str, Any] = {}
    typed: list[str] = []
    literal = False
    rest = iter(arguments)
    for argument in rest:
        name, equals, _ = argument.removeprefix("--").partition("=")
        key = name.partition(".")[0]
        if argument == "--" and words and not literal:
            literal = True
        elif not literal and argument.startswith("--") and key in keys:
            if equals or keys[key].annotation is bool:
                typed.append(argument[2:] if equals else f"{name}=true")
            elif (value := next(rest, None)) is not None:
                typed.append(f"{name}={value}")
            else:
                raise UsageError(f"--{name}: a value must follow")
        elif not literal and _is_pair(argument, words):
            typed.append(argument)
        elif words and (literal or not argument.startswith("-")):
            name = words[0]
            if _many(model.model_fields[name]):
                given.setdefault(name, []).append(argument)
            else:
                given[words.pop(0)] = argument
        else:
            if not keys:
                raise UsageError(f"{argument!r}: this command takes no arguments")
            raise UsageError(f"{argument!r}: write key=value; keys: {', '.join(keys)}")
    groups = {
        name: f.default for name, f in keys.items() if isinstance(f.default, Group)
    }
    tree: dict[str, Any] = {}
    for key, text in pairs(
        typed
    ).items():  # what a group is called has an empty key in it
        place(
            tree,
            *((f"{key}.", text) if key in groups else (key, read_value(key, text))),
        )
    for name in groups.keys() & tree.keys():
        tree[name] = Group(str(tree[name].pop("", groups[name].name)), tree[name])
    try:
        return model.model_validate({**tree, **given})
    except ValidationError as error:
        raise UsageError(describe(error, model)) from None


def _is_pair(argument: str, words: Sequence[str]) -> bool:
    """Whether it is ``key=value``; a sentence with an equals sign and ``ase==3.23.0`` are words."""
    key, equals, value = argument.partition("=")
    return bool(equals) and (
        not words or not (value[:1] == "=" or set(key) & set(" \t\n/"))
    )


def _word(field: FieldInfo) -> bool:
    return any(isinstance(item, Word) for item in field.metadata)


def _many(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is tuple


def _about(field: FieldInfo) -> str:
    if field.is_required():
        return f"{field.description or ''} (required)"
    default = field.get_default(call_default_factory=True)
    if isinstance(default, Group):
        return f"{field.description or ''} [{default.name}]"
    shown = ",".join(map(str, default)) if isinstance(default, tuple) else default
    return f"{field.description or ''} [{'none' if shown in (None, '', {}) else shown}]"
