"""``python -m experiments.benchmarks.invented``: write an invented package, and prove it."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from experiments.benchmarks.invented.ready import prove
from experiments.benchmarks.invented.world import KnobError, Knobs, WorldError
from sandbox.base import SandboxError
from sandbox.terminal import printable

USAGE = """\
python -m experiments.benchmarks.invented out=FOLDER [seed=1] [size=300] [depth=4] [breadth=8]
    [gap=0|1|2] [docs=full|signatures|source|outdated] [names=telling|opaque]
    [results=mixed|floats] [questions=30] [backend=auto]

Writes a package of invented quantities of crystals, with questions about it, and proves it:
references reproduce and agree with an evaluation that shares no code with the package, each
single mistake of a caller shows, and a program that reads only the documentation answers
everything.

FOLDER/package   what a caller may see: put it on the path
FOLDER/private   questions, references and golds: never to be shown to a model
Exit code 0: proven, 1: a gate found something, 2: wrong usage or no sandbox.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or {"-h", "--help", "help"} & set(words):
        print(USAGE, end="")
        return 0 if words else 2
    console = Console(stderr=True)
    began = time.perf_counter()
    try:
        knobs, out, backend = _parse(words)
        columns = (
            SpinnerColumn(),
            TextColumn("invented package: {task.description}", markup=False),
        )
        with Progress(*columns, TimeElapsedColumn(), console=console) as shown:
            task = shown.add_task("starting")
            world, count = prove(
                knobs, out, backend=backend, say=lambda line: shown.update(task, description=line)
            )
    except (KnobError, WorldError, SandboxError) as error:
        console.print(f"invented: {printable(error)}", style="red", markup=False, highlight=False)
        return 1 if isinstance(error, WorldError) else 2
    except KeyboardInterrupt:
        return 130
    properties = sum(len(question.asked) for question in world.questions)
    print(
        f"{out}: package {world.package}, {len(world.symbols)} symbols, {len(world.questions)}"
        f" questions with {properties} properties; {count} single mistakes show, the documents"
        f" suffice; {time.perf_counter() - began:.0f} s"
    )
    return 0


def _parse(words: Sequence[str]) -> tuple[Knobs, Path, str]:
    known = {field.name: field.type for field in fields(Knobs)}
    given: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition("=")
        if not value or key not in {*known, "out", "backend"}:
            listed = ", ".join(f"{name}=" for name in ("out", *known, "backend"))
            raise KnobError(f"{word!r}: give {listed}")
        given[key] = int(value) if value.isdecimal() and key in known else value
    if "out" not in given:
        raise KnobError("out=FOLDER must be given")
    out = Path(str(given.pop("out")))
    if out.exists() and any(out.iterdir()):
        raise KnobError(f"out={out}: exists already; give a new folder")
    backend = str(given.pop("backend", "auto"))
    return Knobs(**given), out, backend


if __name__ == "__main__":
    sys.exit(main())
