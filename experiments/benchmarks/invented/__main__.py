"""Make an invented package with questions about it, and prove it."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from experiments.benchmarks.invented.knobs import KnobError, Knobs
from experiments.benchmarks.invented.questions import WorldError
from experiments.benchmarks.invented.ready import prove
from sandbox.command import refuse, run
from sandbox.progress import saying

_ABOUT = """\
Writes a package of invented quantities of crystals, with questions about it, and proves it:
references reproduce and agree with an evaluation that shares no code with the package, each
single mistake of a caller shows, and a program that reads only the documentation answers
everything.

FOLDER/package   what a caller may see: put it on the path
FOLDER/private   questions, references and golds: never to be shown to a model
Exit code 0: proven, 1: a gate found something."""


class Options(BaseModel):
    """Arguments of ``python -m experiments.benchmarks.invented``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    out: Path = Field(description="folder to write")
    seed: int = Field(1, description="which world")
    size: int = Field(300, description="public symbols; the questions stay the same")
    depth: int = Field(4, description="calls in the longest chain of a question")
    breadth: int = Field(8, description="symbols that a question needs")
    gap: int = Field(0, description="questions use the term (0), a paraphrase (1) or the use (2)")
    docs: str = Field("full", description="full, signatures, source or outdated")
    names: str = Field("telling", description="telling or opaque")
    results: str = Field("mixed", description="mixed or floats")
    questions: int = Field(30, description="how many")
    backend: str = Field("auto", description="sandbox")


def _action(options: Options) -> int:
    began = time.perf_counter()
    if options.out.exists() and any(options.out.iterdir()):
        raise KnobError(f"out={options.out}: exists already; give a new folder")
    knobs = Knobs(**{field.name: getattr(options, field.name) for field in fields(Knobs)})
    try:
        with saying("invented package") as say:
            world, count = prove(knobs, options.out, backend=options.backend, say=say)
    except WorldError as error:
        refuse(error)
        return 1
    properties = sum(len(question.asked) for question in world.questions)
    print(
        f"{options.out}: package {world.package}, {len(world.symbols)} symbols,"
        f" {len(world.questions)} questions with {properties} properties; {count} single mistakes"
        f" show, the documents suffice; {time.perf_counter() - began:.0f} s"
    )
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (see `sandbox.command`)."""
    program = "python -m experiments.benchmarks.invented"
    return run(program, _ABOUT, Options, _action, arguments, errors=(KnobError,))


if __name__ == "__main__":
    sys.exit(main())
