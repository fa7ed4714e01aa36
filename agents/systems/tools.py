"""``tools``: the model looks up, runs and decides for itself, and ends with ``answer``.

The conversation is append-only, so that an endpoint can keep its beginning.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace

from agents import prompts
from agents.base import StopReason
from agents.checks import SHOWN_CHARACTERS, cut
from agents.episode import Episode, System
from agents.models import Message, ToolCall
from agents.toolbox.box import Toolbox

MAX_CALLS = 16  # of one reply that are executed
FEW = 3  # replies left, from which on the model is told so
STALE = 3  # replies in a row that only repeat earlier calls end the loop


@dataclass
class Tools(System):
    """A tool-calling loop; a tool whose part is missing is not offered.

    Parameters
    ----------
    max_turns
        Maximum number of model replies.
    """

    name = "tools"
    writes_code = False  # only where the question asks for it
    executes = False
    retrieves_on_demand = True

    max_turns: int = 40

    async def _steps(self, episode: Episode) -> StopReason:
        question = episode.question
        equipment = episode.context
        box = Toolbox(
            equipment.retriever,
            episode.run if equipment.sandbox is not None else None,
            formats=question.formats,
            answers=question.wants_code,
            inputs=list(question.mounts),
        )
        try:
            return await self._loop(episode, box)
        finally:  # however it ended: code that ran is better than none
            if episode.answer is None and box.succeeded is not None:
                episode.answer = replace(box.succeeded, status="repaired")

    async def _loop(self, episode: Episode, box: Toolbox) -> StopReason:
        offered = box.schemas()
        messages = prompts.with_tools(episode.question, list(box.tools))
        recorded = stale = silent = 0
        earlier: set[str] = set()
        for turn in range(1, self.max_turns + 1):
            reply = await episode.converse(
                "tools", messages, tools=offered, already_recorded=recorded
            )
            recorded = len(messages)
            episode.reply = reply.text
            if not reply.tool_calls:
                silent += 1
                code = episode.question.wants_code  # counts only when asked for twice
                if (silent > 1 or not code) and episode.read():
                    return "answered"
                if silent > 1:
                    return "format_error"
                message = Message("assistant", reply.text.strip() or "(nothing)")
                silence = "That called no tool. Call one, or end with `answer`."
                notice = silence if code else "That holds no answer."
                messages += [message, prompts.again(episode.question, notice)]
                continue
            silent = 0
            results = [
                await _result(episode, box, *item)
                for item in enumerate(reply.tool_calls)
            ]
            if box.answered is not None:
                episode.answer = box.answered
                return "answered"
            calls = {_key(call) for call in reply.tool_calls}
            stale = stale + 1 if calls <= earlier else 0
            if stale == STALE:
                return "repeated"
            earlier |= calls
            self._warn(episode, results, turn)
            messages += [reply.message, *results]
        return "iterations"

    def _warn(self, episode: Episode, results: list[Message], turn: int) -> None:
        """Say when few replies are left; a limit must not come as a surprise."""
        left = self.max_turns - turn
        if self.context.budget.calls is not None:
            spent = episode.meter.usage.calls + episode.meter.usage.cached_calls
            left = min(left, self.context.budget.calls - spent)
        if left <= FEW:
            text = f"{results[-1].text}\n\n[{left} more replies are left: answer]"
            results[-1] = replace(results[-1], content=text)


async def _result(
    episode: Episode, box: Toolbox, number: int, call: ToolCall
) -> Message:
    """Make the model's call of a tool; arguments that cannot be read are told to it."""
    if box.answered is not None:
        return Message("tool", "not executed: the answer was given", call_id=call.id)
    if number >= MAX_CALLS:
        text = f"not executed: at most {MAX_CALLS} calls in one reply"
        return Message("tool", text, call_id=call.id)
    started = time.monotonic()
    executed = box.executed
    episode.begin(
        call.name, " ".join(str(value) for value in call.arguments.values())[:200]
    )
    text = call.error or await box.call(call.name, call.arguments)
    ran = {"executions": box.executed - executed} if box.executed > executed else {}
    episode.record(
        "tool",
        name=call.name,
        arguments=dict(call.arguments),
        result=cut(text, SHOWN_CHARACTERS),
        seconds=time.monotonic() - started,
        **ran,
    )
    return Message("tool", text, call_id=call.id)


def _key(call: ToolCall) -> str:
    return json.dumps([call.name, call.error, dict(call.arguments)], sort_keys=True)
