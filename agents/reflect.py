"""``reflect``: retrieve, generate, execute, check, critique, and again.

The generator really sees what happened: traceback, returned values, findings, critique. Each of
them is a switch, so that an ablation can take it away.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from langchain_core.documents import Document

from agents import prompts
from agents.answer import Answer
from agents.base import Question, StopReason, Trajectory
from agents.checks import contract_findings, fulfilled
from agents.episode import Episode, Parts, run_episode, show
from agents.prompts import Attempt
from sandbox.base import Execution

NextRetrieval = Literal["critic", "draft", "traceback", "off"]
_NAME = re.compile(r"\b[A-Za-z_][\w.]*[A-Za-z0-9]\b")
_FEEDBACK = re.compile(r"<feedback>\s*(.*?)\s*</feedback>", re.DOTALL)
_QUERY = re.compile(r"<query>\s*(.*?)\s*</query>", re.DOTALL)
_TAIL = 3000  # characters of a traceback or of printed text that go back into a prompt


class Reflect:
    """Self-reflection with real feedback.

    Parameters
    ----------
    parts
        Model, retriever, sandbox.
    k
        Documents per retrieval (published: 5).
    max_iterations
        Drafts at most (published: 5).
    feedback_traceback, feedback_values, feedback_critic
        What of the last run the next prompt contains.
    retrieve_next
        Where the next query comes from; ``off`` keeps the first documents.
    check_contract
        Compare the returned dict with the formats in the question; without it only a missing
        key, ``None`` or a failed run makes another iteration.
    select
        ``last`` draft, or ``best``: the one with the most properties in the format asked for, the
        latest of equals.
    """

    name = "reflect"
    uses_retrieval = True

    def __init__(
        self,
        parts: Parts,
        *,
        k: int = 5,
        max_iterations: int = 5,
        feedback_traceback: bool = True,
        feedback_values: bool = True,
        feedback_critic: bool = True,
        retrieve_next: NextRetrieval = "critic",
        check_contract: bool = True,
        select: Literal["last", "best"] = "best",
    ) -> None:
        self.parts = parts
        self.k = k
        self.max_iterations = max_iterations
        self.feedback_traceback = feedback_traceback
        self.feedback_values = feedback_values
        self.feedback_critic = feedback_critic
        self.retrieve_next = retrieve_next
        self.check_contract = check_contract
        self.select = select

    async def solve(self, question: Question, *, seed: int = 0) -> Trajectory:
        """See :class:`agents.base.Agent`."""
        return await run_episode(self.parts, question, seed, self._steps)

    async def _steps(self, episode: Episode) -> StopReason:
        prompt = episode.question.prompt
        first = await episode.retrieve(prompt, self.k)
        latest: list[Document] = []
        attempts: list[Attempt] = []
        best: tuple[int, Answer] | None = None
        for number in range(1, self.max_iterations + 1):
            documents = _merge(first, latest)
            answer = await episode.draft(prompts.generate(prompt, documents, attempts))
            if answer is None:
                return "format_error" if best is None else "iterations"
            execution = await episode.execute(answer)
            findings = self._findings(execution, episode.question)
            episode.check(findings)
            quality = fulfilled(execution, episode.question.formats)
            if self.select == "best" and best is not None and best[0] > quality:
                episode.answer = best[1]
            else:
                best = (quality, answer)
            if not findings:
                return "answered"
            if number == self.max_iterations:
                break
            attempts.append(self._attempt(number, answer, execution, findings))
            latest = await self._reflect(episode, documents, attempts, latest)
        return "iterations"

    def _findings(self, execution: Execution, question: Question) -> list[str]:
        formats = question.formats
        if not self.check_contract:
            formats = dict.fromkeys(formats, "")
        return contract_findings(execution, formats)

    def _attempt(
        self, number: int, answer: Answer, execution: Execution, findings: Sequence[str]
    ) -> Attempt:
        printed = "\n".join(part for part in (execution.stdout, execution.stderr) if part)
        return Attempt(
            number=number,
            code=answer.code,
            outcome=str(execution.outcome),
            traceback=(execution.error or "")[-_TAIL:] if self.feedback_traceback else "",
            returned=show(execution.result, _TAIL) if self.feedback_values else "",
            printed=printed[-_TAIL:] if self.feedback_values else "",
            checks=tuple(findings) if self.check_contract else (),
        )

    async def _reflect(
        self,
        episode: Episode,
        documents: Sequence[Document],
        attempts: list[Attempt],
        latest: list[Document],
    ) -> list[Document]:
        """Critique the last attempt (in place) and return the documents it leads to."""
        last, query = attempts[-1], ""
        if self.feedback_critic or self.retrieve_next == "critic":
            messages = prompts.criticise(episode.question.prompt, documents, attempts)
            reply = await episode.ask("critique", messages)
            feedback, found = _FEEDBACK.search(reply), _QUERY.search(reply)
            if self.feedback_critic:
                text = feedback[1] if feedback else reply.strip()
                attempts[-1] = Attempt(**{**vars(last), "critique": text[:_TAIL]})
            if self.retrieve_next == "critic":
                query = found[1] if found else ""
        if self.retrieve_next == "draft":
            query = " ".join(imported_names(last.code))
        elif self.retrieve_next == "traceback":
            query = " ".join([*last.traceback.splitlines()[-1:], *last.checks])
        return await self._retrieve(episode, query) or latest

    async def _retrieve(self, episode: Episode, query: str) -> list[Document]:
        """Exact documents of the names in ``query`` first, then the search's."""
        exact = await episode.lookup(_NAME.findall(query), self.k)
        return _merge(exact, await episode.retrieve(query, self.k))[: 2 * self.k]


def imported_names(code: str) -> list[str]:
    """Dotted names that the import statements of ``code`` bring in, in order."""
    names = []
    for module, targets in re.findall(r"^\s*from ([\w.]+) import ([\w, ]+)", code, re.MULTILINE):
        for target in targets.split(","):
            name = target.split(" as ")[0].strip()
            if name:
                names.append(f"{module}.{name}")
    return list(dict.fromkeys(names))


def _merge(first: Sequence[Document], second: Sequence[Document]) -> list[Document]:
    """Both lists, each document once."""
    merged = {str(d.metadata.get("id")): d for d in [*first, *second]}
    return list(merged.values())
