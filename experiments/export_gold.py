"""What retrieval is measured against: queries with the library symbols that a right answer uses.

``what=live`` takes the reference solutions of ``live``, read by ``ast`` and, with ``trace=true``,
also traced while they run in the sandbox. ``what=mattools path=FOLDER`` takes, per question of a
folder in the layout of the development split, the names that at least half of the recorded
solutions with every property right have in common. Both are for ``python -m retrieval.evaluate``.
``what=secrets`` writes the reference code and golds of ``live`` for the leakage audit of
``python -m indexes.build``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from docgen.command import UsageError, run
from docgen.progress import meter
from docgen.sources import SourceError, read_sources
from docgen.usage import Usage
from experiments.benchmarks.live.loader import (
    QUESTIONS,
    build_prompt,
    data_files,
    question_folders,
    read_spec,
)
from sandbox.base import Mount, Outcome, Sandbox, SandboxConfig, SandboxError
from sandbox.environments import site_packages
from sandbox.factory import get_sandbox

_TIMEOUT = 300.0  # seconds for one traced reference solution

# Appended to a reference solution. Notes every Python function of a library that the solution's
# own code calls: frames whose caller is code of the solution's file.
_TRACER = """

def _traced_calls():
    import sys

    here = reference.__code__.co_filename
    found = set()

    def note(frame, event, argument):
        caller = frame.f_back
        if event == "call" and caller is not None and caller.f_code.co_filename == here:
            module = frame.f_globals.get("__name__") or ""
            found.add(module + "." + frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        reference()
    finally:
        sys.setprofile(None)
    return sorted(found)
"""


class Options(BaseModel):
    """Arguments of ``python -m experiments.export_gold``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: Literal["live", "mattools", "secrets"] = Field(description="live, mattools or secrets")
    out: Path = Field(description="JSONL file to write")
    level: Literal["scaffold", "goal"] = Field("scaffold", description="prompts of live")
    path: Path | None = Field(None, description="mattools: tasks.jsonl and recorded_round1.jsonl")
    trace: bool = Field(False, description="also run the reference solutions and note their calls")
    packages: tuple[str, ...] = Field(
        ("pymatgen", "matminer", "robocrys", "phonopy"), description="import names"
    )
    env: str = Field("live", description="sandbox environment that holds the packages")
    folder: Path | None = Field(None, description="their folder, instead of env")
    workers: int = Field(2, ge=1, description="reference solutions traced at a time")

    @field_validator("packages", mode="before")
    @classmethod
    def _comma_separated(cls, value: object) -> object:
        return value.split(",") if isinstance(value, str) else value


@dataclass(frozen=True)
class GoldQuery:
    """A query, and what a retriever should find for it: qualified name -> kind of symbol."""

    id: str
    query: str
    gold: Mapping[str, str]


def live_gold(
    usage: Usage, level: Literal["scaffold", "goal"], traced: Mapping[str, Sequence[str]]
) -> Iterator[GoldQuery]:
    """Per question of ``live``: its prompt, and what its reference solution uses.

    Parameters
    ----------
    traced
        Question -> dotted names of the functions that its reference solution was seen to call.
    """
    for folder in question_folders(QUESTIONS):
        prompt = build_prompt(read_spec(folder), level, sorted(data_files(folder)))
        code = (folder / "reference.py").read_text(encoding="utf-8")
        names = {**usage.symbols(code), **usage.known(traced.get(folder.name, ()))}
        gold = public_symbols(names)
        if gold:
            yield GoldQuery(folder.name, prompt, gold)


def mattools_gold(usage: Usage, folder: Path) -> Iterator[GoldQuery]:
    """Per question of a recorded split: what at least half of the right solutions use.

    Questions without any right solution are left out: their gold is unknown.
    """
    used: dict[str, Counter[str]] = {}
    kinds: dict[str, str] = {}
    right: Counter[str] = Counter()
    for row in _rows(folder / "recorded_round1.jsonl"):
        if row["replayed"]["outcome"] != "all_correct":
            continue
        right[row["task"]] += 1
        names = public_symbols(usage.symbols(row["code"]))
        kinds.update(names)
        used.setdefault(row["task"], Counter()).update(names.keys())
    for row in _rows(folder / "tasks.jsonl"):
        counts = used.get(row["id"], Counter())
        common = sorted(n for n, count in counts.items() if 2 * count >= right[row["id"]])
        gold = {name: kinds[name] for name in common}
        if gold:
            yield GoldQuery(row["id"], row["question"], gold)


def live_secrets() -> Iterator[dict[str, str]]:
    """Reference code and golds of ``live``."""
    for folder in question_folders(QUESTIONS):
        for name in ("reference.py", "gold.json"):
            path = folder / name
            if path.is_file():
                yield {"id": f"{folder.name}/{name}", "text": path.read_text(encoding="utf-8")}


async def trace(sandbox: Sandbox, workers: int) -> dict[str, list[str]]:
    """Question -> dotted names of the functions that its reference solution calls itself.

    Raises
    ------
    SandboxError
        When the sandbox fails, or a reference solution does not run.
    """
    folders = question_folders(QUESTIONS)
    limit = asyncio.Semaphore(workers)
    calls: dict[str, list[str]] = {}

    async def one(folder: Path) -> None:
        code = (folder / "reference.py").read_text(encoding="utf-8") + _TRACER
        mounts = [Mount(Path(host), inside) for inside, host in data_files(folder).items()]
        async with limit:
            execution = await sandbox.run(code, "_traced_calls", timeout=_TIMEOUT, mounts=mounts)
        if execution.outcome is not Outcome.OK:
            raise SandboxError(
                f"the reference solution of {folder.name} did not run ({execution.outcome}): "
                f"{execution.error}"
            )
        calls[folder.name] = [str(name) for name in execution.result]
        progress.advance()

    with meter("Tracing reference solutions", len(folders), show=True) as progress:
        async with asyncio.TaskGroup() as group:
            for folder in folders:
                group.create_task(one(folder))
    return calls


def public_symbols(names: Mapping[str, str]) -> dict[str, str]:
    """Without private names, sorted."""
    return {n: names[n] for n in sorted(names) if not any(p.startswith("_") for p in n.split("."))}


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        yield from (json.loads(line) for line in stream if line.strip())


async def _traced(options: Options) -> dict[str, list[str]]:
    config = SandboxConfig(env=options.env, workers=options.workers, timeout=_TIMEOUT)
    async with get_sandbox(config) as sandbox:
        return await trace(sandbox, options.workers)


def _lines(options: Options) -> list[Mapping[str, Any]]:
    if options.what == "secrets":
        return list(live_secrets())
    usage = Usage(read_sources(options.packages, options.folder or site_packages(options.env)))
    if options.what == "mattools":
        if options.path is None:
            raise UsageError("what=mattools needs path=FOLDER with the tasks and recorded answers")
        return [asdict(query) for query in mattools_gold(usage, options.path)]
    traced = asyncio.run(_traced(options)) if options.trace else {}
    return [asdict(query) for query in live_gold(usage, options.level, traced)]


def _action(options: Options) -> int:
    try:
        lines = _lines(options)
    except ExceptionGroup as group:
        raise UsageError(str(group.exceptions[0])) from group
    except (SourceError, SandboxError, OSError) as error:
        raise UsageError(str(error)) from error
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    options.out.write_text(text, encoding="utf-8")
    names = sum(len(line.get("gold", ())) for line in lines)
    what = f"texts of {len(lines)} files" if options.what == "secrets" else f"{names} gold names"
    print(f"{len(lines)} lines, {what} -> {options.out}")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m experiments.export_gold``."""
    return run("experiments.export_gold", str(__doc__), Options, _action, arguments)


if __name__ == "__main__":
    sys.exit(main())
