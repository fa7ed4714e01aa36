"""Whatever bytes a run writes as its result, the answer gets a verdict and no traceback.

Bytes are generated and mutated, read by a worker as those of a real run are, and go through each
kind of system, each scorer and the record of a row. The real ones are written by attacks
(``programs/attacks.yaml``, 90 and following).
"""

from __future__ import annotations

import base64
import importlib
import io
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.assistant.answers import Trace
from agents.assistant.files import Looked
from agents.assistant.results import answer_of, completed
from agents.base import Question
from agents.episode import Context
from agents.models import ModelClient, ModelConfig
from agents.runtime import Runtime
from agents.systems.reflect import Resample
from agents.systems.single import Single
from agents.systems.tools import Tools
from experiments.benchmarks.atomworld.benchmark import AtomWorldBenchmark
from experiments.benchmarks.curie.benchmark import CurieBenchmark
from experiments.benchmarks.mattools.published import MatToolsScorer, PrintedScorer
from experiments.benchmarks.omnimatbench.benchmark import OmniMatBenchmark
from experiments.benchmarks.own import Task
from experiments.benchmarks.qmbench.benchmark import QMBenchmark
from experiments.run.answering import Answerer, Plan, Trial
from experiments.samples import Property, Sample
from experiments.scorers.properties import PropertyScorer
from sandbox.base import (
    Execution,
    FunctionCall,
    Outcome,
    RunRequest,
    Sandbox,
    SandboxConfig,
    Verifier,
)
from sandbox.inside.decoding import decode, restore
from sandbox.inside.tagged import dumps, encode, frame
from sandbox.worker import Worker
from tests.support.scripted import ScriptedModel, code_reply

ENDED = {
    "error": None,
    "reason": None,
    "status": 0,
    "seconds": 0.1,
    "cpu_seconds": 0.1,
    "clean": True,
}


class Answering:
    """A channel to a fork server that answers with the same message."""

    def __init__(self, message: bytes) -> None:
        self._answer = io.BytesIO(frame(ENDED, b"printed", b"", message))

    async def read(self, size: int) -> bytes:
        return self._answer.read(size)

    async def write(self, data: bytes) -> None:
        pass

    async def close(self) -> str:
        return ""


class Forged(Sandbox):
    """Every run ends with the same bytes, which a worker reads."""

    confinement = "bubblewrap"

    def __init__(self, message: bytes) -> None:
        self.message = message

    async def execute(self, request: RunRequest) -> Execution:
        channel: Any = Answering(self.message)
        return await Worker(channel, self.confinement, SandboxConfig(), {}).run(request)

    async def close(self) -> None:
        pass


class Here(Verifier):
    """Calls the function as a worker does, in this process: its death would end the test."""

    confinement = "bubblewrap"

    async def execute(self, request: RunRequest) -> Execution:
        assert isinstance(request.code, FunctionCall)
        arguments = restore(
            json.loads(json.dumps(encode(list(request.code.arguments))))
        )
        function = getattr(
            importlib.import_module(request.code.module), request.code.function
        )
        try:
            payload = dumps(function(*arguments))
        except Exception as error:  # noqa: BLE001 - as in a worker
            return Execution(Outcome.EXCEPTION, error=repr(error))
        return Execution(Outcome.OK, decode(payload), payload)

    async def close(self) -> None:
        pass


# --- bytes

NAMES = ["a", "b", "answer", "units", "needs_input", "$", "sites", "lattice", ""]
#: Types of arrays, with bytes of one item as far as they are true.
DTYPES = {
    "<f8": 8,
    "<f2": 2,
    "<f16": 16,
    "<c16": 16,
    "<c32": 32,
    "|b1": 1,
    "|u1": 1,
    ">u4": 4,
    "<U1": 4,
    "<U3": 12,
    "|S2": 2,
    "<m8[s]": 8,
    "<M8[ns]": 8,
    "<m8[0s]": 8,
    "<M8[7D]": 8,
    "|S0": 0,
    "<U0": 0,
    "O": 8,
}


