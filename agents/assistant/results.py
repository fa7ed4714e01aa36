"""From a trajectory to an answer: its code is run for good, and what that gave is read."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agents.answer import spoken_beside
from agents.assistant import provenance, second_opinion, unit_check
from agents.assistant.answers import (
    Answer,
    AnswerKind,
    Figure,
    OutputFile,
    Trace,
    Value,
    ending,
)
from agents.assistant.files import Looked, drawn
from agents.assistant.second_opinion import Facts
from agents.assistant.syntax import parsed
from agents.base import INFRASTRUCTURE, Step, Trajectory
from agents.models import FAULTS
from docgen.reading import spoken
from sandbox.base import Execution, Mount, Outcome, Sandbox, Written
from sandbox.exchange import valid
from sandbox.inside.values import (
    Element,
    EnumMember,
    Msonable,
    Species,
    is_scalar,
    represent,
)
from sandbox.inside.values import plain as unwrapped

SHOWN = 4000  # characters of a value
ERROR = 2000  # of a traceback
WARNINGS, WARNING = 6, 300  # warnings that are shown, characters of one
#: Keys of a returned dict that are about the values.
NEEDS, UNITS = "needs_input", "units"
PICTURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
}
_STRUCTURES = frozenset({"Structure", "IStructure"})
_LIMITS = frozenset(
    {Outcome.TIMEOUT, Outcome.MEMORY, Outcome.OUTPUT_FLOOD, Outcome.KILLED}
)


async def run_final(
    sandbox: Sandbox, code: str, entry: str, *, timeout: float, mounts: Sequence[Mount]
) -> tuple[Execution, Trace]:
    """Run an answer for good, its files collected.

    Noting what it uses must not change what it does: where such a run does not end well, the code
    runs once more as it is, and nothing is noted.
    """
    inputs = [mount.target for mount in mounts]
    done = await sandbox.call(
        "agents.assistant.tracer",
        "run_traced",
        [code, entry, inputs],
        timeout=timeout,
        mounts=mounts,
        collect=True,
    )
    found: Any = done.result if done.outcome is Outcome.OK else None
    if isinstance(found, dict) and "value" in found:
        try:
            trace = Trace.model_validate(
                {n: part for n, part in found.items() if n != "value"}
            )
            return replace(done, result=found["value"], payload=None), trace
        except ValidationError:
            pass  # the code replaced it
    if done.outcome not in _LIMITS:
        done = await sandbox.run(
            code, entry, timeout=timeout, mounts=mounts, collect=True
        )
    return done, Trace(noted=False)


def answer_of(
    question: str, trajectory: Trajectory, looked: Looked, failed: Sequence[str] = ()
) -> Answer:
    """What a trajectory answers; code has to be run yet (`completed`). ``failed``: those before."""
    code = trajectory.code
    kind, text = _instead(trajectory) if code is None else ("failed", "")
    stated = unit_check.stated_quantities(text, question) if kind == "explained" else []
    return Answer(
        question,
        kind,
        text,
        notes=(_unexecuted(stated),) if stated else (),
        said="" if code is None else valid(spoken_beside(trajectory.answer)),
        code=None if code is None else valid(code),
        entry=trajectory.entry,
        inputs=looked.files,
        figures=looked.figures,
        tried=(*_tried(trajectory.steps), *failed),
        usage=trajectory.usage,
    )


def _unexecuted(quantities: Sequence[str]) -> str:
    """The note on quantities that a model stated in words."""
    listed = ", ".join(quantities[:-1])
    listed = f"{listed} and {quantities[-1]}" if listed else quantities[-1]
    are = "are" if len(quantities) > 1 else "is"
    return f"no code was executed; {listed} {are} the model's statement"


def completed(
    answer: Answer, ran: tuple[Execution, Trace], looked: Looked, said: str
) -> Answer:
    """The answer with what the final run of its code gave; ``said`` is the conversation so far."""
    execution, trace = ran
    answer = replace(
        answer,
        outcome=str(execution.outcome),
        error=(execution.error or "")[-ERROR:],
        printed=execution.stdout[:SHOWN],
        tier=execution.confinement,
    )
    if execution.outcome is not Outcome.OK:
        return answer
    items: dict[str, Any] = {"result": execution.result}
    if isinstance(execution.result, Mapping):
        items = {
            valid(key) if isinstance(key, str) else represent(key, 100): value
            for key, value in execution.result.items()
        }
    units = items.pop(UNITS) if isinstance(items.get(UNITS), Mapping) else {}
    needs = items.pop(NEEDS) if isinstance(items.get(NEEDS), str) else ""
    inputs = {file.name: Path(file.path) for file in looked.files}
    given = provenance.Supplied(said, inputs)
    tree = parsed(str(answer.code))
    literals = provenance.Literals.of(tree, items.keys())
    own = provenance.assumed(literals.data, given)
    values = tuple(
        Value(
            name,
            shown := plain(value),
            _text(value),
            unit_of(name, value, units),
            provenance.repeated(name, shown, literals, given),
        )
        for name, value in items.items()
    )
    works = any(value.value is not None for value in values)
    new_inputs = {name: path for name, path in inputs.items() if name in looked.new}
    chooses_tolerance = "tolerance" in str(
        answer.code
    )  # of the parser: its reading differs
    about_files = [
        line
        for name, facts in looked.facts.items()
        if name in trace.read and not chooses_tolerance
        for line in second_opinion.about_file(name, facts)
    ]
    files = tuple(map(_output, execution.files))
    structures = [
        drawn(name, cell) for name, v in items.items() if (cell := _structure(v))
    ]
    pictures = [
        Figure(f.name, f.mime, f.data) for f in files if f.mime in PICTURES.values()
    ]
    return replace(
        answer,
        kind="answered" if works else "needs_input" if needs else "failed",
        text=valid(needs)[:SHOWN] or ("" if works else "the code returned no value"),
        values=values,
        read=tuple(sorted(trace.read)),
        notes=(
            *warning_notes(execution, trace, looked.facts),
            *about_files,
            *second_opinion.contradictions(
                values, trace, looked.facts, tree, answer.question
            ),
            *second_opinion.broken_laws(values, looked.facts, tree, trace),
            *unit_check.unconverted(values, trace, tree),
            *unit_check.degrees_as_radians(tree),
            *provenance.other_sites(answer.question, tree, looked.facts),
            *provenance.unheeded(answer.question, tree, trace),
            *provenance.notes(values, trace, own, new_inputs),
            *(f"not handed over: {line}" for line in execution.left),
        ),
        sources=trace.sources,
        files=files,
        figures=_once([*looked.figures, *filter(None, structures), *pictures]),
    )


_STANDARD_WARNING = re.compile(r"^\S+:\d+: (\w*Warning): (.*)$")
_ABOUT_CODE = ("Deprecat", "Future", "Import", "Resource", "PendingDeprecat")
_PROGRESS = re.compile(r"\r|\d+%\||it/s")


def warning_notes(execution: Execution, trace: Trace, facts: Facts) -> Iterator[str]:
    """What libraries warned of while the answer ran, each once, in their own words.

    Where the run could not be followed they are read from stderr, as Python writes them there.
    What a parser says of a file that another reader reads in the same way is left out.
    """
    messages = [*trace.warnings, *_stderr_messages(execution.stderr, trace)]
    settled = {
        message
        for known in facts.values()
        if second_opinion.is_confirmed(known)
        for message in known.get("warnings", ())
    }
    unique = dict.fromkeys(valid(" ".join(m.split()))[:WARNING] for m in messages)
    remaining = [message for message in unique if message not in settled]
    yield from (f"warning of the run: {message}" for message in remaining[:WARNINGS])
    if len(remaining) > WARNINGS:
        yield f"and {len(remaining) - WARNINGS} more warnings"


def _stderr_messages(stderr: str, trace: Trace) -> Iterator[str]:
    """Lines of stderr that say something; of Python's own warnings only unrecorded ones."""
    inside_warning = (
        False  # it ends with the line of code that warned, which is indented
    )
    for line in stderr.splitlines():
        standard = _STANDARD_WARNING.match(line)
        if standard is not None:
            inside_warning = True
            if not trace.noted and not standard[1].startswith(_ABOUT_CODE):
                yield standard[2]
        elif inside_warning:
            inside_warning = not line.startswith("  ")
        elif line.strip() and not _PROGRESS.search(line):
            yield line.strip()


