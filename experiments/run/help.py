"""Help of the main job."""

from __future__ import annotations

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
