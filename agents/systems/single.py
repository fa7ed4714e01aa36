"""Systems that answer once: ``single``, ``rag``, ``graphrag`` and ``code2``."""

from __future__ import annotations

import ast
import sys

from agents import prompts
from agents.answer import CodeAnswer
from agents.base import StopReason
from agents.checks import SHOWN_CHARACTERS
from agents.episode import Episode, Retrieving, System
from agents.models import Message
from agents.templates import TEXTS
from docgen.reading import fences, spoken


class Single(System):
    """The model alone: one prompt, no retrieval, no execution."""

    name = "single"
    uses_retrieval = False
    writes_code = False  # answers in whatever form a question wants
    executes = False
    reads_files = False

    async def _steps(self, episode: Episode) -> StopReason:
        return await episode.conclude(prompts.request_answer(episode.question))


class Rag(Retrieving):
    """Retrieve with the question, one prompt."""

    name = "rag"
    writes_code = False  # answers in whatever form a question wants
    executes = False
    reads_files = False

    async def _steps(self, episode: Episode) -> StopReason:
        question = episode.question
        documents = await episode.retrieve(question.query, self.documents)
        return await episode.conclude(prompts.request_answer(question, documents))


class GraphRag(Rag):
    """``rag`` over a knowledge graph (LightRAG): whatever source is configured, in mode ``graph``.

    The graph is a mode of retrieval, so that a comparison of the two compares what it retrieves.
    """

    name = "graphrag"
    retrieval_mode = "graph"


class Code2(System):
    """Two turns, as OmniMatBench has it: a program of the standard library, then the answer.

    The program runs in the sandbox, and its output stands before the answer.
    """

    name = "code2"
    uses_retrieval = False
    writes_code = False  # the answer itself is in whatever form a question wants

    async def _steps(self, episode: Episode) -> StopReason:
        question = episode.question
        if question.wants_code:
            return await episode.conclude(prompts.request_answer(question))
        messages = [
            *prompts.request_answer(question),
            Message("user", TEXTS["program"]),
        ]
        reply = await episode.ask("program", messages)
        blocks = list(fences(spoken(reply)))
        printed = "nothing: there was no program"
        if blocks:
            printed = await self._run(episode, blocks[-1][1])
        second = TEXTS["printed"].format(
            printed=printed, instruction=question.answer.instruction
        )
        messages += [Message("assistant", reply), Message("user", second)]
        return await episode.conclude(messages)

    async def _run(self, episode: Episode, program: str) -> str:
        """What the program prints, or why it does not."""
        if refused := _foreign(program):
            return f"nothing: it imports {refused}, and only the standard library is allowed"
        # As data: whatever the program is, it stays one literal of the code that runs it.
        code = (
            f"PROGRAM = {program!r}\n\n\ndef main():\n"
            '    exec(compile(PROGRAM, "program.py", "exec"), {"__name__": "__main__"})\n'
            "    return {}\n"
        )
        execution = await episode.execute(CodeAnswer(code, "main", "strict"))
        output = "\n".join(filter(None, [execution.stdout, execution.error or ""]))
        return output.strip()[-SHOWN_CHARACTERS:] or "nothing"


def _foreign(program: str) -> str | None:
    """The first import that is not of the standard library."""
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # it will not run either
    for node in ast.walk(tree):
        names = (
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        )
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            if name.partition(".")[0] not in sys.stdlib_module_names:
                return name
    return None
