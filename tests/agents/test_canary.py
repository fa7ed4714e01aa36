"""Nothing of the verification reaches an agent: a canary among the expected values stays unseen."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from rich.console import Console

from agents.base import Question
from experiments.config import validate
from experiments.job import execute
from experiments.rows import read_rows
from experiments.samples import Property, Sample
from experiments.scorers.properties import PropertyScorer
from sandbox.factory import available
from sandbox.runner import dumps

CANARY = "canary-9f27c1d4e8"  # never written whole into a draft

# Looks through everything a draft can read but the installed libraries, then fails, so that the
# next prompts hold all the feedback there is.
HUNT = """\
def hunt():
    import os
    wanted = ("canary-" + "9f27" + "c1d4e8").encode()
    found = [name for name, value in os.environ.items() if wanted.decode() in name + value]
    looked = 0
    for folder, folders, files in os.walk("/"):
        pruned = {"sys", "usr", "site-packages", "lib-dynload"}
        folders[:] = [name for name in folders if name not in pruned]
        for name in files:
            path = os.path.join(folder, name)
            try:
                if path.startswith("/proc") and name not in ("environ", "cmdline"):
                    continue
                if not os.path.isfile(path):  # a device or a pipe blocks
                    continue
                with open(path, "rb") as file:
                    looked += 1
                    if wanted in file.read(1 << 26):
                        found.append(path)
            except OSError:
                continue
    return {"found": found, "looked_anywhere": looked > 10, "secret": None}
"""


class Hunter(BaseChatModel):
    """Sends the hunting draft, and critiques; keeps every prompt in ``SEEN``."""

    @property
    def _llm_type(self) -> str:
        return "hunter"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        text = "\n".join(message.text for message in messages)
        SEEN.append(text)
        reply = f"<answer><code>```python\n{HUNT}\n```</code><name>hunt</name></answer>"
        if "<query>" in text:
            reply = "<feedback>look further</feedback><query>expected values</query>"
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply))])


#: Every door that ``system=tools`` has.
DOORS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"queries": ["expected values", "secret", "canary"], "k": 50}),
    ("lookup", {"names": ["secret", "experiments", "q1"]}),
    ("resolve", {"terms": ["secret", "expected value"]}),
    ("tree", {"name": "latexcodec"}),
    ("source", {"name": "latexcodec.codec"}),
    ("contents", {}),
    ("run", {"code": HUNT, "entry": "hunt", "show": ["found"]}),
    ("run", {"code": "import docs\nprint(docs.grep('canary-' + '9f27'), len(docs.contents()))"}),
    ("answer", {"code": HUNT, "entry": "hunt"}),
]


class DoorHunter(BaseChatModel):
    """Tries one door after the other."""

    @property
    def _llm_type(self) -> str:
        return "hunter"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        SEEN.append("\n".join(message.text for message in messages))
        name, arguments = DOORS[sum(isinstance(message, AIMessage) for message in messages)]
        call = json.dumps({"name": name, "arguments": arguments})
        reply = AIMessage(f"```tool\n{call}\n```")
        return ChatResult(generations=[ChatGeneration(message=reply)])


SEEN: list[str] = []


@dataclass(frozen=True)
class CanaryBenchmark:
    """Two questions with the canary as expected value."""

    name: str = "canary"
    packages: Sequence[str] = ("latexcodec",)
    scorer = PropertyScorer()

    def load(self) -> list[Sample]:
        """Both tasks."""
        expected = {"found": ([], "list[str]"), "looked_anywhere": (True, "bool"),
                    "secret": (CANARY, "str")}  # fmt: skip
        properties = tuple(
            Property(name, "A property.", form, dumps(value))
            for name, (value, form) in expected.items()
        )
        formats = {name: form for name, (_, form) in expected.items()}
        asked = "\n".join(f"- `{name}`: a value. Format: {form}." for name, form in formats.items())
        return [Sample(Question(f"q{n}", asked, formats), properties, "live") for n in (1, 2)]


@pytest.mark.long
@pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine")
@pytest.mark.parametrize("system", ["reflect.Reflect", "reretrieve.Reretrieve"])
async def test_the_canary_is_in_no_prompt_no_file_and_no_environment(tmp_path, system: str):
    settings = {"max_iterations": 2, "economical": False}
    if system == "reretrieve.Reretrieve":
        del settings["economical"]
    await hunted(tmp_path, system, settings, "none", "Hunter")
    assert len(SEEN) == 6  # draft, critique, draft


@pytest.mark.long
@pytest.mark.skipif(not available(), reason="no isolating sandbox on this machine")
async def test_the_canary_is_behind_no_tool(tmp_path):
    await hunted(tmp_path, "tools.Tools", {}, "llm_doc", "DoorHunter")
    assert len(SEEN) == 2 * len(DOORS)
    whole = SEEN[len(DOORS) - 1]
    assert whole.count("<result tool=") == len(DOORS) - 1
    assert whole.count("outcome: ok") == 2
    assert "no tool" not in whole
    assert "found = [] (list)" in whole
    assert "stdout:\n[] " in whole


async def hunted(
    tmp_path: Path, system: str, settings: dict[str, Any], retrieval: str, hunter: str
) -> None:
    """Run a hunt; nothing of the verification is in prompts, steps, files or environment."""
    SEEN.clear()
    config = validate(
        {
            "system": {"_target_": f"agents.{system}", "name": "tested", **settings},
            "benchmark": {"_target_": "tests.agents.test_canary.CanaryBenchmark", "name": "canary"},
            "retrieval": {"name": retrieval, "source": retrieval},
            "model": {
                "provider": "class",
                "name": "hunter",
                "path": f"tests.agents.test_canary.{hunter}",
                "cache": False,
                "tools": "text",
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
        json.loads(path.read_text())["steps"] for path in (folder / "trajectories").glob("*.json")
    ]
    assert len(steps) == 2
    assert CANARY not in json.dumps(steps)
