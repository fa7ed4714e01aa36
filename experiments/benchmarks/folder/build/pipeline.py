"""One unit test at a time: record, ask, prove, write; or say why not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from docgen.symbols import Library
from experiments.benchmarks import question_gates as gates
from experiments.benchmarks.folder.benchmark import BuiltFolder, BuiltSpec
from experiments.benchmarks.folder.build.assertions import Unusable
from experiments.benchmarks.folder.build.collect import Program, Rejected
from experiments.benchmarks.folder.build.sources import ENTRY, instrumented, reference, scaffold
from experiments.benchmarks.folder.build.values import (
    MOST_LEAVES,
    ambiguity,
    leaves,
    shape,
    tolerance,
)
from experiments.benchmarks.folder.build.writer import (
    Asked,
    Excerpt,
    PropertyText,
    QuestionText,
    TaskWriter,
    WriterError,
    masks_of,
)
from experiments.benchmarks.question_check import TIMEOUT, Checker
from experiments.benchmarks.question_format import PropertySpec, read_gold
from sandbox.base import Execution, Outcome, Sandbox, SandboxError

Gate = Callable[[BuiltSpec, Mapping[str, Any]], list[str]]


@dataclass(frozen=True)
class Built:
    """A question that was written; ``notes``: tightened tolerances, differences of versions."""

    task_id: str
    test: str
    properties: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Builder:
    """Turns programs into questions.

    Parameters
    ----------
    package
        Import name of the library under test.
    library
        Its symbols; decides what may be masked.
    checker
        With two sandboxes of different hash seeds, and `BuiltSpec` as form.
    second
        Sandbox of a second environment (another version of the library).
    """

    package: str
    library: Library
    writer: TaskWriter
    checker: Checker
    out: BuiltFolder
    second: Sandbox | None = None

    async def build(self, program: Program) -> tuple[Built | None, list[Rejected]]:
        """Write the question of a test, if it is fit to be asked.

        Returns
        -------
        tuple
            What was written (``None``: nothing), and every rejected assertion or test.

        Raises
        ------
        SandboxError, agents.models.ModelError
            When a component of matsmith failed: nothing is known about the test.
        """
        rejected: list[Rejected] = []
        notes: list[str] = []
        try:
            asked = await self._record(program, rejected, notes)
            return await self._write(program, asked, rejected, notes), rejected
        except (Unusable, WriterError) as error:
            # One reason for a whole test, besides those of its single assertions.
            if str(error):
                rejected.append(Rejected(program.test, str(error)))
            return None, rejected

    # --- recording ---------------------------------------------------------------------------

    async def _record(
        self, program: Program, rejected: list[Rejected], notes: list[str]
    ) -> list[Asked]:
        """Run the instrumented test and keep the assertions whose values can be asked for."""
        source = instrumented(program)
        runs = await self.checker.run(source, self.out.root, ENTRY)
        first, other = (_records(run, program) for run in runs)
        second = await self._record_second(source, program, notes)
        asked = []
        for number, assertion in enumerate(program.assertions):
            try:
                _usable(first[number], other[number], assertion.kind)
                if second is not None:
                    note = _compare_versions(first[number]["value"], second[number]["value"])
                    notes += [f"line {assertion.line}: {note}"] if note else []
                found = shape(first[number]["value"])
                if len(leaves(found.value)) > MOST_LEAVES:
                    raise Unusable(f"more than {MOST_LEAVES} values in one property")  # noqa: TRY301
                rule = tolerance(found, assertion)
                notes += [f"line {assertion.line}: {rule.note}"] if rule.note else []
                asked.append(Asked(number, assertion, found, rule))
            except Unusable as error:
                rejected.append(Rejected(program.test, str(error), assertion.line))
        return asked

    async def _record_second(
        self, source: str, program: Program, notes: list[str]
    ) -> list[Any] | None:
        if self.second is None:
            return None
        run = await self.second.run(source, ENTRY, timeout=TIMEOUT)
        if run.outcome is not Outcome.OK:
            notes.append(f"does not run in the second environment: {_last_line(run)}")
            return None
        return _records(run, program)

    # --- writing -----------------------------------------------------------------------------

    async def _write(
        self, program: Program, asked: list[Asked], rejected: list[Rejected], notes: list[str]
    ) -> Built | None:
        while asked:
            masks = masks_of(program, [item.number for item in asked], self.library)
            if not masks:
                raise Unusable("the prompt would give everything away: nothing can be masked")
            draft = Excerpt(program, tuple(asked), masks, self.package)
            texts = await self.writer.properties(draft)
            rules = await self.writer.verification(draft, texts)
            properties = [_property(*of) for of in zip(asked, texts, rules, strict=True)]
            named = {item.number: text.name for item, text in zip(asked, texts, strict=True)}
            gold = {named[item.number]: item.shape.value for item in asked}
            code = scaffold(program, named, masks)
            faults = _faults(properties, gold, code)
            if not faults:
                question = await self.writer.question(draft, texts, code)
                spec = _spec(program, question, code, properties, masks)
                faults = _leaks(spec, gold)
            if not faults:
                return await self._prove(spec, draft, named, gold, notes)
            rejected += [
                Rejected(program.test, faults[named[item.number]], item.assertion.line)
                for item in asked
                if named[item.number] in faults
            ]
            asked = [item for item in asked if named[item.number] not in faults]
        return None

    async def _prove(
        self,
        spec: BuiltSpec,
        draft: Excerpt,
        named: Mapping[int, str],
        gold: Mapping[str, Any],
        notes: Sequence[str],
    ) -> Built:
        """Write the folder; keep it only if the checker of ``live`` finds nothing."""
        program = draft.program
        folder = self.out.questions / program.task_id
        asked = {item.number: (named[item.number], item.shape.code) for item in draft.asked}
        _write_folder(folder, spec, reference(program, asked))
        try:
            findings = list((await self.checker.check(folder, write=True)).findings)
            if not findings:
                proved = gates.verdicts(spec, gold, read_gold(folder, spec))
                findings = [f"the reference gives another {n}: {r}" for n, r in proved.items() if r]
            if findings:
                raise Unusable("; ".join(findings))  # noqa: TRY301 - as above
        except BaseException:
            shutil.rmtree(folder)  # not proved: no question
            raise
        return Built(program.task_id, program.test, tuple(named.values()), tuple(notes))


def _records(run: Execution, program: Program) -> list[Any]:
    if run.outcome is Outcome.INFRA:
        raise SandboxError(run.error or "the sandbox failed")
    if run.outcome is not Outcome.OK:
        raise Unusable(f"the test does not run: {run.outcome}: {_last_line(run)}")
    if not isinstance(run.result, list) or len(run.result) != len(program.assertions):
        raise Unusable("the test ends before its last assertion")
    return run.result


def _last_line(run: Execution) -> str:
    lines = (run.error or "").strip().splitlines()
    return lines[-1] if lines else "no message"


def _usable(first: Mapping[str, Any], other: Mapping[str, Any], kind: str) -> None:
    difference = ambiguity(first["value"], other["value"])
    if difference is not None:
        raise Unusable(f"it differs between hash seeds: {difference.text}")
    if not first["holds"] or not other["holds"]:
        word = "raises" if kind == "raises" else "gives"
        got = repr(first["value"])[:120]
        raise Unusable(
            f"the test is wrong: it expects {first['expected']}, the library {word} {got}"
        )


def _compare_versions(value: Any, second: Any) -> str | None:
    """What to note; another *value* is a change of the library, which is worth asking for."""
    difference = ambiguity(value, second)
    if difference is not None and difference.kind != "value":
        raise Unusable(f"it differs in the second environment: {difference.text}")
    return f"{difference.text} in the second environment" if difference else None


def _property(asked: Asked, text: PropertyText, rule: Any) -> PropertySpec:
    with _writers_fault(f" of {text.name} ({asked.shape.format})"):
        return PropertySpec(
            name=text.name,
            description=text.description,
            format=asked.shape.format,
            compare=rule.compare,
            rtol=rule.rtol,
            atol=rule.atol,
        )


def _spec(
    program: Program,
    question: QuestionText,
    code: str,
    properties: Sequence[PropertySpec],
    masks: Mapping[str, str],
) -> BuiltSpec:
    area = "".join(c if c.isalpha() else "_" for c in program.test.partition("::")[0].lower())
    area = area.rpartition("_py")[0].rpartition("test_")[2].strip("_") or "tests"
    text = f"{question.introduction}\n```python\n{code}\n```\n"
    with _writers_fault():
        return BuiltSpec(
            area=area, masks=dict(masks), properties=list(properties), scaffold=text,
            goal=question.goal,
        )  # fmt: skip


@contextmanager
def _writers_fault(where: str = "") -> Iterator[None]:
    """What a specification refuses, the writer should not have written."""
    try:
        yield
    except ValidationError as error:
        fault = error.errors()[0]
        raise WriterError(f"{'.'.join(map(str, fault['loc']))}{where}: {fault['msg']}") from None


def _faults(
    properties: Sequence[PropertySpec], gold: Mapping[str, Any], code: str
) -> dict[str, str]:
    """Property name to the gate that it does not pass, before any question is written."""
    scaffold = f"```python\n{code}\n```" * 2
    spec = BuiltSpec.model_construct(area="tests", properties=list(properties), scaffold=scaffold)
    return _leaks(spec, gold, gates.check_verification)


def _leaks(spec: BuiltSpec, gold: Mapping[str, Any], *more: Gate) -> dict[str, str]:
    """Property name to the first gate that it does not pass by itself."""
    faults: dict[str, str] = {}
    for prop in spec.properties:
        single = spec.model_copy(update={"properties": [prop]})
        own = {prop.name: gold[prop.name]}
        for gate in (*more, gates.check_answers_hidden):
            for finding in gate(single, own)[:1]:
                faults.setdefault(prop.name, finding)
    return faults


class _Literal(yaml.SafeDumper):
    """Writes texts of several lines as blocks, for people who read them."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Literal.add_representer(str, _text)


def _write_folder(folder: Path, spec: BuiltSpec, solution: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    content = spec.model_dump(mode="json", exclude_defaults=True)
    text = yaml.dump(content, Dumper=_Literal, sort_keys=False, allow_unicode=True, width=100)
    (folder / "task.yaml").write_text(text, encoding="utf-8")
    (folder / "reference.py").write_text(solution, encoding="utf-8")


def write_rejected(path: Path, rejected: Sequence[Rejected]) -> None:
    """One JSON object per line: test, reason, line of the assertion (null: the whole test)."""
    lines = (json.dumps(vars(item), ensure_ascii=False) + "\n" for item in rejected)
    path.write_text("".join(lines), encoding="utf-8")
