"""``python -m experiments.benchmarks.unseen``: make a library no model has seen, and prove it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from experiments.benchmarks.question_format import QUESTIONS, QuestionError
from experiments.benchmarks.unseen.progress import progress
from experiments.benchmarks.unseen.ready import RENAMED, make, report_of
from experiments.benchmarks.unseen.source import UnseenError
from sandbox.base import SandboxError
from sandbox.terminal import printable

USAGE = f"""\
python -m experiments.benchmarks.unseen out=FOLDER [seed=1] [package={RENAMED[0]}]
                             [questions=FOLDER|none] [backend=auto] [proper=NAME,NAME]

Renames everything in an installed package (of the environment `live`; several: package=A,B) by one
seeded map, translates the questions of `live` that use it, and proves the result: same type errors,
no old name left, every translated reference reproduces its gold in the sandbox.
proper= are names of people and methods to replace in its documentation.

FOLDER/source        the renamed package
FOLDER/environment   its sandbox environment, without the original: env=FOLDER/environment
FOLDER/private       the map, the translated questions and golds: never to be shown to a model
Exit code 0: proven, 1: a gate found something, 2: wrong usage or no sandbox.
"""
_KEYS = ("out", "seed", "package", "questions", "backend", "proper")


@dataclass(frozen=True)
class _Options:
    out: Path
    seed: int
    packages: tuple[str, ...]
    questions: Path | None
    backend: str
    proper: tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or {"-h", "--help", "help"} & set(words):
        print(USAGE, end="")
        return 0 if words else 2
    console = Console(stderr=True)
    try:
        options = _parse(words)
    except UnseenError as error:
        console.print(f"unseen: {printable(error)}", style="red", markup=False, highlight=False)
        return 2
    try:
        with progress() as say:
            library = make(
                options.packages,
                seed=options.seed,
                out=options.out,
                questions=options.questions,
                backend=options.backend,
                proper=options.proper,
                say=say,
            )
    except UnseenError as error:
        console.print(f"unseen: {printable(error)}", style="red", markup=False, highlight=False)
        return 1
    except (SandboxError, QuestionError) as error:
        console.print(f"unseen: {printable(error)}", style="red", markup=False, highlight=False)
        return 2
    except KeyboardInterrupt:
        return 130
    report = report_of(library)
    print(
        f"{', '.join(library.packages)}: {report['renamed']} names and {report['keys']} keys"
        f" renamed; {report['questions']} questions, {report['properties']} properties reproduce"
        f" their gold; env={library.environment}"
    )
    return 0


def _parse(words: Sequence[str]) -> _Options:
    given: dict[str, str] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key not in _KEYS or not value:
            msg = f"{word!r} is not one of {', '.join(f'{name}=...' for name in _KEYS)}"
            raise UnseenError(msg)
        given[key] = value
    if "out" not in given:
        msg = "out=FOLDER must be given"
        raise UnseenError(msg)
    seed = given.get("seed", "1")
    if not seed.isdecimal():
        msg = f"seed={seed}: must be a whole number, 0 or more"
        raise UnseenError(msg)
    questions = given.get("questions", str(QUESTIONS))
    if questions != "none" and not Path(questions).is_dir():
        msg = f"questions={questions}: no such folder"
        raise UnseenError(msg)
    return _Options(
        out=Path(given["out"]),
        seed=int(seed),
        packages=tuple(given.get("package", ",".join(RENAMED)).split(",")),
        questions=None if questions == "none" else Path(questions),
        backend=given.get("backend", "auto"),
        proper=tuple(filter(None, given.get("proper", "").split(","))),
    )


if __name__ == "__main__":
    sys.exit(main())
