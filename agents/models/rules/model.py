"""The chat model: LangChain's interface, no LLM behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from agents.models.rules import (
    atoms,
    choice,
    coder,
    critic,
    formulas,
    judging,
    papers,
    problems,
    steps,
)  # fmt: skip
from agents.models.rules.reading import read
from docgen import rules_writer
from docgen.prompts import read_prompt

DECLINE = (
    "This is the embedded model without an LLM (model=rules). It only answers benchmark "
    "questions that list properties, and cannot answer this one."
)


class RulesChatModel(BaseChatModel):
    """Deterministic answers to the prompts of this project.

    The last prompt decides: documentation of a symbol (``docgen.prompts``), a text to be judged
    (``<judged>``), a multiple-choice question (lists ``<answer_choices>``), a calculation whose
    formulas are given (``<formulas>``), an action on the atoms of a file, a problem about lattices,
    a smaller step (asks for ``<queries>``, ``<indices>`` or ``<names>``), critique of an attempt
    (asks for ``<feedback>`` and ``<query>``), or code (asks for ``<answer>``). Anything else is
    declined in words.
    """

    @property
    def _llm_type(self) -> str:
        return "rules (no LLM)"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 -- LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> ChatResult:
        message = AIMessage(answer(messages))
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        # Not in a thread as LangChain would: two ast.parse at once can fail with "AST constructor
        # recursion depth mismatch" (seen on CPython 3.11), and the GIL lets only one run anyway.
        return self._generate(messages, stop, **kwargs)


def answer(messages: Sequence[BaseMessage]) -> str:
    """Return the reply to a conversation as text."""
    text = "\n\n".join(message.text for message in messages if message.type == "human")
    if read_prompt(text):
        return rules_writer.write(text)
    for kind in (judging, choice, formulas, atoms, problems, papers):
        said: str | None = kind.answer(text)
        if said is not None:
            return said
    prompt = read(text)
    if prompt is not None and (reply := steps.step(text, prompt)) is not None:
        return reply
    if prompt is None or not prompt.wanted:
        return DECLINE
    if "<feedback>" in text and "<query>" in text:
        return critic.review(prompt)
    code = coder.write(prompt)
    return f"<answer><code>```python\n{code}\n```</code><name>{coder.ENTRY}</name></answer>"
