"""From a trajectory and the final run of its code to an answer."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from agents.assistant import provenance
from agents.assistant.answers import Answer, AnswerKind, Figure, OutputFile, Value
from agents.assistant.events import ending
from agents.assistant.files import Looked, drawn
from agents.assistant.tracing import Trace
from agents.base import INFRASTRUCTURE, Step, Trajectory
from agents.models import FAULTS
from sandbox.base import Execution, Outcome, Written
from sandbox.outputs import valid
from sandbox.representation import represent
from sandbox.wire import Element, EnumMember, Msonable, Species

SHOWN = 4000  # characters of a value
ERROR = 2000  # of a traceback
#: Keys of a returned dict that are about the values.
NEEDS, UNITS = "needs_input", "units"
PICTURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
_STRUCTURES = frozenset({"Structure", "IStructure"})


@dataclass(frozen=True)
class Ran:
    """What the final run gave, and what is needed to say where it comes from.

    Attributes
    ----------
    said
        All that the user wrote and was told in this conversation.
    library, folders
        The documents of symbols, and where the packages lie.
    """

    execution: Execution
    trace: Trace | None
    said: str
    library: provenance.Documents | None
    folders: Sequence[Path]


def answer_of(question: str, trajectory: Trajectory, ran: Ran | None, looked: Looked) -> Answer:
    """The answer that a trajectory and the final run of its code make."""
    answer = Answer(
        question,
        "no_code",
        text=_instead(trajectory),
        code=None if trajectory.code is None else valid(trajectory.code),
        entry=trajectory.entry,
        inputs=looked.files,
        tried=tuple(_tried(trajectory.steps)),
        usage=trajectory.usage,
    )
    if ran is None:
        return replace(answer, kind=_without_code(trajectory), figures=looked.figures)
    execution = ran.execution
    answer = replace(
        answer,
        kind="failed",
        text="",
        outcome=str(execution.outcome),
        error=(execution.error or "")[-ERROR:],
        printed=execution.stdout[:SHOWN],
        tier=execution.tier,
    )
    if execution.outcome is not Outcome.OK:
        return replace(answer, figures=looked.figures)
    return _with_values(answer, ran, looked)


def _with_values(answer: Answer, ran: Ran, looked: Looked) -> Answer:
    result = ran.execution.result
    items: dict[str, Any] = {"result": result}
    if isinstance(result, Mapping):
        items = {_key(key): value for key, value in result.items()}
    units, needs = items.get(UNITS), items.get(NEEDS)
    if isinstance(units, Mapping):
        del items[UNITS]
    if isinstance(needs, str):
        del items[NEEDS]
    inputs = [file.name for file in looked.files]
    origins = provenance.origins(
        str(answer.code), str(answer.entry), list(items), ran.trace, inputs=inputs, said=ran.said
    )
    values = tuple(
        Value(name, plain(value), _text(value), _unit(name, value, units), origins[name])
        for name, value in items.items()
    )
    worked_out = any(value.value is not None for value in values)
    kind: AnswerKind = "answered" if worked_out else "needs_input" if needs else "failed"
    missing = valid(needs)[:SHOWN] if isinstance(needs, str) else ""
    if not missing and not worked_out:
        missing = "the code returned no value"
    files = tuple(map(output, ran.execution.files))
    structures = [drawn(name, cell) for name, v in items.items() if (cell := _structure(v))]
    pictures = [Figure(f.name, f.mime, f.data) for f in files if f.mime in PICTURES.values()]
    return replace(
        answer,
        kind=kind,
        text=missing,
        values=values,
        notes=provenance.notes(values, ran.trace, inputs, ran.execution.left),
        sources=provenance.sources(ran.trace, ran.library, ran.folders),
        files=files,
        figures=(*looked.figures, *filter(None, structures), *pictures),
    )


def _key(key: Any) -> str:
    return valid(key) if isinstance(key, str) else represent(key, 100)


def _without_code(trajectory: Trajectory) -> AnswerKind:
    if trajectory.needs is not None:
        return "needs_input"
    if trajectory.stop_reason in INFRASTRUCTURE:
        return "broken"
    return "stopped" if trajectory.stop_reason == "budget" else "no_code"


def _instead(trajectory: Trajectory) -> str:
    """What there is in place of code that works."""
    if trajectory.needs is not None:
        return trajectory.needs
    happened = trajectory.error or FAULTS.get(trajectory.fault or "")
    said = [part for part in (happened, trajectory.answer.strip()) if part]
    return "\n".join(said) or "the model wrote none"


def _text(value: Any) -> str:
    """A value in words: of a structure its formula and size, not its fields."""
    if (cell := _structure(value)) is not None:
        return f"structure of {len(cell['species'])} sites: {_formula(cell['species'])}"
    value = value.item() if isinstance(value, np.generic) else value
    text = represent(value, SHOWN)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."


def _formula(species: Sequence[str]) -> str:
    counts: dict[str, int] = {}
    for name in species[:SHOWN]:
        counts[name] = counts.get(name, 0) + 1
    return " ".join(f"{name[:20]}{count}" for name, count in list(counts.items())[:20])


def _unit(name: str, value: Any, units: Any) -> str | None:
    given = units if isinstance(units, Mapping) else {}
    flat = np.asarray(value) if isinstance(value, list | tuple | float | int | np.generic) else None
    numeric = flat is not None and flat.dtype.kind in "iuf" and not isinstance(value, bool)
    return provenance.unit_of(name, given) if numeric or name in given else None


def plain(value: Any, depth: int = 20) -> Any:
    """A returned value as JSON can hold it; what it cannot is its text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return valid(value)
    if isinstance(value, int) and value.bit_length() < 64:
        return value
    if isinstance(value, float) and np.isfinite(value):
        return value
    if isinstance(value, Element):
        return value.symbol
    if isinstance(value, Species):
        return value.text
    if depth and isinstance(value, EnumMember):
        return plain(value.value, depth - 1)
    if depth and isinstance(value, Msonable):
        return plain(dict(value.fields), depth - 1)
    if depth and isinstance(value, list | tuple):
        return [plain(item, depth - 1) for item in value]
    if depth and isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return plain(value.tolist(), depth - 1)
    if depth and isinstance(value, dict) and all(type(key) is str for key in value):
        return {valid(key): plain(item, depth - 1) for key, item in value.items()}
    return represent(value, SHOWN)


