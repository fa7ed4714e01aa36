"""What retrieval is measured against, as a file: queries with the symbols that a right answer uses.

``what=live`` takes the reference solutions of ``live``, read by ``ast`` and, with ``trace=true``,
also traced while they run in the sandbox. ``what=mattools path=FOLDER recorded=FILE`` takes, per
question, the names that at least half of the recorded solutions with every property right have in
common; FILE is the ``outcomes.jsonl`` that ``python -m experiments.replay`` writes. Both are for
``python -m retrieval.evaluate gold=FILE`` (``benchmark=NAME`` there needs no file).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from docgen.sources import SourceError
from experiments.benchmarks.live.benchmark import LiveBenchmark
from experiments.benchmarks.mattools.benchmark import MatToolsBenchmark
from experiments.benchmarks.question_format import Level
from sandbox.base import SandboxError
from sandbox.command import UsageError, run


class Options(BaseModel):
    """Arguments of ``python -m experiments.export_gold``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: Literal["live", "mattools"] = Field(description="live or mattools")
    out: Path = Field(description="JSONL file to write")
    level: Level = Field("scaffold", description="prompts of live")
    path: Path | None = Field(None, description="mattools: the questions, as benchmark.path")
    recorded: Path | None = Field(
        None, description="mattools: answers with outcomes [recorded_round1.jsonl beside them]"
    )
    trace: bool = Field(False, description="also run the reference solutions and note their calls")
    env: str = Field("live", description="mattools: sandbox environment that holds pymatgen")


def _lines(options: Options) -> list[Mapping[str, Any]]:
    path = None if options.path is None else str(options.path)
    source = (
        LiveBenchmark(options.level).gold(trace=options.trace)
        if options.what == "live"
        else MatToolsBenchmark(path, environment=options.env).gold(options.recorded)
    )
    prompts = source.prompts()
    return [
        {"id": name, "query": prompts[name], "gold": names}
        for name, names in sorted(source.gold().items())
    ]


def _action(options: Options) -> int:
    try:
        lines = _lines(options)
    except (SourceError, SandboxError, OSError, ValueError) as error:
        raise UsageError(str(error)) from error
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    options.out.write_text(text, encoding="utf-8")
    names = sum(len(line["gold"]) for line in lines)
    print(f"{len(lines)} lines, {names} gold names -> {options.out}")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m experiments.export_gold``."""
    return run("experiments.export_gold", str(__doc__), Options, _action, arguments)


if __name__ == "__main__":
    sys.exit(main())
