"""How the slots of a reply are read: whatever the authors' parser accepts."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agents.answer_formats import MAX_CHARACTERS, MAX_DEPTH, Json, Reading
from docgen.reading import spoken

#: Under which an object may hold the answer.
_KEYS = ("llm_answer", "answer_list", "answer")
_FENCED = re.compile(r"\A```(?:json)?\s*+(.*?)\s*+```\Z", re.DOTALL | re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\{([^{}]+)\}")


@dataclass(frozen=True)
class Slots:
    """A list of slots, in groups or not, in ``<answer>`` tags; ``shape`` has them empty."""

    shape: Sequence[Any]
    name: str = "slots"

    @property
    def instruction(self) -> str:
        """See :class:`agents.answer_formats.AnswerFormat`."""
        return Json(self.shape).instruction

    def read(self, reply: str) -> Reading | None:
        r"""The list; ``repaired`` where it is not the list asked for.

        In this order: what stands in (perhaps unclosed) tags, as JSON or as the text of one slot;
        JSON that is the reply or stands in it, also under a key of an object; a box.
        """
        if len(reply) > MAX_CHARACTERS:
            return None
        text = spoken(reply).strip()
        before, tag, tagged = text.rpartition("<answer>")
        if tag and (inner := tagged.partition("</answer>")[0].strip()):
            value = _json(inner)
            boxed = _BOXED.search(inner)
            if value is None:
                value = boxed[1].strip() if boxed else inner
            return self._reading(value, strict=not before.strip())
        fenced = _FENCED.match(text)
        text = fenced[1] if fenced else text
        for opening, closing in (("", ""), ("[", "]"), ("{", "}")):
            part = text[max(0, text.find(opening)) : text.rfind(closing) + 1] if opening else text
            if (value := _json(part)) is not None:
                return self._reading(value, strict=False)
        boxes = _BOXED.findall(text)
        return self._reading(boxes[-1].strip(), strict=False) if boxes else None

    def _reading(self, value: Any, *, strict: bool) -> Reading | None:
        if isinstance(value, dict):
            inner = [value[key] for key in _KEYS if value.get(key) not in (None, "", [])]
            value, strict = (inner[0] if inner else str(value)), False
        if value in ("", []):
            return None
        asked = strict and _alike(value, list(self.shape))
        return Reading(value if isinstance(value, list) else [value],
                       "strict" if asked else "repaired")  # fmt: skip


def _alike(value: Any, shape: Any) -> bool:
    """Whether a list has the groups of another one."""
    if not isinstance(shape, list):
        return not isinstance(value, list)
    same = isinstance(value, list) and len(value) == len(shape)
    return same and all(map(_alike, value, shape))


def _json(text: str) -> Any:
    """JSON with its numbers as they are written, LaTeX in it with single backslashes or not."""
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    if deepest > MAX_DEPTH:
        return None
    meant = re.sub(r'(\\\\|\\["/])|\\(?![bfnrtu])', lambda m: m[1] or "\\\\", text)
    for candidate in (text, meant):
        try:
            return json.loads(candidate, parse_float=str, parse_int=str, parse_constant=str)
        except (ValueError, RecursionError):
            continue
    return None
