"""Help of the main job, and its copy in the documentation."""

from __future__ import annotations

import sys
from pathlib import Path

from agents import composition
from experiments.run.config import RunConfig

_USAGE = """\
usage: python -m experiments.run [-m] [--cfg] [GROUP=CHOICE ...] [KEY=VALUE ...]

Runs a benchmark: question -> agent -> sandbox -> verification -> report.

options:
  -m, --multirun         sweep over comma-separated values, one run each
  --cfg                  print the composed configuration and stop
  -h, --help             this text"""

_EXAMPLES = """\
examples:
  python -m experiments.run                                the default: reflect + llm_doc
  python -m experiments.run system=single limit=5
  python -m experiments.run -m system=single,rag,reflect   one run each, one table
  python -m experiments.run model=openai model.name=gpt-4o-mini model.temperature=0.2
  python -m experiments.run model.base_url=http://localhost:11434/v1 model.name=qwen3
The same command resumes an interrupted run."""


def help_text(model: str | None = None) -> str:
    """Everything that one needs to use the command; ``model`` overrides the default shown."""
    listed = composition.help_text(RunConfig, [_USAGE], root="config", model=model)
    return f"{listed}\n\n{_EXAMPLES}"


def update_help(document: str) -> str:
    """Put the help text between the ``help`` marks of a document."""
    before, opening, rest = document.partition("-->\n```text\n")
    _, closing, after = rest.partition("\n```\n<!-- /help -->")
    if not (opening and closing):
        raise ValueError("no help marks in this document")
    return before + opening + help_text(model="recorded") + closing + after


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(update_help(Path(name).read_text()))
