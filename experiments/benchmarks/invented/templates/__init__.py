"""Templates of modules, docstrings and programs (``*.j2``)."""

from __future__ import annotations

import textwrap
from functools import cache, partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

_WIDTH = 88


def _block(text: str, hang: int = 0) -> str:
    indent = " " * (4 + hang)
    return textwrap.fill(text, _WIDTH, initial_indent="    ", subsequent_indent=indent)


@cache
def template(name: str) -> Template:
    """A template; filters ``fill`` and ``block`` break lines."""
    environment = Environment(  # noqa: S701 - it writes Python
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {"fill": partial(textwrap.fill, width=_WIDTH), "block": _block}
    return environment.get_template(name)
