"""The main job: ``python -m experiments.run system=reflect retrieval=llm_doc``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import yaml

from agents.composition import choice_help
from experiments.run.config import RunConfig, read_runs
from experiments.run.grid import run_all
from matsmith.core.command import HELP, guarded, tell


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; the exit code is 0 where everything has a verdict (docs/running.md)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    flags = {"-m", "--multirun", "--cfg", *HELP} & set(given)
    if flags & HELP:
        from experiments.run.help import help_text  # noqa: PLC0415

        return guarded(lambda: tell(choice_help(given, RunConfig) or help_text()))
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


if __name__ == "__main__":
    sys.exit(main())
