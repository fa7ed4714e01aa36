"""A chat model writes the texts of a task, in three prompts; what it may decide is checked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.models.chat import MeteredChat
from docgen.reading import fences, spoken
from docgen.symbols import Library
from experiments.benchmarks import question_gates as gates
from experiments.benchmarks.folder.build import prompts
from experiments.benchmarks.folder.build.sources import reference
from experiments.benchmarks.folder.build.values import LOOSEST, Tolerance
from experiments.benchmarks.folder.build.writer import (
    Draft,
    PropertyText,
    QuestionText,
    WriterError,
    documented,
)

_WORD = re.compile(r"[A-Za-z_]\w*")
_REPAIRS = 1  # further tries after a reply that cannot be used
_FAULTS = 20  # of a reply that are told
_DOCUMENT = 1500  # characters of one docstring
_DOCUMENTATION = 12_000  # of all


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Property(_Reply):
    number: int
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")]
    description: Annotated[str, Field(min_length=20)]


class _Properties(_Reply):
    properties: list[_Property]


class _Question(_Reply):
    introduction: Annotated[str, Field(min_length=10)]
    goal: Annotated[str, Field(min_length=40)]


class _Rule(_Reply):
    number: int
    compare: Literal["equal", "close"]
    rtol: Annotated[float, Field(ge=0, le=LOOSEST)]
    atol: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Verification(_Reply):
    verification: list[_Rule]


Answer = TypeVar("Answer", bound=_Reply)


class ModelWriter:
    """Asks a chat model.

    Parameters
    ----------
    chat
        The model.
    library
        The package under test, whose documentation the model is shown.
    """

    def __init__(self, chat: MeteredChat, library: Library) -> None:
        self.chat = chat
        self._library = library
        self.name = str(chat.name)

    async def properties(self, draft: Draft) -> Sequence[PropertyText]:
        """See `experiments.benchmarks.folder.build.writer.TaskWriter`."""
        listed = "\n".join(
            f"{place}. `{asked.expression}` (format {asked.shape.format}"
            f"{', the class of the exception' if asked.assertion.kind == 'raises' else ''}"
            f"{', ' + asked.shape.how if asked.shape.how else ''})"
            for place, asked in enumerate(draft.asked)
        )
        forbidden = _library_names(draft)
        question = prompts.PROPERTIES.format(
            source=draft.program.source,
            listed=listed,
            documented=self._documentation(draft),
            forbidden=_quoted(forbidden),
        )

        def faults(reply: _Properties) -> list[str]:
            names = [prop.name for prop in reply.properties]
            found = [f"two properties are called {n}" for n in names if names.count(n) > 1]
            for prop in reply.properties:
                for text in (prop.name, prop.description):
                    found += _named(f"number {prop.number}", text, forbidden)
            return found + _misnumbered([prop.number for prop in reply.properties], draft)

        reply = await self._ask(draft, question, _Properties, faults, "properties")
        ordered = sorted(reply.properties, key=lambda prop: prop.number)
        return [PropertyText(prop.name, " ".join(prop.description.split())) for prop in ordered]

    async def question(
        self, draft: Draft, properties: Sequence[PropertyText], code: str
    ) -> QuestionText:
        """See `experiments.benchmarks.folder.build.writer.TaskWriter`."""
        hidden = sorted(draft.masks.values())
        own = {prop.name for prop in properties}
        forbidden = [name for name in _library_names(draft) if name not in own]
        question = prompts.QUESTION.format(
            package=draft.package,
            listed=_listed(draft, properties),
            code=code,
            documented=self._documentation(draft),
            hidden=_quoted(hidden),
            forbidden=_quoted(forbidden),
        )

        def faults(reply: _Question) -> list[str]:
            texts = {"introduction": reply.introduction, "goal": reply.goal}
            found = [f"{name}: holds code" for name, text in texts.items() if "```" in text]
            found += _named("introduction", reply.introduction, hidden)
            return found + _named("goal", reply.goal, forbidden)

        reply = await self._ask(draft, question, _Question, faults, "question")
        return QuestionText(reply.introduction.strip(), reply.goal.strip())

    async def verification(
        self, draft: Draft, properties: Sequence[PropertyText]
    ) -> Sequence[Tolerance]:
        """See `experiments.benchmarks.folder.build.writer.TaskWriter`."""
        listed = "\n".join(
            f"{line} The test: rtol {asked.assertion.rtol:g}, atol {asked.assertion.atol:g}."
            for line, asked in zip(
                _listed(draft, properties).splitlines(), draft.asked, strict=True
            )
        )

        def faults(reply: _Verification) -> list[str]:
            rules = sorted(reply.verification, key=lambda rule: rule.number)
            found = [
                f"number {rule.number}: {asked.shape.format} is not {rule.compare}"
                for rule, asked in zip(rules, draft.asked, strict=False)
                if (rule.compare == "close") != ("float" in asked.shape.format)
            ]
            return found + _misnumbered([rule.number for rule in reply.verification], draft)

        question = prompts.VERIFICATION.format(listed=listed)
        reply = await self._ask(draft, question, _Verification, faults, "verification")
        ordered = sorted(reply.verification, key=lambda rule: rule.number)
        return [Tolerance(rule.compare, rule.rtol, rule.atol) for rule in ordered]

    def _documentation(self, draft: Draft) -> str:
        """What the library says about the asked values; units stand there, seldom in a test."""
        symbols = {s.qualname: s for asked in draft.asked
                   for s in documented(self._library, draft.program, asked)}  # fmt: skip
        texts = [f"`{name}`: {s.docstring[:_DOCUMENT].strip()}" for name, s in symbols.items()]
        return "\n\n".join(texts)[:_DOCUMENTATION] or "(none)"

    async def _ask(
        self,
        draft: Draft,
        question: str,
        form: type[Answer],
        faults: Callable[[Answer], list[str]],
        purpose: str,
    ) -> Answer:
        """The reply in the form asked for, after at most `_REPAIRS` corrections of all faults."""
        system = prompts.SYSTEM.format(package=draft.package)
        messages: list[BaseMessage] = [SystemMessage(system), HumanMessage(question)]
        problems: list[str] = []
        for _ in range(_REPAIRS + 1):
            reply = await self.chat.ainvoke(messages)
            text = str(reply.text)
            try:
                answer = form.model_validate(read_json(text))
                problems = faults(answer)
            except ValidationError as error:
                problems = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}"
                            for e in error.errors(include_url=False)]  # fmt: skip
            except ValueError as error:
                problems = [str(error)]
            else:
                if not problems:
                    return answer
            listed = "\n".join(f"- {problem}" for problem in problems[:_FAULTS])
            messages += [AIMessage(text), HumanMessage(prompts.AGAIN.format(faults=listed))]
        raise WriterError(f"the model's {purpose} cannot be used: {'; '.join(problems[:_FAULTS])}")


def _listed(draft: Draft, properties: Sequence[PropertyText]) -> str:
    return "\n".join(
        f"{place}. `{text.name}` ({asked.shape.format}): {text.description}"
        for place, (text, asked) in enumerate(zip(properties, draft.asked, strict=True))
    )


def _library_names(draft: Draft) -> list[str]:
    """Names that give the solution away: those that the gates of the finished question look for."""
    asked = {item.number: (f"value_{item.number}", item.shape.code) for item in draft.asked}
    return sorted(gates.library_names(reference(draft.program, asked)))


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _named(where: str, text: str, forbidden: Sequence[str]) -> list[str]:
    words = set(_WORD.findall(text))
    return [f"{where}: must not name {name}" for name in forbidden if name in words]


def _misnumbered(numbers: Sequence[int], draft: Draft) -> list[str]:
    if sorted(numbers) == list(range(len(draft.asked))):
        return []
    return [f"the numbers must be 0 to {len(draft.asked) - 1}, each once"]


def read_json(text: str) -> Any:
    """The last fenced object, else the one between the first brace and the last one.

    Raises
    ------
    ValueError
        When there is none.
    """
    said = spoken(text)
    fenced = [block for _, block in fences(said) if "{" in block]
    shown = fenced[-1] if fenced else said
    start, end = shown.find("{"), shown.rfind("}")
    if start < 0 or end < start:
        raise ValueError("it holds no JSON object")
    try:
        return json.loads(shown[start : end + 1])
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error)
