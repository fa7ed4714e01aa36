"""Chat models for tests: deterministic, counted, without any network."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from docgen.rules_writer import write


class DocModel(BaseChatModel):
    """Writes documentation by rules; keeps every prompt it was given."""

    prompts: list[str] = []  # noqa: RUF012 - a pydantic field, copied per instance

    @property
    def _llm_type(self) -> str:
        return "test"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        prompt = str(messages[-1].text)
        self.prompts.append(prompt)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.reply(prompt)))])

    def reply(self, prompt: str) -> str:
        return write(prompt)


class StubbornModel(DocModel):
    """Refuses the symbols it is told to refuse, with the given text or an exception."""

    refuse: dict[str, str] = {}  # noqa: RUF012

    def reply(self, prompt: str) -> str:
        for name, answer in self.refuse.items():
            if f"<symbol>\n{name}\n</symbol>" in prompt:
                if answer == "raise":
                    raise ConnectionError("refused")
                return answer
        return write(prompt)
