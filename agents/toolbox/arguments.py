"""A tool's signature as its schema, and what is wrong with arguments in one line."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

Tool = Callable[..., Awaitable[str]]


class _Untitled(GenerateJsonSchema):
    """Without titles, which only repeat names."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 -- of the base
        return False


def described(tool: Tool) -> tuple[str, dict[str, Any]]:
    """What a tool does, for whoever calls it, and the JSON schema of its arguments."""
    schema = arguments_of(tool).model_json_schema(schema_generator=_Untitled)
    del schema["title"]
    return inspect.getdoc(tool) or "", schema


def arguments_of(tool: Tool) -> type[BaseModel]:
    """The arguments of a tool as a model, from its signature."""
    return _arguments(getattr(tool, "__func__", tool))


@lru_cache(maxsize=64)
def _arguments(function: Any) -> type[BaseModel]:
    parameters = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    fields: dict[str, Any] = {
        p.name: (p.annotation, ... if p.default is p.empty else p.default) for p in parameters
    }
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)


def faults(error: ValidationError) -> str:
    """The first faults, each with the argument that it is about."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    listed = [f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in found[:5]]
    return "; ".join(listed)[:1000]
