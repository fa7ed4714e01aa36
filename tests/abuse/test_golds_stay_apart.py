"""No expected value comes near the sandbox in which answers run: by a type, in every benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mypy import api

from agents.base import Document, Trajectory, Usage
from experiments.benchmarks.atomworld.benchmark import AtomWorldBenchmark
from experiments.benchmarks.curie.benchmark import CurieBenchmark
from experiments.benchmarks.invented.benchmark import ChainScorer
from experiments.benchmarks.live.benchmark import LiveBenchmark
from experiments.benchmarks.mattools.benchmark import MatToolsBenchmark
from experiments.benchmarks.mattools.published import PrintedScorer
from experiments.benchmarks.novelapi.benchmark import novelapi
from experiments.benchmarks.omnimatbench.benchmark import OmniMatBenchmark
from experiments.benchmarks.qmbench.benchmark import QMBenchmark
from experiments.samples import Sample
from experiments.scorers.base import Scorer, ScoringContext
from sandbox.base import AnswerSandbox, Execution, Mount, Outcome, RunRequest, Verifier
from sandbox.inside.tagged import dumps
from tests.support.checkouts import checkout as mattools_checkout
from tests.support.novelapi import write_checkout
from tests.support.paths import ROOT

CODE = "def f():\n    return {}\n"
RESULT = {"answer": "an answer", "energy": 1.0}


class Noting(AnswerSandbox):
    """Keeps everything that it is given, contents of files included."""

    confinement = "none"

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def run(
        self, code: str, entry: str, *, mounts: Any = (), **_: Any
    ) -> Execution:
        self.seen += [code, entry, *map(_content, mounts)]
        return Execution(Outcome.OK, dict(RESULT), dumps(RESULT))


@pytest.fixture
def checkout(tmp_path):
    return write_checkout(tmp_path)


def _content(mount: Mount) -> str:
    if mount.source.is_file():
        return mount.source.read_text(errors="replace")
    texts = [path.read_text(errors="replace") for path in mount.source.rglob("*.*")]
    return "\n".join(texts)


class Silent(Verifier):
    """Keeps what it is given, and judges nothing."""

    confinement = "none"

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def execute(self, request: RunRequest) -> Execution:
        self.seen.append(repr(request.code))
        return Execution(Outcome.OK if len(self.seen) % 2 == 0 else Outcome.TIMEOUT)

    async def close(self) -> None:
        pass


def strings(value: Any) -> Iterator[str]:
    """Every text in plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from strings(item)
            yield from strings(key)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)
    elif hasattr(value, "__dict__"):
        yield from strings(vars(value))


def secrets(sample: Sample) -> list[str]:
    """Lines of what is expected that no question shows."""
    expected = [prop.expected for prop in sample.properties]
    texts = [*strings(sample.target), *expected, *strings(sample.reference)]
    documents = [
        part.text for part in sample.question.attachments if isinstance(part, Document)
    ]
    files = [
        _content(Mount(Path(p), name)) for name, p in sample.question.mounts.items()
    ]
    shown = "\n".join([sample.question.prompt, *documents, *files])
    lines = {line.strip() for text in texts for line in text.splitlines()}
    return [
        line
        for line in lines
        if len(line) > 11
        and line not in shown
        and not line.startswith(("import ", "from "))
    ]


def samples_of(name: str, folder: Path) -> tuple[Scorer, list[Sample]]:
    """A benchmark's scorer, and samples whose answers are code where they can be."""
    arms: dict[str, Any] = {
        "atomworld": AtomWorldBenchmark,
        "curie": CurieBenchmark,
        "omnimatbench": OmniMatBenchmark,
        "qmbench": QMBenchmark,
    }
    if name in arms:
        made = arms[name](arm="tool")
    elif name == "live":
        made = LiveBenchmark()
    elif name.startswith("mattools"):
        made = MatToolsBenchmark(path=str(mattools_checkout(folder)))
    else:
        made = novelapi(str(folder / "checkout"), libraries=("statistics",))
    scorer = PrintedScorer() if name == "mattools, published" else made.scorer
    return scorer, [s for s in made.load() if s.unavailable is None][:12]


def answered(sample: Sample) -> Trajectory:
    return Trajectory(
        question_id=sample.question.id,
        seed=0,
        code=CODE,
        entry="f",
        answer=CODE,
        steps=(),
        usage=Usage(),
        stop_reason="answered",
        format_status="strict",
        value="x = 1",
    )


@pytest.mark.parametrize(
    "name",
    [
        "atomworld",
        "curie",
        "live",
        "mattools",
        "mattools, published",
        "novelapi",
        "omnimatbench",
        "qmbench",
    ],
)
@pytest.mark.usefixtures("checkout")
async def test_no_benchmark_gives_gold_to_the_sandbox_of_answers(
    name: str, tmp_path: Path
) -> None:
    folder = tmp_path if name == "novelapi" else tmp_path / "other"
    scorer, samples = samples_of(name, folder)
    hidden = 0
    verified = False
    for sample in samples:
        sandbox, verifier = Noting(), Silent()
        await scorer.score(sample, answered(sample), ScoringContext(sandbox, verifier))
        given = "\n".join(sandbox.seen)
        for secret in secrets(sample):
            hidden += 1
            assert secret not in given
        verified |= bool(verifier.seen)
    assert hidden
    assert verified or name in {"mattools, published", "omnimatbench", "qmbench"}


async def test_the_links_of_an_invented_chain_stay_apart() -> None:
    (sample, *_) = LiveBenchmark().load()
    links = [
        {
            "symbol": "invented.secret_link",
            "property": prop.name,
            "depth": 1,
            "gold": "the secret gold of a link",
        }
        for prop in sample.properties
    ]
    linked = Sample(
        sample.question, sample.properties, sample.environment, target=links
    )
    sandbox = Noting()
    await ChainScorer().score(
        linked, answered(linked), ScoringContext(sandbox, Silent())
    )
    given = "\n".join(sandbox.seen)
    assert "_watched_calls" in given
    assert "secret" not in given


MISTAKES = """
from experiments.scorers.base import ScoringContext
from sandbox.base import Sandbox, Verifier
from sandbox.factory import get_sandbox, get_verifier

def mixed(answers: Sandbox, verifier: Verifier) -> None:
    ScoringContext(answers, answers)
    ScoringContext(verifier, verifier)
    ScoringContext(get_sandbox(), get_sandbox())
    ScoringContext(get_verifier(), get_verifier())
    ScoringContext(answers, verifier)

async def scorer(tools: ScoringContext, gold: object) -> None:
    if tools.sandbox is not None:
        await tools.sandbox.call("m", "f", [gold], timeout=1)
        await tools.sandbox.judge("m", "f", [gold], control=[gold], timeout=1)
    if tools.verifier is not None:
        await tools.verifier.run("code", "f", timeout=1)
"""


@pytest.mark.long
def test_the_type_checker_keeps_both_sandboxes_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mixed.py"
    file.write_text(MISTAKES)
    root = ROOT
    cache = str(root / ".mypy_cache")
    monkeypatch.setenv("MYPYPATH", str(root))
    said, _, _ = api.run(["--strict", "--cache-dir", cache, str(file)])
    lines = {
        int(line.split(":")[1])
        for line in said.splitlines()
        if "error" in line and "mixed.py" in line
    }
    wrong = [
        number
        for number, line in enumerate(MISTAKES.splitlines(), 1)
        if (
            "ScoringContext(" in line
            and "answers, verifier)" not in line
            and "def" not in line
        )
        or "await" in line
    ]
    assert lines == set(wrong)
