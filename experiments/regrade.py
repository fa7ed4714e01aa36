"""Score recorded answers of any benchmark again, in all its modes.

usage: python -m experiments.regrade benchmark=NAME answers=FILE [KEY=VALUE ...]

FILE holds lines {"id": "QUESTION", "answer": "the whole reply"} (several lines about a question are
its seeds), or is the folder of a run. Every other key is one of python -m experiments.run; answers
are graded in as many processes as the machine has cores (sandbox.workers=N). What comes out is a
run folder like any other: a table, report.html, a row and figures for each answer.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from agents.recorded import read_answers
from experiments.config import RunConfig, compose, validate
from experiments.run import run_all
from retrieval.base import RetrievalError
from sandbox.command import HELP, UsageError, guarded

_FILE = "answers="


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``. Exit codes are those of ``experiments.run``."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if HELP & set(given):
        sys.stdout.write(f"{__doc__}\n".lstrip())
        return 0
    return guarded(lambda: _regrade(_config(given)), (RetrievalError,))


def _regrade(config: RunConfig) -> int:
    started = time.monotonic()
    code = run_all([config])
    asked = len(config.ids) * len(config.seeds)
    print(
        f"{asked} answers in {time.monotonic() - started:.1f} s with {config.sandbox.workers} "
        "processes, start and report included"
    )
    return code


def _config(given: Sequence[str]) -> RunConfig:
    files = [argument.removeprefix(_FILE) for argument in given if argument.startswith(_FILE)]
    if len(files) != 1 or not files[0]:
        raise UsageError("answers=FILE: name one file of answers, or one run folder")
    path = Path(files[0])
    answers = read_answers(path)
    ours = {
        "system": "recorded", "system.answers": str(path), "system.digest": _digest(answers),
        "retrieval": "none", "model": "rules", "model.name": path.stem or "answers",
        "model.images": "true",
        "sandbox.workers": os.cpu_count() or 1, "concurrency": 2 * (os.cpu_count() or 1),
    }  # fmt: skip
    rest = [argument for argument in given if not argument.startswith(_FILE)]
    named = {argument.partition("=")[0] for argument in rest}
    quoted = {key: str(value).replace("'", "\\'") for key, value in ours.items()}
    plain = compose([*(f"{k}='{v}'" for k, v in quoted.items() if k not in named), *rest])
    return validate(plain).model_copy(
        update={
            "ids": tuple(dict.fromkeys(name for name, _ in answers)),
            "seeds": tuple(sorted({seed for _, seed in answers})),
        }
    )


def _digest(answers: object) -> str:
    return hashlib.sha256(repr(answers).encode("utf-8", "replace")).hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())
