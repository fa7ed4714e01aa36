"""What must hold of a world before its questions are asked. Findings are sentences."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from experiments.benchmarks.invented.world import World
from experiments.benchmarks.question_check import compare_runs
from experiments.benchmarks.question_format import TaskSpec, read_spec
from sandbox.base import Outcome, Sandbox, SandboxConfig, SandboxError
from sandbox.environments import installed_versions
from sandbox.factory import get_sandbox

_HASH_SEEDS = ("1", "4242")
_TIMEOUT = 300.0
#: Runs many programs in one execution: values and errors by name.
_HARNESS = """
def run():
    values, errors = {}, {}
    for name, source in PROGRAMS.items():
        space = {}
        try:
            exec(compile(source, name, "exec"), space)
            values[name] = space["reference"]()
        except Exception as error:
            errors[name] = f"{type(error).__name__}: {error}"
    return {"values": values, "errors": errors}
"""


class InventedSpec(TaskSpec):
    """A ``task.yaml`` of a world: it has no code, and says how much a question needs."""

    scaffold: str = ""
    depth: Annotated[int, Field(ge=1)]
    breadth: Annotated[int, Field(ge=1)]


async def run_programs(
    sandbox: Sandbox, programs: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """What programs return, and why others raised, by name.

    Raises
    ------
    SandboxError
        When the sandbox fails.
    """
    code = f"PROGRAMS = {dict(programs)!r}\n{_HARNESS}"
    done = await sandbox.run(code, "run", timeout=_TIMEOUT)
    if done.outcome is not Outcome.OK:
        raise SandboxError(f"programs of a world ended with {done.outcome}: {done.error}")
    return dict(done.result["values"]), dict(done.result["errors"])


async def check_references(
    world: World, questions: Path, environment: str, backend: str = "auto"
) -> list[str]:
    """References run under two hash seeds, agree with the evaluation of the graph, and are not
    vacuous; golds are written.

    Raises
    ------
    SandboxError
        When no sandbox works here.
    """
    programs = {question.id: question.reference for question in world.questions}

    async def run(seed: str) -> tuple[dict[str, Any], dict[str, str]]:
        config = SandboxConfig(backend, environment, workers=1, options={"hash_seed": seed})
        async with get_sandbox(config) as sandbox:
            return await run_programs(sandbox, programs)

    (first, errors), (second, _) = await asyncio.gather(*map(run, _HASH_SEEDS))
    findings = [f"{name}: the reference raised {error}" for name, error in errors.items()]
    versions = {"pymatgen-core": installed_versions(environment).get("pymatgen-core", "")}
    for question in world.questions:
        if question.id not in first:
            continue
        folder = questions / question.id
        values = first[question.id]
        found = compare_runs(read_spec(folder, InventedSpec), [values, second.get(question.id)])
        found += [
            f"{one.name}: {values[one.name]!r}, but the graph gives {one.gold!r}"
            for one in question.asked
            if not agree(one.gold, values[one.name])
        ]
        findings += [f"{question.id}: {finding}" for finding in found]
        gold = {"versions": versions, "properties": values}
        text = json.dumps(gold, indent=2, ensure_ascii=False) + "\n"
        (folder / "gold.json").write_text(text, encoding="utf-8")
    return findings


def agree(one: Any, other: Any) -> bool:
    """Whether two values are the same but for rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        return set(one) == set(other) and all(agree(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(agree, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-5)
    return type(one) is type(other) and one == other
