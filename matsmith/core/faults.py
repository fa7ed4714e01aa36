"""What pydantic found wrong, as the one line that a user gets."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Sequence
from difflib import get_close_matches

from pydantic import BaseModel, ValidationError


def describe(error: ValidationError, kind: type[BaseModel] | None = None, prefix: str = "") -> str:
    """The first fault: key (after ``prefix``), value, what would be valid.

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
    return f"{key}={first['input']}: {message[0].lower()}{message[1:]}"


def declared_keys(kind: type[BaseModel], parent: str) -> list[str]:
    """Keys that ``kind`` declares in ``parent`` (``retrieval.evidence``); none for a class's."""
    model: object = kind
    for part in parent.split(".") if parent else ():
        fields = model.model_fields if _is_model(model) else {}
        model = fields[part].annotation if part in fields else None
    if not _is_model(model) or model.model_config.get("extra") == "allow":
        return []
    return [field.alias or name for name, field in model.model_fields.items()]


def _is_model(found: object) -> typing.TypeGuard[type[BaseModel]]:
    return inspect.isclass(found) and issubclass(found, BaseModel)


def unknown_key(key: str, valid: Sequence[str]) -> str:
    """One line about a key that does not exist."""
    near = get_close_matches(key, valid, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    choice = f"; valid keys: {', '.join(valid)}" if valid else ""
    return f"{key}: no such key{hint}{choice}"