def _once(figures: Sequence[Figure]) -> tuple[Figure, ...]:
    """Each structure and picture once, under its first title."""
    found: dict[object, Figure] = {}
    for figure in figures:
        shape = (
            json.dumps(plain(dict(figure.structure)))
            if figure.structure
            else figure.data
        )
        found.setdefault(shape, figure)
    return tuple(found.values())


def _instead(trajectory: Trajectory) -> tuple[AnswerKind, str]:
    """What there is in place of code."""
    if trajectory.needs is not None:
        return "needs_input", valid(trajectory.needs)
    happened = trajectory.error or FAULTS.get(trajectory.fault or "")
    reply = spoken(trajectory.answer).strip()
    said = (
        valid("\n".join(filter(None, [happened, reply]))) or "the model replied nothing"
    )
    if trajectory.stop_reason in INFRASTRUCTURE:
        return "broken", said
    if trajectory.stop_reason == "budget":
        return "stopped", said
    explains = trajectory.answer.strip() and trajectory.fault is None
    return "explained" if explains else "no_code", said


def _text(value: Any) -> str:
    """A value in words: of a structure its formula and size, not its fields."""
    if (cell := _structure(value)) is not None:
        counts = Counter(cell["species"])
        formula = " ".join(
            f"{name[:20]}{count}" for name, count in list(counts.items())[:20]
        )
        return f"structure of {len(cell['species'])} sites: {formula}"
    text = represent(value.item() if is_scalar(value) else value, SHOWN)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."