def _structure(value: Any) -> dict[str, Any] | None:
    """Cell and sites of a structure that was returned; ``None`` where it is none."""
    if not isinstance(value, Msonable) or value.class_name.rpartition(".")[2] not in _STRUCTURES:
        return None
    match value.fields:
        case {"lattice": {"matrix": list(matrix)}, "sites": list(sites)}:
            found = [_site(site) for site in sites]
            if all(site is not None for site in found):
                names, places = zip(*filter(None, found), strict=True) if found else ((), ())
                return {"cell": matrix, "species": list(names), "fractions": list(places)}
    return None


def _site(site: Any) -> tuple[str, list[Any]] | None:
    match site:
        case {"species": [{"element": str(name)}, *_], "abc": [_, _, _] as place}:
            return name, place
        case _:
            return None


def output(file: Written) -> OutputFile:
    """A file that the code wrote."""
    mime = next((m for start, m in PICTURES.items() if file.data.startswith(start)), None)
    guessed = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    if mime is None:  # only bytes make a picture; a page must not run what the code wrote
        mime = guessed if guessed.startswith("text/") and "html" not in guessed else ""
    digest = hashlib.sha256(file.data).hexdigest()
    return OutputFile(
        file.name, mime or "application/octet-stream", len(file.data), digest, file.data
    )


def _tried(steps: Collection[Step]) -> list[str]:
    """How each executed draft ended."""
    runs = [s for s in steps if s.kind == "tool" and s.detail["name"] == "run"]
    said = [str(s.detail["result"]).partition("\n")[0] for s in runs]
    return said + [ending(s) for s in steps if s.kind == "execute"]
