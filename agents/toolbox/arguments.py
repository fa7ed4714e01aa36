"""A tool's signature as its schema, and what is wrong with arguments in one line."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

Tool = Callable[..., Awaitable[str]]


def description(tool: Tool) -> str:
    """What a tool does, for whoever calls it."""
    return inspect.cleandoc(tool.__doc__ or "")


def arguments_of(tool: Callable[..., Any]) -> type[BaseModel]:
    """The arguments of a tool as a model, from its signature."""
    return _arguments(getattr(tool, "__func__", tool))


@lru_cache(maxsize=64)
def _arguments(function: Any) -> type[BaseModel]:
    parameters = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    fields: dict[str, Any] = {
        p.name: (p.annotation, ... if p.default is p.empty else p.default) for p in parameters
    }
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """JSON schema without titles, which only repeat names."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: bare(v) for k, v in value.items() if k != "title" or isinstance(v, dict)}
        return [bare(item) for item in value] if isinstance(value, list) else value

    schema: dict[str, Any] = bare(model.model_json_schema())
    return schema


def faults(error: ValidationError) -> str:
    """The first faults, each with the argument that it is about."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    listed = [f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in found[:5]]
    return "; ".join(listed)[:1000]
