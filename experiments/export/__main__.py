"""Write a run in the format of another tool.

inspect          a log that `inspect view` and read_eval_log of inspect_ai open
atif             a trajectory of the Agent Trajectory Interchange Format (Harbor) for each answer
every-eval-ever  records of Every Eval Ever: one of the run, a line for each answer and metric

They hold prompts, replies, tool calls, verdicts and what was spent; no expected values, and nothing
of private questions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from experiments.export import atif, every_eval_ever, inspect_log
from experiments.report.runs import Run, load_runs
from matsmith.core.command import Command, Word

FORMATS: Mapping[str, Callable[[Run, Path], Sequence[Path]]] = {
    "inspect": inspect_log.write,
    "atif": atif.write,
    "every-eval-ever": every_eval_ever.write,
}


class Options(BaseModel, extra="forbid"):
    """Arguments of ``matsmith export``."""

    run: Annotated[Path, Word()] = Field(description="run folder")
    to: Literal["inspect", "atif", "every-eval-ever"] = Field(description="--to FORMAT")
    out: Path | None = Field(None, description="folder to write; none: RUN/export")


def _export(options: Options) -> int:
    (run,) = load_runs([options.run])
    written = FORMATS[options.to](run, options.out or run.folder / "export")
    for path in written[:2]:
        print(f"written: {path}")
    if len(written) > 2:
        print(f"and {len(written) - 2} more")
    return 0


main = Command("matsmith export", str(__doc__), Options, _export)

if __name__ == "__main__":
    sys.exit(main())