@st.composite
def arrays(draw: st.DrawFn) -> dict[str, Any]:
    """Arrays and scalars of numpy, mostly with the bytes that they need."""
    dtype = draw(st.sampled_from(list(DTYPES)))
    shape = draw(st.lists(st.integers(0, 3), max_size=2))
    size = DTYPES[dtype] * math.prod(shape)
    if draw(st.integers(0, 9)) == 0:
        size += draw(st.integers(0, 8))
    data = base64.b64encode(draw(st.binary(min_size=size, max_size=size))).decode()
    if not shape and draw(st.booleans()):
        return {"$": "scalar", "dtype": dtype, "raw": data}
    return {"$": "array", "dtype": dtype, "raw": data, "shape": shape}


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from([10**400, -0.0, "\ud800", "\x1b[2J", "nan", "9" * 400, 2**63]),
)
tagged_leaves = st.one_of(
    st.builds(
        lambda kind, text: {"$": kind, "v": text},
        st.sampled_from(["int", "float", "bytes", "element", "species"]),
        st.sampled_from(
            ["0x1", "-0x" + "f" * 5000, "nan", "inf", "-inf", "Fe", "AA=="]
        ),
    ),
    arrays(),
)


def compound(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Containers and stand-ins around values."""
    listed = st.lists(inner, max_size=3)
    named = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    keys = st.one_of(inner, arrays())
    pairs = st.lists(st.tuples(keys, inner).map(list), min_size=1, max_size=3)
    kinds = st.sampled_from(["tuple", "set", "frozenset", "complex", "dict", "object"])
    classes = st.sampled_from(["pymatgen.core.structure.Structure", "a.B", ""])
    return st.one_of(
        listed,
        named,
        st.builds(lambda kind, items: {"$": kind, "v": items}, kinds, listed),
        st.builds(lambda items: {"$": "dict", "v": items}, pairs),
        st.builds(
            lambda kind, name, fields: {
                "$": kind,
                "class": name,
                "name": name,
                "v": fields,
            },
            st.sampled_from(["msonable", "enum", "opaque"]),
            classes,
            st.one_of(named, inner),
        ),
        st.builds(
            lambda items: {
                "$": "array",
                "dtype": "object",
                "shape": [len(items)],
                "v": items,
            },
            listed,
        ),
    )


values = st.recursive(st.one_of(scalars, tagged_leaves), compound, max_leaves=8)
results = st.one_of(
    values,
    st.builds(lambda value: {"a": value}, values),
    st.builds(lambda value: {"answer": value}, values),
)
KINDS = [b"ok", b"exception", b"memory", b"exit", b"bad_result", b"", b"infra", b"\xff"]


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """A child's message: mostly well formed, some with a report, some mutated, some plain bytes."""
    if draw(st.integers(0, 19)) == 0:
        return draw(st.binary(max_size=60))
    kind = b"ok" if draw(st.integers(0, 4)) else draw(st.sampled_from(KINDS))
    report = draw(st.one_of(st.none(), st.none(), st.none(), values))
    head = kind if report is None else kind + b" " + json.dumps(report).encode()
    message = head + b"\n" + json.dumps(draw(results)).encode()
    if draw(st.integers(0, 3)):
        return message
    mutated = bytearray(message)
    chance = random.Random(draw(st.integers(0, 2**32)))
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(mutated))
        match chance.randrange(3):
            case 0:
                mutated[place] = chance.randrange(256)
            case 1:
                del mutated[place : place + chance.randint(1, 8)]
            case 2:
                mutated[place:place] = mutated[place : place + chance.randint(1, 8)]
        if not mutated:
            break
    return bytes(mutated)


# --- what they pass through

