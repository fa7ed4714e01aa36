"""What a configuration names and declares, checked; what pydantic objects to in one line."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import sys
import typing
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from foundation.errors import ActionableError, UsageError
from foundation.failures import describe_failure

#: What a default can be that a configuration writes out.
_WRITTEN = (str, int, float, type(None), list, tuple, Mapping, Path)


def load(target: str, *, key: str) -> Any:
    """Import the class or function that ``module.name`` or ``module:name`` is; ``key`` named it.

    A `UsageError` says why it cannot be had, with the place in the user's own module that raised.
    """
    module, _, name = target.replace(":", ".").rpartition(".")
    if "" not in sys.path:
        sys.path.append("")  # of the user's own, beside the call
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        top = module.partition(".")[0]
        is_unknown = isinstance(error, ModuleNotFoundError) and error.name == top
        hint = "; a file of yours belongs into the folder where the command runs"
        raise UsageError(
            f"{key}={target}: cannot be imported ({error}){hint if is_unknown else ''}"
        ) from error
    except Exception as error:
        failure = describe_failure(error, _folder(module))
        raise UsageError(f"{key}={target}: cannot be imported ({failure})") from error
    if not callable(found):
        raise UsageError(f"{key}={target}: is neither a class nor a function")
    return found


def _folder(module: str) -> Path | None:
    """The package that a module belongs to, or its file; found without importing it."""
    spec = importlib.util.find_spec(module.partition(".")[0])
    if spec is None or spec.origin is None:
        return None
    return (
        Path(spec.origin).parent
        if spec.submodule_search_locations
        else Path(spec.origin)
    )


def parameters(target: Any, injected: int = 0) -> dict[str, inspect.Parameter]:
    """What of a constructor or function is configured: all but the first ``injected``."""
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    found = list(inspect.signature(target).parameters.items())[injected:]
    return {name: parameter for name, parameter in found if parameter.kind not in kinds}


def checked(
    key: str, target: Any, given: Mapping[str, Any], injected: int = 0
) -> dict[str, Any]:
    """The values of the parameters of ``target``: ``given``, else their defaults.

    All are there, so that another default is another configuration. What it does not have, lacks,
    or is of another type is a `UsageError`.
    """
    declared = parameters(target, injected)
    for name in given:
        if name not in declared:
            raise UsageError(
                unknown_key(f"{key}.{name}", [f"{key}.{p}" for p in declared])
            )
    plain = inspect.isclass(target) and not dataclasses.is_dataclass(target)
    source = target.__init__ if plain else target
    hints = typing.get_type_hints(source, include_extras=True)
    fields: dict[str, Any] = {
        name: (hints.get(name, Any), ... if p.default is p.empty else p.default)
        for name, p in declared.items()
    }
    checker = create_model(
        f"{target.__name__}Parameters",
        __config__=ConfigDict(arbitrary_types_allowed=True, protected_namespaces=()),
        **fields,
    )
    try:
        checker.model_validate(given)
    except ValidationError as error:
        raise UsageError(describe(error, checker, prefix=f"{key}.")) from error
    # not what a factory makes
    written = {
        n: p.default for n, p in declared.items() if isinstance(p.default, _WRITTEN)
    }
    return {**written, **given}


def built(group: str, content: Mapping[str, Any], kind: type) -> Any:
    """The object that a group's content describes: ``_target_``, ``name``, constructor arguments.

    A `UsageError` where it cannot be made, or is not of ``kind``.
    """
    target = str(content["_target_"])
    make = load(target, key=group)
    given = {n: value for n, value in content.items() if n not in ("_target_", "name")}
    values = checked(group, make, given)
    try:
        made = make(**values)
    except ActionableError:
        raise
    except Exception as error:
        failure = describe_failure(error, make)
        raise UsageError(f"{group}={target}: cannot be made ({failure})") from error
    if not isinstance(made, kind):
        raise UsageError(
            f"{group}={target}: is not a {kind.__name__} ({kind.__module__}.{kind.__name__})"
        )
    return made


def describe(
    error: ValidationError,
    kind: type[BaseModel] | None = None,
    prefix: str = "",
    *,
    secret: bool = False,
) -> str:
    """The first fault: key (after ``prefix``), value (unless ``secret``), what would be valid.

    Keys of ``kind``, which was to be made, are offered in place of an unknown one.
    """
    first = error.errors(include_url=False)[0]
    # A member of a union is named with its type: literal['a','b'].
    path = [str(part) for part in first["loc"] if "[" not in str(part)]
    key = prefix + ".".join(path)
    if first["type"] == "extra_forbidden":
        parent = ".".join(path[:-1])
        names = declared_keys(kind, parent) if kind else []
        return unknown_key(key, [prefix + f"{parent}.{n}".lstrip(".") for n in names])
    message = first["msg"].removeprefix("Value error, ")
    if not path:
        return message
    if first["type"] == "missing":
        return f"{key}=...: must be given"
    value = "" if secret else f"={first['input']}"
    return f"{key}{value}: {message[0].lower()}{message[1:]}"


def declared_keys(kind: type[BaseModel], parent: str) -> list[str]:
    """Keys that ``kind`` declares in ``parent`` (``retrieval.evidence``); none for a class's."""
    model: object = kind
    for part in parent.split(".") if parent else ():
        fields = model.model_fields if is_model(model) else {}
        model = fields[part].annotation if part in fields else None
    if not is_model(model) or model.model_config.get("extra") == "allow":
        return []
    return [field.alias or name for name, field in model.model_fields.items()]


def is_model(found: object) -> typing.TypeGuard[type[BaseModel]]:
    """Whether it is a class of pydantic's."""
    return inspect.isclass(found) and issubclass(found, BaseModel)


def unknown_key(key: str, valid: Sequence[str]) -> str:
    """One line about a key that does not exist."""
    near = get_close_matches(key, valid, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    choice = f"; valid keys: {', '.join(valid)}" if valid else ""
    return f"{key}: no such key{hint}{choice}"
