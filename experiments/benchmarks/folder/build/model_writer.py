"""A chat model writes the texts of a task, in three prompts; what it may decide is checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Literal, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from agents.answer_formats import Json
from agents.models.chat import MeteredChat
from docgen.symbols import Library
from experiments.benchmarks import question_gates as gates
from experiments.benchmarks.folder.build import prompts
from experiments.benchmarks.folder.build.sources import reference
from experiments.benchmarks.folder.build.values import LOOSEST, Tolerance
from experiments.benchmarks.folder.build.writer import (
    Excerpt,
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


Answer = TypeVar("Answer", bound="_Reply")
Item = TypeVar("Item", bound="_Numbered")


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Numbered(_Reply):
    number: int


def _by_number(items: list[Item]) -> list[Item]:
    return sorted(items, key=lambda item: item.number)


class _Property(_Numbered):
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")]
    description: Annotated[str, Field(min_length=20)]


class _Properties(_Reply):
    properties: Annotated[list[_Property], AfterValidator(_by_number)]


class _Question(_Reply):
    introduction: Annotated[str, Field(min_length=10)]
    goal: Annotated[str, Field(min_length=40)]


class _Rule(_Numbered):
    compare: Literal["equal", "close"]
    rtol: Annotated[float, Field(ge=0, le=LOOSEST)]
    atol: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Verification(_Reply):
    verification: Annotated[list[_Rule], AfterValidator(_by_number)]


class ModelWriter:
    """Asks a chat model, and shows it the documentation of the package under test."""

    def __init__(self, chat: MeteredChat, library: Library) -> None:
        self.chat = chat
        self._library = library
        self.name = str(chat.name)

    async def properties(self, draft: Excerpt) -> Sequence[PropertyText]:
        """See `.writer.TaskWriter`."""
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
            return found + _misnumbered(reply.properties, draft)

        reply = await self._ask(draft, question, _Properties, faults, "properties")
        return [PropertyText(p.name, " ".join(p.description.split())) for p in reply.properties]

    async def question(
        self, draft: Excerpt, properties: Sequence[PropertyText], code: str
    ) -> QuestionText:
        """See `.writer.TaskWriter`."""
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
        self, draft: Excerpt, properties: Sequence[PropertyText]
    ) -> Sequence[Tolerance]:
        """See `.writer.TaskWriter`."""
        listed = "\n".join(
            f"{line} The test: rtol {asked.assertion.rtol:g}, atol {asked.assertion.atol:g}."
            for line, asked in zip(
                _listed(draft, properties).splitlines(), draft.asked, strict=True
            )
        )

        def faults(reply: _Verification) -> list[str]:
            found = [
                f"number {rule.number}: {asked.shape.format} is not {rule.compare}"
                for rule, asked in zip(reply.verification, draft.asked, strict=False)
                if (rule.compare == "close") != ("float" in asked.shape.format)
            ]
            return found + _misnumbered(reply.verification, draft)

        question = prompts.VERIFICATION.format(listed=listed)
        reply = await self._ask(draft, question, _Verification, faults, "verification")
        return [Tolerance(rule.compare, rule.rtol, rule.atol) for rule in reply.verification]

    def _documentation(self, draft: Excerpt) -> str:
        """What the library says about the asked values; units stand there, seldom in a test."""
        symbols = {s.qualname: s for asked in draft.asked
                   for s in documented(self._library, draft.program, asked)}  # fmt: skip
        texts = [f"`{name}`: {s.docstring[:_DOCUMENT].strip()}" for name, s in symbols.items()]
        return "\n\n".join(texts)[:_DOCUMENTATION] or "(none)"

    async def _ask(
        self,
        draft: Excerpt,
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
            found = Json().read(text)
            try:
                answer = form.model_validate(found.value) if found else None
                problems = ["it holds no JSON object"] if answer is None else faults(answer)
                if answer is not None and not problems:
                    return answer
            except ValidationError as error:
                problems = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
            listed = "\n".join(f"- {problem}" for problem in problems[:_FAULTS])
            messages += [AIMessage(text), HumanMessage(prompts.AGAIN.format(faults=listed))]
        raise WriterError(f"the model's {purpose} cannot be used: {'; '.join(problems[:_FAULTS])}")


def _listed(draft: Excerpt, properties: Sequence[PropertyText]) -> str:
    return "\n".join(
        f"{place}. `{text.name}` ({asked.shape.format}): {text.description}"
        for place, (text, asked) in enumerate(zip(properties, draft.asked, strict=True))
    )


def _library_names(draft: Excerpt) -> list[str]:
    """Names that give the solution away: those that the gates of the finished question look for."""
    asked = {item.number: (f"value_{item.number}", item.shape.code) for item in draft.asked}
    return sorted(gates.library_names(reference(draft.program, asked)))


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _named(where: str, text: str, forbidden: Sequence[str]) -> list[str]:
    words = set(_WORD.findall(text))
    return [f"{where}: must not name {name}" for name in forbidden if name in words]


def _misnumbered(items: Sequence[_Numbered], draft: Excerpt) -> list[str]:
    if [item.number for item in items] == list(range(len(draft.asked))):
        return []
    return [f"the numbers must be 0 to {len(draft.asked) - 1}, each once"]
