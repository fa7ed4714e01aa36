"""From a trajectory and the final run of its code to an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.assistant.answers import Answer, AnswerKind, Origin, Source, Value
from agents.assistant.events import ending
from agents.base import INFRASTRUCTURE, Step, Trajectory
from agents.episode import show
from agents.models import FAULTS
from sandbox.base import Execution, Outcome
from sandbox.representation import represent

if TYPE_CHECKING:  # LangChain is slow to import
    from agents.runtime import Runtime

SHOWN = 4000  # characters of a value
ERROR = 2000  # of a traceback


def answer_of(
    question: str, trajectory: Trajectory, execution: Execution | None, runtime: Runtime
) -> Answer:
    """The answer that a trajectory and the final run of its code make."""
    works = execution is not None and execution.outcome is Outcome.OK
    model = runtime.model
    return Answer(
        question,
        _kind(trajectory, execution),
        text="" if works else _instead(trajectory),
        code=trajectory.code,
        entry=trajectory.entry,
        values=values_of(execution.result) if works and execution is not None else (),
        sources=tuple(Source(name, "", "") for name in _looked_up(trajectory.steps)),
        tried=tuple(_tried(trajectory.steps)),
        outcome=None if execution is None else str(execution.outcome),
        error="" if execution is None else (execution.error or "")[-ERROR:],
        printed="" if execution is None else execution.stdout[:SHOWN],
        model=model.name if model.llm else f"{model.name} (no LLM)",
        tier="" if execution is None else execution.tier,
        versions=runtime.versions,
        usage=trajectory.usage,
    )


def _kind(trajectory: Trajectory, execution: Execution | None) -> AnswerKind:
    if execution is not None:
        return "answered" if execution.outcome is Outcome.OK else "failed"
    if trajectory.stop_reason in INFRASTRUCTURE:
        return "broken"
    return "stopped" if trajectory.stop_reason == "budget" else "no_code"


def _instead(trajectory: Trajectory) -> str:
    """What there is in place of code that works."""
    happened = trajectory.error or FAULTS.get(trajectory.fault or "")
    said = [part for part in (happened, trajectory.answer.strip()) if part]
    return "\n".join(said) or "the model wrote none"


def values_of(result: Any) -> tuple[Value, ...]:
    """The values of what the code returned: one per key of a dict, else one named ``result``."""
    items = result.items() if isinstance(result, Mapping) else [("result", result)]
    return tuple(
        Value(key if isinstance(key, str) else represent(key, 100), plain(value),
              show(value, SHOWN), origin=Origin(unknown=("not looked at",)))
        for key, value in items
    )  # fmt: skip


def plain(value: Any, depth: int = 20) -> Any:
    """A returned value as JSON can hold it; what it cannot is its text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int) and value.bit_length() < 64:
        return value
    if isinstance(value, float) and np.isfinite(value):
        return value
    if depth and isinstance(value, list | tuple):
        return [plain(item, depth - 1) for item in value]
    if depth and isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return plain(value.tolist(), depth - 1)
    if depth and isinstance(value, dict) and all(type(key) is str for key in value):
        return {key: plain(item, depth - 1) for key, item in value.items()}
    return represent(value, SHOWN)


def _looked_up(steps: Sequence[Step]) -> list[str]:
    """Names of the documents that were retrieved or looked up, in order."""
    names: list[str] = []
    for step in steps:
        if step.kind == "retrieve":
            names += [str(hit["name"]) for hit in step.detail["hits"]]
        elif step.kind == "tool" and step.detail["name"] in {"lookup", "tree", "source"}:
            given = step.detail["arguments"]
            asked = given.get("names", given.get("name", []))
            names += [asked] if isinstance(asked, str) else [str(name) for name in asked]
    return list(dict.fromkeys(names))


def _tried(steps: Sequence[Step]) -> list[str]:
    """How each executed draft ended."""
    runs = [s for s in steps if s.kind == "tool" and s.detail["name"] == "run"]
    said = [str(s.detail["result"]).partition("\n")[0] for s in runs]
    return said + [ending(s) for s in steps if s.kind == "execute"]