QUESTION = Question("q", "- `a`: the answer. Format: `float`.", {"a": "float"})
PROPERTIES = (
    Property("a", "", "float", "1.5", "close"),
    Property("b", "", "", '{"$":"set","v":[1]}', "equal"),
)
UNIT_TEST = """
def q(result):
    errors = [f"a is {result.get('a')}"] if result.get("a") != 1.5 else []
    return "ok" if not errors else [*errors, 1, 2]
"""
SCORED = [
    (PropertyScorer(), Sample(QUESTION, PROPERTIES, "live")),
    (MatToolsScorer(), Sample(QUESTION, PROPERTIES, "live", target=UNIT_TEST)),
    (PrintedScorer(), Sample(QUESTION, PROPERTIES, "live", target=UNIT_TEST)),
]
for kind in (AtomWorldBenchmark, CurieBenchmark, OmniMatBenchmark, QMBenchmark):
    made = kind(arm="tool")
    known = [sample for sample in made.load() if sample.unavailable is None]
    if kind is CurieBenchmark:  # its readers of JSON and code are in the sandbox only
        known = [sample for sample in known if sample.target["form"] == "fasta"]
    SCORED += [(made.scorer, sample) for sample in known[:3]]
RUN = (
    '```tool\n{"name": "run", "arguments": {"entry": "f"}}\n---\n'
    "def f():\n    return {}\n```"
)
SYSTEMS = {
    "single": (Single, [code_reply("return {}")]),
    "drafts": (Resample, [code_reply("return {}")] * 3),
    "tools": (Tools, [RUN, RUN.replace('"run"', '"answer"'), code_reply("return {}")]),
}


def model(script: list[str]) -> ModelClient:
    """Replies from a list; calls of tools are text."""
    config = ModelConfig(
        provider="class", name="scripted", path="tests", cache=False, tools="text"
    )
    return ModelClient(ScriptedModel(script), config)


async def outcome_of(message: bytes, system: str, number: int) -> tuple[bool, str]:
    """Whether an answer with this result is an infrastructure error, and what its row says."""
    scorer, sample = SCORED[number % len(SCORED)]
    cls, script = SYSTEMS[system]
    sandbox, client = Forged(message), model(script)
    agent = cls(Context(client, None, sandbox))
    runtime = Runtime(agent, client, None, sandbox, Here(), 60.0, {})
    unused: Any = None
    plan = Plan(unused, "hash", Task([sample], scorer), ["live"], lambda *_: None)
    done = await Answerer(plan, {sample.environment: runtime}, None).answer(
        Trial(sample, 0)
    )
    json.loads(done.record)
    return done.row.infra, f"{done.row.outcome}: {done.row.error}"


async def show_answer(message: bytes) -> None:
    """The same in a conversation."""
    client = model([code_reply("return {}")])
    sandbox = Forged(message)
    trajectory = await Single(Context(client, None, sandbox)).solve(QUESTION)
    ran = await sandbox.run("", "f", timeout=1.0)
    answer = completed(
        answer_of("q", trajectory, Looked()), (ran, Trace()), Looked(), "q"
    )
    for value in answer.values:
        json.dumps([value.value, value.text, value.unit]).encode()
    assert answer.kind != "broken"


async def passes_through(message: bytes, number: int) -> None:
    system = list(SYSTEMS)[number % len(SYSTEMS)]
    infrastructure, why = await outcome_of(message, system, number // len(SYSTEMS))
    assert not infrastructure, why
    await show_answer(message)


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unit tests of a benchmark write beside themselves."""
    monkeypatch.chdir(tmp_path)


FAST = settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
MANY = settings(FAST, max_examples=10_000, derandomize=False)


@FAST
@given(messages(), st.integers(0, 10**6))
async def test_no_result_is_infrastructure(message: bytes, number: int) -> None:
    await passes_through(message, number)


@pytest.mark.long
@pytest.mark.timeout(3600)
@MANY
@given(messages(), st.integers(0, 10**6))
async def test_no_result_of_ten_thousand_is_infrastructure(
    message: bytes, number: int
) -> None:
    await passes_through(message, number)
