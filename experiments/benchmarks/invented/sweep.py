"""Put many worlds through all gates: ``python -m experiments.benchmarks.invented.sweep``."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from experiments.benchmarks.invented.knobs import KnobError, Knobs
from experiments.benchmarks.invented.questions import WorldError
from experiments.benchmarks.invented.ready import prove
from experiments.benchmarks.invented.world import generate
from sandbox.command import Commas, run

_ABOUT = """\
Puts worlds of seeds 1, 2, ... through all gates of python -m experiments.benchmarks.invented,
one after the other. Each becomes a line of OUT; a world that stands there with the same bytes is
not proven again, so the same command resumes.
Exit code 0: all are proven, 1: a gate found something."""
_COLUMNS = {"properties": "{:.0f}", "mistakes": "{:.0f}", "kilobytes": "{:.0f}",
            "drawn": "{:.1f}", "proven": "{:.0f}"}  # fmt: skip


class Options(BaseModel):
    """Arguments of ``python -m experiments.benchmarks.invented.sweep``."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    out: Path = Field(description="file with one JSON line for each world")
    seeds: int = Field(20, ge=1, description="how many worlds of each kind")
    kinds: Annotated[tuple[str, ...], Commas] = Field(
        ("60/2", "300/4", "1500/8"), description="SIZE/DEPTH of the worlds"
    )
    backend: str = Field("auto", description="sandbox")


def _prove(knobs: Knobs, backend: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a world with these bytes, or what its gates say; times in seconds."""
    began = time.perf_counter()
    world = generate(knobs)
    drawn = time.perf_counter() - began
    if world.digest in known:
        return dict(known[world.digest])
    row = {
        "kind": f"{knobs.size}/{knobs.depth}",
        "seed": knobs.seed,
        "digest": world.digest,
        "properties": sum(len(question.asked) for question in world.questions),
        "kilobytes": sum(len(text.encode()) for text in world.files.values()) / 1000,
        "drawn": drawn,
        "mistakes": None,
        "found": "",
    }
    try:
        with tempfile.TemporaryDirectory() as folder:
            row["mistakes"] = prove(knobs, Path(folder) / "world", backend=backend)[1]
    except WorldError as error:
        row["found"] = str(error)
    return {**row, "proven": time.perf_counter() - began}


def _action(options: Options) -> int:
    lines = options.out.read_text(encoding="utf-8").splitlines() if options.out.exists() else []
    known = {row["digest"]: row for row in map(json.loads, lines)}
    failed = 0
    for kind in options.kinds:
        size, slash, depth = kind.partition("/")
        if not (slash and size.isdecimal() and depth.isdecimal()):
            raise KnobError(f"kinds={kind}: give SIZE/DEPTH, as in 300/4")
        rows = []
        for seed in range(1, options.seeds + 1):
            row = _prove(Knobs(seed=seed, size=int(size), depth=int(depth)), options.backend, known)
            if row["digest"] not in known:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            if row["found"]:
                print(f"{kind}, seed {seed}: {row['found']}", flush=True)
            rows.append(row)
        passed = [row for row in rows if not row["found"]]
        failed += len(rows) - len(passed)
        shown = [f"{name} {form.format(median(row[name] for row in passed))}"
                 for name, form in _COLUMNS.items() if passed]  # fmt: skip
        print(f"{kind}: {len(passed)} of {len(rows)} passed; medians: {', '.join(shown)}")
    return 1 if failed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (see `sandbox.command`)."""
    program = "python -m experiments.benchmarks.invented.sweep"
    return run(program, _ABOUT, Options, _action, arguments, errors=(KnobError,))


if __name__ == "__main__":
    sys.exit(main())
