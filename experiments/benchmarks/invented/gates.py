"""What must hold of a world before its questions are asked. Findings are sentences."""

from __future__ import annotations

import ast
import asyncio
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from experiments.benchmarks.invented.mistakes import differs, mistakable, mistakes
from experiments.benchmarks.invented.plans import plan
from experiments.benchmarks.invented.programs import program
from experiments.benchmarks.invented.prose import gloss, use
from experiments.benchmarks.invented.reader import UnreadableError, documents, read, restored, solve
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
    """References run under two hash seeds, and agree with each other and with the graph.

    Golds that tell right from wrong are written.

    Raises
    ------
    SandboxError
        When no sandbox works here.
    """
    programs = {question.id: question.reference for question in world.questions}

    async def run(seed: str) -> tuple[dict[str, Any], dict[str, str]]:
        config = SandboxConfig(
            backend=backend, env=environment, workers=1, options={"hash_seed": seed}
        )
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


async def check_mistakes(
    world: World, sandbox: Sandbox, say: Callable[[str], None] = lambda _: None
) -> tuple[int, list[str]]:
    """Each single mistake of a caller raises, or moves its value by more than one per cent.

    Returns
    -------
    count, findings
        Number of mistakes that were made.

    Raises
    ------
    SandboxError
        When the sandbox fails.
    """
    others = mistakable(world.symbols)
    count, findings = 0, []
    for number, question in enumerate(world.questions, 1):
        programs = {
            f"{one.name}: {what} ({place})": program({one.name: wrong}, question.crystal)
            for one in question.asked
            for place, (what, wrong) in enumerate(mistakes(one.plan, question.crystal, others))
        }
        values, _ = await run_programs(sandbox, programs)
        golds = {one.name: one.gold for one in question.asked}
        findings += [
            f"{question.id}: {what} does not show"
            for what, returned in values.items()
            if not all(differs(golds[name], value, 0.01) for name, value in returned.items())
        ]
        count += len(programs)
        say(f"single mistakes: question {number} of {len(world.questions)}, {count} made")
    return count, findings


async def check_reader(world: World, sandbox: Sandbox) -> list[str]:
    """A program that reads only documents (or only the code) answers every question.

    Where a document says what is no longer true, it must fail, and nowhere else.

    Raises
    ------
    SandboxError
        When the sandbox fails.
    UnreadableError
        When a document leaves out what a caller needs.
    """
    files = world.files
    if world.knobs.docs in {"source", "signatures"}:
        files = {name: restored(text) for name, text in files.items()}
    manual = read(documents(files))
    told = {e.term: world.told.get(e.path, e) for e in world.by_term.values()}
    findings, programs = [], {}
    for question in world.questions:
        texts = {one.name: one.description for one in question.asked}
        crystal, plans = solve(question.goal, texts, manual)
        for name, found in plans.items():
            if isinstance(found, UnreadableError):
                findings.append(f"{question.id}: {name}: {found}")
            else:
                programs[f"{question.id} {name}"] = program({"value": found}, crystal)
    values, errors = await run_programs(sandbox, programs)
    for question in world.questions:
        for one in question.asked:
            key = f"{question.id} {one.name}"
            if key not in programs:
                continue
            right = key not in errors and not differs(one.gold, values[key]["value"], 1e-3)
            believed = program(
                {"value": plan(one.wanted, question.crystal, told)}, question.crystal
            )
            misled = believed != program({"value": one.plan}, question.crystal)
            if right is misled:
                what = "is answered in spite of" if right else "is not answered by"
                findings.append(f"{key}: {what} the documents: {errors.get(key, '')}")
    return findings


def check_words(world: World) -> list[str]:
    """No term, name or paraphrase is ambiguous, and every module is Python."""
    findings = []
    symbols = [s for s in world.symbols.values() if not s.entry.successor and s.entry.term]
    for what, keys in (
        ("term", [s.entry.term for s in symbols]),
        ("paraphrase", [gloss(s, wording) for s in symbols for wording in (0, 1)]),
        ("use", [use(s, wording) for s in symbols for wording in (0, 1)]),
    ):
        findings += [f"{what} {key!r} stands for two" for key, n in Counter(keys).items() if n > 1]
    for path, symbol in world.symbols.items():
        names = [n.param for n in symbol.entry.needs] + [c.param for c in symbol.entry.choices]
        if len(set(names)) < len(names):
            findings.append(f"{path}: two parameters of one name")
    for name in filter(re.compile(r".*\.py").fullmatch, world.files):
        try:
            ast.parse(world.files[name])
        except SyntaxError as error:
            findings.append(f"{name}: {error}")
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
