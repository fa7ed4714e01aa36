"""Replies of a language model, recorded in files that are played in its place.

A line of a recording (``model=recorded``) is one exchange: where in a run it was asked, a digest of
each segment of its prompt, and what the endpoint sent. It holds no prompt. Played, a reply goes
through the same reader as a live one; retrieval, prompts, sandbox and verdicts are real. With
``model.strict=true`` a prompt that has changed is refused, and so is a reply that nobody asked for;
otherwise changes are counted and told.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agents.models.calls import Message, plain_calls, plain_message
from agents.models.config import MARK, ModelConfig
from agents.models.reply import ModelError, Sent
from agents.models.written import ToolSchemas
from foundation.errors import UsageError
from foundation.jsonl import JsonLines

SHIPPED = Path(__file__).resolve().parents[1] / "recordings"
SEGMENTS = ("instructions", "question", "documents", "feedback")


HOW = (
    "To ask a model instead, set OPENAI_API_KEY, or model.base_url and model.name of any "
    "OpenAI-compatible endpoint"
)

#: Sections of a prompt, by the tags that `agents.prompts` puts around them.
_SECTION = re.compile(
    r"<(?P<documents>documents|sources|candidates|contents)\b.*?</(?P=documents)>"
    r"|<(?P<document>document) name=.*?</document>"
    r"|<(?P<feedback>attempt|reply)\b.*?</(?P=feedback)>",
    re.DOTALL,
)
#: What of a traceback or a number depends on the machine: addresses, folders, versions of Python,
#: the marks below a line, the last digits.
_MACHINE = (
    (re.compile(r"\b0x[0-9a-fA-F]{6,16}\b"), "0x"),
    (re.compile(r"[^\s\"'<>(]*/(?:site-packages|python3\.\d+)/"), "/"),
    (re.compile(r"\n[ \t]*[~^]+[~^ \t]*(?=\n|$)"), ""),
    (re.compile(r"(\d\.\d{9})\d+"), r"\1"),
)


class RecordingError(ModelError, UsageError):
    """Something was not recorded, or is not what was recorded."""


@dataclass(frozen=True)
class RecordingScope:
    """What a model is asked for: recordings of one are not played in another.

    ``settings`` are the benchmark's, as far as they are plain values and no paths.
    """

    benchmark: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    system: str = ""
    retrieval: str = ""


@dataclass(frozen=True)
class RecordingKey:
    """Where in a run a request is made; ``turn`` counts those of the same purpose before it."""

    question: str
    seed: int
    purpose: str
    turn: int
    text: str = field(
        default="", repr=False, compare=False
    )  # the question as a prompt shows it

    def __str__(self) -> str:
        return f"{self.question}, seed {self.seed}, {self.purpose} {self.turn + 1}"


def digests(
    recording_key: RecordingKey, messages: Sequence[Message], tools: ToolSchemas = ()
) -> dict[str, str]:
    """A digest of each segment of a prompt; every character of it is part of one."""
    segments: dict[str, list[str]] = {name: [] for name in SEGMENTS}
    if tools:
        segments["instructions"].append(json.dumps(list(tools), sort_keys=True))
    replied = False
    for message in messages:
        plain = plain_message(message)
        role, content = plain["role"], plain["content"]
        whole = (
            content if isinstance(content, str) else json.dumps(content, sort_keys=True)
        )
        text = f"{role}: {whole}"
        if message.role in {"assistant", "tool"} or replied:
            calls = [(call["name"], call["args"]) for call in plain_calls(message)]
            asked = json.dumps(calls, sort_keys=True) if calls else ""
            segments["feedback"].append(f"{text}{asked}")
            replied = True
            continue
        for name, piece in _pieces(text, recording_key.text.strip()):
            segments[name].append(piece)
    return {
        name: _digest("\0".join(pieces)) for name, pieces in segments.items() if pieces
    }


def _pieces(text: str, question: str) -> Iterator[tuple[str, str]]:
    """The text in its segments; in place of each that it holds, instructions say so."""
    around = text.split(question) if question else [text]
    for number, part in enumerate(around):
        if number:
            yield "question", question
            yield "instructions", "[question]"
        end = 0
        for match in _SECTION.finditer(part):
            name = "feedback" if match["feedback"] else "documents"
            yield "instructions", f"{part[end : match.start()]}[{name}]"
            yield name, match[0]
            end = match.end()
        yield "instructions", part[end:]


def _digest(text: str) -> str:
    for machine, instead in _MACHINE:
        text = machine.sub(instead, text)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12]


class Recorder:
    """Appends every exchange to a file, one line each, flushed at once."""

    def __init__(self, path: Path, scope: RecordingScope, model: str) -> None:
        # half a character is read back as it was
        self._lines = JsonLines(path, halves="backslashreplace")
        self._scope, self._model = scope, model

    def add(
        self,
        recording_key: RecordingKey,
        messages: Sequence[Message],
        tools: ToolSchemas,
        sent: Sent | str,
    ) -> None:
        """Keep what was sent, or why the endpoint found the prompt too long."""
        reply = (
            {"overflow": sent}
            if isinstance(sent, str)
            else sent.model_dump(exclude_defaults=True)
        )
        where = asdict(recording_key)
        del where["text"]
        prompt = digests(recording_key, messages, tools)
        exchange = {"prompt": prompt, "reply": reply, "digest": _digest_of(reply)}
        self._lines.append(
            {"model": self._model, **asdict(self._scope), **where, **exchange}
        )


def _digest_of(reply: Mapping[str, Any]) -> str:
    text = json.dumps(reply, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Exchange(BaseModel, extra="forbid", frozen=True):
    """One line."""

    model: str
    benchmark: str
    settings: dict[str, Any]
    system: str
    retrieval: str
    question: str
    seed: int
    purpose: str
    turn: int
    prompt: dict[str, str]
    reply: dict[str, Any]
    digest: str

    @property
    def recording_key(self) -> RecordingKey:
        """Where in a run of its scope it was asked."""
        return RecordingKey(self.question, self.seed, self.purpose, self.turn)

    def fits(self, scope: RecordingScope) -> bool:
        """Whether it was asked in this scope; settings that did not exist then do not count."""
        return (self.benchmark, self.system, self.retrieval) == (
            scope.benchmark,
            scope.system,
            scope.retrieval,
        ) and all(
            scope.settings.get(name, value) == value
            for name, value in self.settings.items()
        )


class Recordings:
    """What was recorded of one model in one scope; of two exchanges with one key the last counts.

    Raises `RecordingError` when the files cannot be read, or hold replies of other models only.
    """

    def __init__(self, config: ModelConfig, scope: RecordingScope) -> None:
        self.strict, self.scope = config.strict, scope
        where = config.recordings or SHIPPED
        files = sorted(where.glob("*.jsonl*")) if where.is_dir() else [where]
        exchanges = [exchange for file in files for exchange in read_exchanges(file)]
        name = config.name.removesuffix(MARK)
        mine = [exchange for exchange in exchanges if exchange.model == name]
        if exchanges and not mine:
            others = ", ".join(sorted({exchange.model for exchange in exchanges}))
            raise RecordingError(
                f"model.name={name}: {where} holds replies of {others}"
            )
        self._exchanges = {
            each.recording_key: each for each in mine if each.fits(scope)
        }
        self._played: set[RecordingKey] = set()

    def check(self, asked: Iterable[tuple[str, int]]) -> None:
        """Refuse questions (id, seed) of which no reply was recorded."""
        wanted = list(asked)
        recorded = {
            (recording_key.question, recording_key.seed)
            for recording_key in self._exchanges
        }
        missing = [job for job in wanted if job not in recorded]
        if not missing:
            return
        there = f"{len(wanted) - len(missing)} of {len(wanted)} questions are recorded"
        hint = f"{there}; the first that is not: {missing[0][0]}, seed {missing[0][1]}"
        scope = self.scope
        raise RecordingError(
            f"no reply was recorded for system={scope.system} retrieval={scope.retrieval} on "
            f"{scope.benchmark} ({hint}; docs/results.md lists what is). {HOW}"
        )

    def play(
        self,
        recording_key: RecordingKey | None,
        messages: Sequence[Message],
        tools: ToolSchemas,
    ) -> tuple[Sent | str, tuple[str, ...]]:
        """What was sent (a text: the prompt was too long), and which segments have changed.

        Raises `RecordingError` when nothing was recorded, or something else in strict mode.
        """
        exchange = self._exchanges.get(recording_key) if recording_key else None
        if recording_key is None or exchange is None:
            raise RecordingError(
                f"{recording_key or 'this request'}: no reply was recorded. {HOW}"
            )
        now = digests(recording_key, messages, tools)
        changed = tuple(
            name for name in SEGMENTS if now.get(name) != exchange.prompt.get(name)
        )
        if changed and self.strict:
            raise RecordingError(
                f"{recording_key}: the prompt has changed since it was recorded: "
                f"{', '.join(changed)} (model.strict=true)"
            )
        self._played.add(recording_key)
        if "overflow" in exchange.reply:
            return str(exchange.reply["overflow"]), changed
        return Sent.model_validate(exchange.reply), changed

    def ended(self, question: str, seed: int) -> None:
        """Refuse, where changes are not allowed, a reply that nobody asked for."""
        for recording_key in (
            self._exchanges.keys() - self._played if self.strict else ()
        ):
            if (recording_key.question, recording_key.seed) == (question, seed):
                raise RecordingError(
                    f"{recording_key}: was recorded and not asked for (model.strict=true)"
                )


def read_exchanges(path: Path) -> list[_Exchange]:
    """The exchanges of a file, packed or not; half a line at its end, of a killed run, is none.

    Raises `RecordingError` when it cannot be read, or a line is not as it was recorded.
    """
    try:
        content = path.read_bytes()
        text = gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise RecordingError(
            f"model.recordings: cannot read {path}: {error}"
        ) from error
    exchanges = []
    for number, line in enumerate(text.split(b"\n")[:-1], 1):
        try:
            exchange = _Exchange.model_validate(json.loads(line))
            if "overflow" not in exchange.reply:
                Sent.model_validate(exchange.reply)
        except (ValueError, RecursionError):
            raise RecordingError(
                f"{path}, line {number}: is not a recorded exchange"
            ) from None
        if exchange.digest != _digest_of(exchange.reply):
            raise RecordingError(
                f"{path}, line {number}: the reply is not what was recorded"
            )
        exchanges.append(exchange)
    return exchanges


def counted(steps: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many of an answer's prompts were played, have changed, and failed, and where."""
    noted = [detail["recorded"] for detail in steps if "recorded" in detail]
    sums = Counter(name for names in noted for name in names)
    return (
        {"prompts": len(noted), "changed": sum(map(bool, noted)), **sums}
        if noted
        else {}
    )


def remark(sums: Mapping[str, int]) -> str:
    """The same in words; empty where nothing was played."""
    prompts, changed = sums.get("prompts", 0), sums.get("changed", 0)
    if not prompts:
        return ""
    if failed := sums.get("failed", 0):
        return (
            f"{failed} of {prompts} prompts have no recorded reply that may be played"
        )
    if not changed:
        return f"all {prompts} prompts as they were recorded"
    where = ", ".join(name for name in SEGMENTS if sums.get(name))
    return (
        f"{changed} of {prompts} prompts have changed since they were recorded: {where}"
    )
