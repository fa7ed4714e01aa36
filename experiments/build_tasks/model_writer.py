"""A chat model writes the texts of a task, in three prompts; what it may decide is checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.models import ModelClient
from experiments.build_tasks import prompts
from experiments.build_tasks.values import LOOSEST, Tolerance
from experiments.build_tasks.writer import Draft, PropertyText, QuestionText, WriterError

_REPAIRS = 1  # further tries after a reply that cannot be used


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
    client
        The model with its retries and its cache.
    """

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        self.name = client.name

    async def properties(self, draft: Draft) -> Sequence[PropertyText]:
        """See `experiments.build_tasks.writer.TaskWriter`."""
        listed = "\n".join(
            f"{place}. `{asked.expression}` (format {asked.shape.format}"
            f"{', the class of the exception' if asked.assertion.kind == 'raises' else ''}"
            f"{', ' + asked.shape.how if asked.shape.how else ''})"
            for place, asked in enumerate(draft.asked)
        )
        question = prompts.PROPERTIES.format(source=draft.program.source, listed=listed)

        def fault(reply: _Properties) -> str | None:
            names = [prop.name for prop in reply.properties]
            if len(set(names)) != len(names):
                return "two properties have the same name"
            return _misnumbered([prop.number for prop in reply.properties], draft)

        reply = await self._ask(draft, question, _Properties, fault, "properties")
        ordered = sorted(reply.properties, key=lambda prop: prop.number)
        return [PropertyText(prop.name, " ".join(prop.description.split())) for prop in ordered]

    async def question(
        self, draft: Draft, properties: Sequence[PropertyText], code: str
    ) -> QuestionText:
        """See `experiments.build_tasks.writer.TaskWriter`."""
        question = prompts.QUESTION.format(
            package=draft.package, listed=_listed(draft, properties), code=code
        )

        def fault(reply: _Question) -> str | None:
            return "code belongs into neither text" if "```" in reply.introduction else None

        reply = await self._ask(draft, question, _Question, fault, "question")
        return QuestionText(reply.introduction.strip(), reply.goal.strip())

    async def verification(
        self, draft: Draft, properties: Sequence[PropertyText]
    ) -> Sequence[Tolerance]:
        """See `experiments.build_tasks.writer.TaskWriter`."""
        listed = "\n".join(
            f"{line} The test: rtol {asked.assertion.rtol:g}, atol {asked.assertion.atol:g}."
            for line, asked in zip(
                _listed(draft, properties).splitlines(), draft.asked, strict=True
            )
        )

        def fault(reply: _Verification) -> str | None:
            for rule, asked in zip(
                sorted(reply.verification, key=lambda rule: rule.number), draft.asked, strict=False
            ):
                if (rule.compare == "close") != ("float" in asked.shape.format):
                    return f"number {rule.number}: {asked.shape.format} is not {rule.compare}"
            return _misnumbered([rule.number for rule in reply.verification], draft)

        question = prompts.VERIFICATION.format(listed=listed)
        reply = await self._ask(draft, question, _Verification, fault, "verification")
        ordered = sorted(reply.verification, key=lambda rule: rule.number)
        return [Tolerance(rule.compare, rule.rtol, rule.atol) for rule in ordered]

    async def _ask(
        self, draft: Draft, question: str, form: type[Answer], fault: Any, purpose: str
    ) -> Answer:
        """The reply in the form asked for, after at most `_REPAIRS` corrections."""
        system = prompts.SYSTEM.format(package=draft.package)
        messages: list[BaseMessage] = [SystemMessage(system), HumanMessage(question)]
        problem = ""
        for attempt in range(_REPAIRS + 1):
            reply = await self._client.ask(messages, sample=f"build_tasks-{attempt}")
            try:
                answer = form.model_validate(_json(reply.text))
                problem = fault(answer) or ""
            except (ValueError, ValidationError) as error:
                problem = _first_line(error)
            else:
                if not problem:
                    return answer
            again = prompts.AGAIN.format(fault=problem)
            messages += [AIMessage(reply.text), HumanMessage(again)]
        raise WriterError(f"the model's {purpose} cannot be used: {problem}")


def _listed(draft: Draft, properties: Sequence[PropertyText]) -> str:
    return "\n".join(
        f"{place}. `{text.name}` ({asked.shape.format}): {text.description}"
        for place, (text, asked) in enumerate(zip(properties, draft.asked, strict=True))
    )


def _misnumbered(numbers: Sequence[int], draft: Draft) -> str | None:
    if sorted(numbers) == list(range(len(draft.asked))):
        return None
    return f"the numbers must be 0 to {len(draft.asked) - 1}, each once"


def _json(text: str) -> Any:
    """The object between the first brace and the last one: models put fences around it."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise ValueError("it holds no JSON object")
    return json.loads(text[start : end + 1])


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error)
