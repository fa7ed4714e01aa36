"""Score recorded answers of any benchmark again, in all its modes.

usage: matsmith regrade benchmark=NAME answers=FILE [KEY=VALUE ...]

FILE holds lines {"id": "QUESTION", "answer": "the whole reply"} (several lines about a question are
its seeds), or is the folder of a run. Every other key is one of `matsmith run`; answers
are graded in as many processes as the machine has cores (sandbox.workers=N). What comes out is a
run folder like any other: a table, report.html, a row and figures for each answer.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from agents.systems.recorded import read_answers
from experiments.command import run_all
from experiments.run.config import RunConfig, read_run
from foundation.command import asks_help, guarded, tell
from foundation.errors import UsageError

_FILE = "answers="


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``. Exit codes are those of ``matsmith run``."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if asks_help(words):
        return tell(str(__doc__))
    return guarded(lambda: run_all([_config(words)]))


def _config(words: Sequence[str]) -> RunConfig:
    files = [
        argument.removeprefix(_FILE) for argument in words if argument.startswith(_FILE)
    ]
    if len(files) != 1 or not files[0]:
        raise UsageError("answers=FILE: name one file of answers, or one run folder")
    rest = [argument for argument in words if not argument.startswith(_FILE)]
    return recorded_config(Path(files[0]), rest)


def recorded_config(path: Path | None, rest: Sequence[str]) -> RunConfig:
    """A run of recorded answers: of a file or a run's folder; ``None``: only to read ``rest``."""
    answers = {} if path is None else read_answers(path)
    name = "answers" if path is None else path.stem
    digest = hashlib.sha256(repr(answers).encode("utf-8", "replace")).hexdigest()[:16]
    ours = {
        "system": "recorded",
        "system.answers": str(path or ""),
        "system.digest": digest,
        "retrieval": "none",
        "model": "none",
        "model.name": name or "answers",
        "sandbox.workers": os.cpu_count() or 1,
        "concurrency": 2 * (os.cpu_count() or 1),
    }
    named = {argument.partition("=")[0] for argument in rest}
    quoted = {
        key: "'" + str(value).replace("'", "''") + "'" if "." in key else value
        for key, value in ours.items()
    }
    config = read_run(
        [*(f"{k}={v}" for k, v in quoted.items() if k not in named), *rest]
    )
    return config.model_copy(
        update={
            "ids": tuple(dict.fromkeys(name for name, _ in answers)),
            "seeds": tuple(sorted({seed for _, seed in answers})),
        }
    )
