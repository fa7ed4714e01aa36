"""Make an invented package with questions about it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pydantic import BaseModel, Field

from experiments.benchmarks.invented.knobs import KnobError, Knobs
from experiments.benchmarks.invented.questions import WorldError
from experiments.benchmarks.invented.ready import make
from matsmith.core.command import Command, refuse
from matsmith.core.progress import saying

_ABOUT = """\
Writes a package of invented quantities of crystals, with questions about it: references reproduce
and agree with an evaluation that shares no code with the package.

FOLDER/documented   the package as documents are read of it
FOLDER/package      the same without docstrings and comments: what code of answers imports
FOLDER/private      questions, references and golds: never to be shown to a model
Exit code 0: made, 1: a reference failed."""


class Options(BaseModel, extra="forbid", frozen=True):
    """Arguments of ``matsmith invented``."""

    out: Path = Field(description="folder to write")
    seed: int = Field(1, description="which world")
    size: int = Field(300, description="public symbols; the questions stay the same")
    depth: int = Field(4, description="calls in the longest chain of a question")
    breadth: int = Field(20, description="symbols that a question needs")
    gap: int = Field(0, description="questions use the term (0), a paraphrase (1) or the use (2)")
    docs: str = Field("full", description="full or outdated")
    questions: int = Field(20, description="how many")


def _action(options: Options) -> int:
    began = time.perf_counter()
    if options.out.exists() and any(options.out.iterdir()):
        raise KnobError(f"out={options.out}: exists already; give a new folder")
    knobs = Knobs(**options.model_dump(exclude={"out"}))
    try:
        with saying("invented package") as say:
            world = make(knobs, options.out, say)
    except WorldError as error:
        refuse(error)
        return 1
    properties = sum(len(question.asked) for question in world.questions)
    print(
        f"{options.out}: package {world.package}, {len(world.symbols)} symbols,"
        f" {len(world.questions)} questions with {properties} properties;"
        f" {time.perf_counter() - began:.0f} s"
    )
    return 0


main = Command("matsmith invented", _ABOUT, Options, _action, (KnobError,))


if __name__ == "__main__":
    sys.exit(main())
