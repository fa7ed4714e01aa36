"""No gold of a published benchmark is in a prompt or in a file, whatever the arm."""

from pathlib import Path

import pytest

from agents.base import Document
from experiments.benchmarks.atomworld.benchmark import AtomWorldBenchmark
from experiments.benchmarks.curie.benchmark import CurieBenchmark
from experiments.benchmarks.omnimatbench.benchmark import OmniMatBenchmark
from experiments.benchmarks.omnimatbench.slots import flat
from experiments.benchmarks.qmbench.benchmark import QMBenchmark, problem_of
from experiments.benchmarks.qmbench.problem import NumberRange, Rubric


def of_problem(sample):
    answer = problem_of(sample).answer
    if isinstance(answer, Rubric):
        return [point.text for point in answer.rubric]
    if isinstance(answer, NumberRange):
        return [f"{(answer.low + answer.high) / 2:.3f}"]
    return [answer.poscar.splitlines()[2]] if hasattr(answer, "poscar") else []


SECRETS = {
    AtomWorldBenchmark: lambda sample: [sample.reference],
    CurieBenchmark: lambda sample: [sample.target["clean"]],
    OmniMatBenchmark: lambda sample: [
        s for s in flat(sample.target["slots"]) if len(s) > 5
    ],
    QMBenchmark: of_problem,
}
ARMS = [
    (AtomWorldBenchmark, "direct tool tool_inline file"),
    (CurieBenchmark, "direct tool"),
    (OmniMatBenchmark, "direct formula distractors retrieval search tool"),
    (QMBenchmark, "direct tool"),
]


@pytest.mark.parametrize(("kind", "arms"), ARMS)
def test_no_gold_is_shown(kind, arms):
    for arm in arms.split():
        samples = kind(arm=arm).load()
        for sample in samples:
            question = sample.question
            documents = [
                p.text for p in question.attachments if isinstance(p, Document)
            ]
            shown = "\n".join(
                [question.prompt, question.answer.instruction, *documents]
            )
            files = b"\n".join(
                Path(path).read_bytes() for path in question.mounts.values()
            )
            for secret in SECRETS[kind](sample):
                assert secret not in shown
                assert secret.encode() not in files
        assert any(map(SECRETS[kind], samples))
