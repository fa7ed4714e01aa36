"""The main job: ``python -m experiments.run system=reflect retrieval=llm_doc``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import yaml

from agents import composition
from experiments.run.config import RunConfig, read_runs
from experiments.run.grid import run_all
from matsmith.core.command import HELP, guarded, tell

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; the exit code is 0 where everything has a verdict (docs/running.md)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    flags = {"-m", "--multirun", "--cfg", *HELP} & set(given)
    if flags & HELP:
        return guarded(lambda: tell(composition.choice_help(given, RunConfig) or help_text()))
    words = [argument for argument in given if argument not in flags]
    return guarded(lambda: _run(words, flags))


def _run(words: Sequence[str], flags: set[str]) -> int:
    runs = read_runs(words, several=bool(flags & {"-m", "--multirun"}))
    configs = [config for _, config in runs]
    if "--cfg" not in flags:
        keys = [key for key in runs[0][0] if len({values[key] for values, _ in runs}) > 1]
        values = [{_short(key): values[key] for key in keys} for values, _ in runs]
        return run_all(_separate(configs), values)
    for config in configs:
        sys.stdout.write(yaml.safe_dump(config.plain(), sort_keys=False) + "\n")
    return 0


def _short(key: str) -> str:
    return key.lstrip("+").removeprefix("benchmark.")


def _separate(configs: Sequence[RunConfig]) -> list[RunConfig]:
    """Give each run of a sweep its own folder under ``out``."""
    if len(configs) == 1:
        return list(configs)
    separate = []
    for config in configs:
        out = config.out
        if out is not None:
            digest = config.hash("")[:8]
            out = out / f"{config.system.name}-{config.retrieval.name}-{digest}"
        separate.append(config.model_copy(update={"out": out}))
    return separate


def help_text(model: str | None = None) -> str:
    """Everything that one needs to use the command; ``model`` overrides the default shown."""
    listed = composition.help_text(RunConfig, [_USAGE], root="config", model=model)
    return f"{listed}\n\n{_EXAMPLES}"


if __name__ == "__main__":
    sys.exit(main())
