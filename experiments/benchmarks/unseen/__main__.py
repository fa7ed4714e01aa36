"""Make a library that no model has seen, and prove it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, DirectoryPath, Field, NonNegativeInt

from experiments.benchmarks.question_format import QUESTIONS, QuestionError
from experiments.benchmarks.unseen.progress import progress
from experiments.benchmarks.unseen.ready import RENAMED, make, report_of
from experiments.benchmarks.unseen.source import UnseenError
from sandbox.command import Commas, refuse, run

_ABOUT = """\
Renames everything in an installed package (of the environment `live`) by one seeded map, translates
the questions of `live` that use it, and proves the result: same type errors, no old name left,
every translated reference reproduces its gold in the sandbox.

FOLDER/source        the renamed package
FOLDER/environment   its sandbox environment, without the original: env=FOLDER/environment
FOLDER/private       the map, the translated questions and golds: never to be shown to a model
Exit code 0: proven, 1: a gate found something."""


class Options(BaseModel):
    """Arguments of ``python -m experiments.benchmarks.unseen``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    out: Path = Field(description="folder to write")
    seed: NonNegativeInt = Field(1, description="which names")
    package: Annotated[tuple[str, ...], Commas] = Field(
        RENAMED, description="import names, renamed together"
    )
    questions: DirectoryPath | Literal["none"] = Field(
        QUESTIONS, description="those to translate, or none"
    )
    backend: str = Field("auto", description="sandbox")
    proper: Annotated[tuple[str, ...], Commas] = Field(
        (), description="names of people and methods to replace in its documentation"
    )


def _action(options: Options) -> int:
    try:
        with progress() as say:
            library = make(
                options.package,
                seed=options.seed,
                out=options.out,
                questions=None if options.questions == "none" else options.questions,
                backend=options.backend,
                proper=options.proper,
                say=say,
            )
    except UnseenError as error:
        refuse(error)
        return 1
    report = report_of(library)
    print(
        f"{', '.join(library.packages)}: {report['renamed']} names and {report['keys']} keys"
        f" renamed; {report['questions']} questions, {report['properties']} properties reproduce"
        f" their gold; env={library.environment}"
    )
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (see `sandbox.command`)."""
    program = "python -m experiments.benchmarks.unseen"
    return run(program, _ABOUT, Options, _action, arguments, errors=(QuestionError,))


if __name__ == "__main__":
    sys.exit(main())