def unit_of(name: str, value: Any, given: Mapping[str, Any]) -> str | None:
    """The unit of a value: as the code says (``units``), else of a number as its name ends."""
    if isinstance(said := given.get(name), str):
        return valid(said)[: provenance.TEXT] or None
    numbers = unwrapped(value)
    while isinstance(numbers, list | tuple) and numbers:
        numbers = numbers[0]
    numeric = isinstance(numbers, int | float) and not isinstance(numbers, bool)
    return second_opinion.split_unit(name)[1] if numeric else None


def plain(value: Any, depth: int = 20) -> Any:
    """A returned value as JSON can hold it; what it cannot is its text."""
    match unwrapped(value):
        case None | bool() as same:
            return same
        case str() as text:
            return valid(text)
        case int() as number if number.bit_length() < 64:
            return number
        case float() as number if math.isfinite(number):
            return number
        case Element(symbol=name) | Species(text=name):
            return name
        case EnumMember(value=inner) if depth:
            return plain(inner, depth - 1)
        case Msonable(fields=fields) if depth:
            return plain(dict(fields), depth - 1)
        case list() | tuple() as items if depth:
            return [plain(item, depth - 1) for item in items]
        case dict() as items if depth and all(type(key) is str for key in items):
            return {valid(key): plain(item, depth - 1) for key, item in items.items()}
    return represent(value, SHOWN)


def _structure(value: Any) -> dict[str, Any] | None:
    """Cell and sites of a structure that was returned; ``None`` where it is none."""
    if (
        not isinstance(value, Msonable)
        or value.class_name.rpartition(".")[2] not in _STRUCTURES
    ):
        return None
    try:
        sites = value.fields["sites"]
        return {
            "cell": value.fields["lattice"]["matrix"],
            "fractions": [site["abc"] for site in sites],
            "species": [str(site["species"][0]["element"]) for site in sites],
        }
    except (KeyError, IndexError, TypeError):
        return None


def _output(file: Written) -> OutputFile:
    """A file that the code wrote; only bytes make a picture, for a page must not run anything."""
    kinds = (mime for start, mime in PICTURES.items() if file.data.startswith(start))
    digest = hashlib.sha256(file.data).hexdigest()
    mime = next(kinds, "application/octet-stream")
    return OutputFile(file.name, mime, len(file.data), digest, file.data)


def _tried(steps: Collection[Step]) -> list[str]:
    """How each executed draft ended."""
    runs = [s.detail for s in steps if s.kind == "tool" and s.detail["name"] == "run"]
    drafts = [s.detail for s in steps if s.kind == "execute"]
    said = [outcome_line(str(run["result"])) for run in runs]
    return said + [ending(draft["outcome"], str(draft["error"])) for draft in drafts]


def outcome_line(result: str) -> str:
    """Outcome and exception in one line, from what the tool ``run`` says of an execution."""
    outcome = re.search(r"^outcome: (.+)$", result, re.MULTILINE)
    error = re.search(
        r"^error:\n(.+?)(?=\n[a-z ]+:\n|\Z)", result, re.MULTILINE | re.DOTALL
    )
    first = outcome[1] if outcome else result.partition("\n")[0]
    return ending(first, error[1] if error else "")
