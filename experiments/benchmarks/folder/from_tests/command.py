"""Makes benchmark tasks out of unit tests.

``matsmith questions tests=PATH package=NAME out=DIR [env=live]``
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, Field
from rich.console import Console

from docgen.assertions import Unusable
from docgen.library import read_library
from docgen.programs import Program, Rejected, collect, test_files
from docgen.symbols import Library
from experiments.benchmarks import question_gates as gates
from experiments.benchmarks.folder.benchmark import QuestionSet, portable_environment
from experiments.benchmarks.folder.from_tests import parts
from experiments.benchmarks.question_check import Checker
from experiments.benchmarks.question_format import (
    FORMAT,
    MANIFEST,
    TaskSpec,
    read_gold,
)
from experiments.scorers.properties import not_runnable
from foundation.command import Command
from foundation.errors import UsageError
from foundation.progress import meter
from foundation.terminal import printable
from sandbox import environments, stoppable
from sandbox.base import Execution, Outcome


class TestOptions(BaseModel, extra="forbid", frozen=True):
    """Arguments of ``matsmith questions``."""

    tests: Path = Field(description="a test file, or a folder with test_*.py")
    package: str = Field(description="import name of the library under test")
    out: Path = Field(
        description="folder to write; new, or one that an earlier build wrote"
    )
    env: str = Field(
        "live", description="sandbox environment with the library (name or ./path)"
    )
    backend: str = Field(
        "auto", description="isolation: auto, docker, podman, bubblewrap"
    )
    limit: int | None = Field(None, ge=1, description="only the first N tests")


async def build(
    options: TestOptions, console: Console
) -> tuple[dict[str, list[str]], list[Rejected]]:
    """Build every question that the tests give: id -> properties, and what was rejected.

    What is written stays, whatever fails later.
    """
    if not options.tests.exists() or not test_files(options.tests):
        raise UsageError(f"tests={options.tests}: no test_*.py there")
    programs, rejected = collect(options.tests)
    programs = programs[: options.limit]
    questions, lost = options.out / "questions", options.out / "rejected.jsonl"
    # A folder that is ours to write: new, empty, or from an earlier build.
    if options.out.is_file() or (any(options.out.glob("*")) and not lost.exists()):
        raise UsageError(
            f"out={options.out}: not empty, and not written by an earlier build"
        )
    shutil.rmtree(questions, ignore_errors=True)
    questions.mkdir(parents=True)
    write_rejected(lost, [])  # marks the folder as ours, also after a failure
    await stoppable.in_thread(environments.build, options.env, say=console.print)
    with console.status(f"reading {options.package}"):
        site = environments.site_packages(options.env)
        library = read_library([options.package], site).public()
    recorded = sorted({*library.versions, options.package, "numpy", "scipy"})
    async with Checker(options.backend, env=options.env, recorded=recorded) as checker:
        builder = Builder(options.package, library, checker, questions, rejected)
        with meter("building from tests", len(programs), console=console) as progress:
            for program in programs:
                await builder.build(program)
                progress.advance(note=f"{len(builder.built)} questions")
    manifest = QuestionSet(
        package=options.package,
        packages=(options.package,),
        environment=portable_environment(options.env, options.out),
        versions=checker.versions,
        writer="tests",
    )
    text = yaml.safe_dump(manifest.model_dump(mode="json"), sort_keys=False)
    (options.out / MANIFEST).write_text(text, encoding="utf-8")
    write_rejected(lost, rejected)
    return builder.built, rejected


def show(built: Mapping[str, Sequence[str]], rejected: Sequence[Rejected]) -> None:
    """What was built, and why the rest was not, a line each; the texts are foreign."""
    for name, properties in built.items():
        print(printable(f"{name}: {', '.join(properties)}"))
    for item in rejected:
        line = "" if item.line is None else f", line {item.line}"
        print(printable(f"rejected: {item.test}{line}: {item.reason}"))
    count = sum(map(len, built.values()))
    print(f"{len(built)} questions, {count} properties, {len(rejected)} rejected")


async def _action(options: TestOptions) -> int:
    built, rejected = await build(options, Console())
    show(built, rejected)
    print(
        f"{options.out}: {len(built)} questions; every rejected test is in rejected.jsonl"
    )
    return 0 if built else 1


main = Command("matsmith questions", str(__doc__), TestOptions, _action, (OSError,))


@dataclass(frozen=True)
class Builder:
    """Turns programs into questions."""

    package: str  # import name of the library under test
    library: Library  # its symbols; decides what may be masked
    checker: Checker
    questions: Path  # gets one folder per question
    rejected: list[Rejected]  # grows
    built: dict[str, list[str]] = field(
        default_factory=dict
    )  # question -> its properties

    async def build(self, program: Program) -> None:
        """Write the question of a test, if it is fit to be asked."""
        try:
            asked = await self._record(program)
            while asked:
                asked = await self._write(program, asked)
        except Unusable as error:
            # One reason for a whole test, besides those of its single assertions.
            self.rejected.append(Rejected(program.test, str(error)))

    async def _record(self, program: Program) -> list[parts.AskedValue]:
        """Run the instrumented test and keep the assertions whose values can be asked for."""
        runs = await self.checker.run(
            parts.instrumented(program), self.questions, parts.ENTRY
        )
        first, other = (_records(run, program) for run in runs)
        asked = []
        for number, assertion in enumerate(program.assertions):
            try:
                found = _shape(first[number], other[number], assertion.kind)
                tolerance = parts.tolerance(found, assertion)
                asked.append(parts.AskedValue(number, assertion, found, tolerance))
            except Unusable as error:
                self.rejected.append(Rejected(program.test, str(error), assertion.line))
        return asked

    async def _write(
        self, program: Program, asked: list[parts.AskedValue]
    ) -> list[parts.AskedValue]:
        """Write a question; where assertions fail a gate by themselves, return the others."""
        masks = parts.masks_of(program, [item.number for item in asked], self.library)
        if not masks:
            raise Unusable(
                "the prompt would give everything away: nothing can be masked"
            )
        properties = parts.describe(program, asked, masks, self.library)
        names = {
            item.number: prop.name for item, prop in zip(asked, properties, strict=True)
        }
        gold = {names[item.number]: item.shape.value for item in asked}
        listed = ", ".join(f"`{name}`" for name in gold)
        intro = (
            f"With the package {self.package}, completed, this code computes {listed}."
        )
        code = parts.scaffold(program, names, masks)
        spec = (
            TaskSpec.model_construct(  # the checker reads and validates what is written
                area=_area(program),
                masks=masks,
                properties=properties,
                scaffold=f"{intro}\n```python\n{code}\n```\n",
            )
        )
        faults = _faults(spec, gold)
        for item in asked:
            if fault := faults.get(names[item.number]):
                self.rejected.append(Rejected(program.test, fault, item.assertion.line))
        if faults:
            return [item for item in asked if names[item.number] not in faults]
        solution = {
            item.number: (names[item.number], item.shape.code) for item in asked
        }
        await self._prove(program, spec, parts.reference(program, solution), gold)
        self.built[program.task_id] = list(gold)
        return []

    async def _prove(
        self, program: Program, spec: TaskSpec, solution: str, gold: Mapping[str, Any]
    ) -> None:
        """Write the folder; keep it only if the checker of all questions finds nothing."""
        folder = self.questions / program.task_id
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        content = spec.model_dump(mode="json", exclude_defaults=True)
        text = yaml.dump(
            content, Dumper=_Literal, sort_keys=False, allow_unicode=True, width=100
        )
        (folder / "task.yaml").write_text(text, encoding="utf-8")
        (folder / "reference.py").write_text(solution, encoding="utf-8")
        try:
            findings = list((await self.checker.check(folder, write=True)).findings)
            if not findings:
                proved = gates.verdicts(spec, gold, read_gold(folder, spec))
                findings = [
                    f"the reference gives another {n}: {r}"
                    for n, r in proved.items()
                    if r
                ]
            if findings:
                raise Unusable("; ".join(findings))  # noqa: TRY301 - removed below, as after any failure
        except BaseException:
            shutil.rmtree(folder)  # not proved: no question
            raise


def _records(run: Execution, program: Program) -> list[Any]:
    if run.outcome is not Outcome.OK:
        raise Unusable(f"the test does not run: {not_runnable(run)}")
    if not isinstance(run.result, list) or len(run.result) != len(program.assertions):
        raise Unusable("the test ends before its last assertion")
    return run.result


def _shape(
    first: Mapping[str, Any], other: Mapping[str, Any], kind: str
) -> parts.Shape:
    """How the value that an assertion saw in two runs is asked for."""
    if kind == "same" and first["expected"] not in {"True", "False", "None"}:
        raise Unusable("identity is not a value, but with True, False or None")
    if not parts.same(first["value"], other["value"]):
        raise Unusable("it differs between hash seeds")
    if not first["holds"] or not other["holds"]:
        word = "raises" if kind == "raises" else "gives"
        got = repr(first["value"])[:120]
        raise Unusable(
            f"the test is wrong: it expects {first['expected']}, the library {word} {got}"
        )
    found = parts.shape(first["value"], none=kind == "same")
    if not FORMAT.fullmatch(found.format):
        raise Unusable(f"no question asks for {found.format}")
    if len(parts.leaves(found.value)) > parts.MOST_LEAVES:
        raise Unusable(f"more than {parts.MOST_LEAVES} values in one property")
    return found


def _area(program: Program) -> str:
    area = "".join(
        c if c.isalpha() else "_" for c in program.test.partition("::")[0].lower()
    )
    return area.rpartition("_py")[0].rpartition("test_")[2].strip("_") or "tests"


def _faults(spec: TaskSpec, gold: Mapping[str, Any]) -> dict[str, str]:
    """Property name to the first finding of a gate that it does not pass by itself."""
    faults = {}
    for prop in spec.properties:
        alone = (
            spec.model_copy(update={"properties": [prop]}),
            {prop.name: gold[prop.name]},
        )
        if found := [
            *gates.check_verification(*alone),
            *gates.check_answers_hidden(*alone),
        ]:
            faults[prop.name] = found[0]
    return faults


class _Literal(yaml.SafeDumper):
    """Writes texts of several lines as blocks, for people who read them."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Literal.add_representer(str, _text)


def write_rejected(path: Path, rejected: Sequence[Rejected]) -> None:
    """One JSON object per line: test, reason, line of the assertion (null: the whole test)."""
    lines = (json.dumps(vars(item), ensure_ascii=False) + "\n" for item in rejected)
    path.write_text("".join(lines), encoding="utf-8")
