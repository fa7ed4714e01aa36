"""The templates of pages and plots; everything in them is escaped."""

from __future__ import annotations

from functools import cache
from operator import contains
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from experiments.report.cells import money, number

HERE = Path(__file__).parent
TEMPLATES = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
TEMPLATES.filters |= {"money": money, "number": number}
TEMPLATES.tests["contains"] = contains


@cache
def _shapes() -> Any:
    return TEMPLATES.get_template("shapes.html.j2").module


def shape(name: str, *values: object) -> Markup:
    """What a macro of ``shapes.html.j2`` draws."""
    return Markup(getattr(_shapes(), name)(*values))  # noqa: S704 -- escaped in there
