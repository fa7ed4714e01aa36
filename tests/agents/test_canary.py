"""Nothing of the verification reaches an agent: a canary among the expected values stays unseen."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from rich.console import Console

from agents.base import Question
from experiments.record import read_rows
from experiments.run.config import validate
from experiments.run.loop import execute
from experiments.samples import Property, Sample
from experiments.scorers.properties import PropertyScorer
from sandbox.factory import available
from sandbox.inside.tagged import dumps
from tests.support.samples import table

CANARY = "canary-9f27c1d4e8"  # never written whole into a draft

TRIED = table("canary")
HUNT: str = TRIED["hunt"]
DOORS: list[tuple[str, dict[str, Any]]] = TRIED["doors"]


class Hunter:
    """Sends the hunting draft, and critiques, or tries one tool after the other."""

    async def __call__(self, body: dict[str, Any]) -> Any:
        messages = body["messages"]
        text = "\n".join(str(message["content"]) for message in messages)
        SEEN.append(text)
        if "You have tools" in text:
            name, arguments = DOORS[
                sum(message["role"] == "assistant" for message in messages)
            ]
            call = {
                "id": "x",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            return {"choices": [{"message": {"tool_calls": [call]}}]}
        reply = f"<answer><code>```python\n{HUNT}\n```</code><name>hunt</name></answer>"
        if "<query>" in text:
            reply = "<feedback>look further</feedback><query>expected values</query>"
        return {"choices": [{"message": {"content": reply}}]}


SEEN: list[str] = []


@dataclass(frozen=True)
class CanaryBenchmark:
    """Two questions with the canary as expected value."""

    name: str = "canary"
    packages: Sequence[str] = ("latexcodec",)
    scorer = PropertyScorer()

    def load(self) -> list[Sample]:
        """Both tasks."""
        expected = {
            "found": ([], "list[str]"),
            "looked_anywhere": (True, "bool"),
            "secret": (CANARY, "str"),
        }
        properties = tuple(
            Property(name, "A property.", form, dumps(value))
            for name, (value, form) in expected.items()
        )
        formats = {name: form for name, (_, form) in expected.items()}
        asked = "\n".join(
            f"- `{name}`: a value. Format: {form}." for name, form in formats.items()
        )
        return [
            Sample(
                Question(f"q{n}", asked, formats), properties, "live", reference=CANARY
            )
            for n in (1, 2)
        ]


@pytest.mark.long
@pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine")
@pytest.mark.parametrize(
    ("system", "settings", "prompts"),
    [
        # draft, critique, draft, of two questions
        ("reflect.Reflect", {"max_iterations": 2, "economical": False}, 6),
        ("reflect.Reretrieve", {"max_iterations": 2}, 6),
        ("tools.Tools", {}, 2 * len(DOORS)),
    ],
)
async def test_the_canary_is_in_no_prompt_no_file_no_environment_and_behind_no_tool(
    tmp_path, system, settings, prompts
):
    SEEN.clear()
    retrieval = "llm_doc" if system == "tools.Tools" else "none"
    config = validate(
        {
            "system": {
                "_target_": f"agents.systems.{system}",
                "name": "tested",
                **settings,
            },
            "benchmark": {
                "_target_": "tests.agents.test_canary.CanaryBenchmark",
                "name": "canary",
            },
            "retrieval": {"name": retrieval, "source": retrieval},
            "model": {
                "provider": "class",
                "name": "hunter",
                "cache": False,
                "tools": "text",
                "path": "tests.agents.test_canary.Hunter",
            },
            "embedding": {"name": "none"},
            # one worker: the second question's drafts run where the first one's were, after its
            # verification
            "sandbox": {"backend": "auto", "timeout": 60, "workers": 1},
            "concurrency": 1,
            "out": str(tmp_path / "run"),
        }
    )
    folder = await execute(config, Console(file=io.StringIO()))
    rows = list(read_rows(folder / "results.jsonl"))
    # The verification did know it: the property that is the canary failed, the hunt found nothing.
    assert [row.passed for row in rows] == [
        {"found": True, "looked_anywhere": True, "secret": False}
    ] * 2
    assert not any(CANARY in prompt for prompt in SEEN)
    steps = [
        json.loads(path.read_text())["steps"]
        for path in (folder / "trajectories").glob("*.json")
    ]
    assert len(steps) == 2
    assert CANARY not in json.dumps(steps)
    assert len(SEEN) == prompts
    if system == "tools.Tools":
        whole = SEEN[len(DOORS) - 1]
        assert whole.count("<result tool=") == len(DOORS) - 1
        assert whole.count("outcome: ok") == 2
        assert "no tool" not in whole
        assert "found = [] (list)" in whole
        assert "stdout:\n[] " in whole
