"""Verdicts on structures: the two rules, hostile answers, and whole runs."""

import json
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from pymatgen.core import Lattice

from agents.base import Trajectory, Usage
from agents.models.rules.atoms import parse
from experiments.benchmarks.atomworld import grade
from experiments.benchmarks.atomworld.actions import apply
from experiments.benchmarks.atomworld.benchmark import AtomWorldBenchmark
from experiments.benchmarks.atomworld.crystal import Crystal, wrap
from experiments.benchmarks.atomworld.generate import generate
from experiments.benchmarks.atomworld.pictures import pictures
from experiments.benchmarks.atomworld.scorer import GRADER, StructureScorer, plain
from experiments.run import main
from experiments.scorers.base import Tools
from experiments.scorers.grading import program
from sandbox.base import Execution, Outcome, SandboxConfig
from sandbox.factory import get_sandbox
from tests.experiments.atomworld.test_actions import crystal_of, published, rows


def verdict(before, target, answer, *, decimals=6):
    text = answer if isinstance(answer, str) else answer.to_cif(decimals)
    said = grade.verdicts(*map(plain, (target, target, before)), text, f"<cif>{text}</cif>")
    return {**said, "echo": said["echo"]["published"], "strict echo": said["echo"]["strict"]}


def changed(crystal, *, scale=1.0, sign=1.0, shift=(0.0, 0.0, 0.0)):
    a, b, c = (length * scale for length in crystal.cell[:3])
    return Crystal(
        (a, b, c, *crystal.cell[3:]), crystal.species, wrap(sign * crystal.fractions + shift)
    )


@published
def test_what_the_authors_grader_lets_through():
    passed, literal = [], []
    for row in rows("actions_dev.jsonl"):
        before, after = crystal_of(row["before"]), crystal_of(row["after"])
        right = verdict(before, after, after)
        assert right["strict"]["passed"]
        assert right["published"]["passed"]
        assert not right["strict echo"]["passed"]
        if right["echo"]["passed"]:
            passed.append((row["id"], round(right["echo"]["max_dist"], 4)))
        for wrong in (
            changed(after, scale=1.1),
            changed(after, sign=-1.0),
            changed(after, shift=(0.13, 0.27, 0.31)),
        ):
            said = verdict(before, after, wrong)
            assert said["published"]["passed"], row["id"]
            assert not said["strict"]["passed"], row["id"]
        action, given = parse(row["prompt"])
        ours = verdict(before, after, apply(action, before, given, "published"))
        assert ours["strict"]["passed"]
        assert ours["strict"]["worst"] < 0.0042
        assert ours["strict"]["order"]
        said = verdict(before, after, apply(action, before, given, "literal"))
        literal.append((row["id"], said["published"]["error"]))
    assert passed == [("aw-009", 0.6651)]
    assert {name: error for name, error in literal if error} == {
        "aw-029": "AtomCountMismatch", "aw-030": "AtomCountMismatch",
        "aw-032": "StructureMismatch", "aw-033": "StructureMismatch",
    }  # fmt: skip


@published
def test_what_the_frame_of_pymatgen_costs(monkeypatch):
    """Its *c* is along z: another frame for every cell that is not orthogonal."""
    frame = property(lambda self: np.array(Lattice.from_parameters(*self.cell).matrix))
    wrong, distances = {"published": [], "strict": []}, {}
    for row in rows("actions_dev.jsonl"):
        before, after = crystal_of(row["before"]), crystal_of(row["after"])
        action, given = parse(row["prompt"])
        with monkeypatch.context() as patched:
            patched.setattr(Crystal, "lattice", frame)
            answer = apply(action, before, given, "published")
        said = verdict(before, after, answer)
        for rule in wrong:
            wrong[rule] += [row["id"]] * (not said[rule]["passed"])
        if not said["strict"]["passed"] and said["published"]["passed"]:
            distances[row["id"]] = round(said["published"]["max_dist"], 4)
    assert wrong == {"published": ["aw-035"], "strict": ["aw-001", "aw-013", "aw-032", "aw-035"]}
    assert distances == {"aw-001": 0.2050, "aw-013": 0.1697, "aw-032": 0.3251}


@published
def test_recorded_rotations_are_no_nearer_than_the_unchanged_input():
    wanted = [
        ((0.3091996, 0.7867955), (0.3092, 0.7868)),
        ((0.2214026, 0.4055114), (0.2259, 0.4072)),
    ]
    for row, (answer, echo) in zip(
        rows("recorded_answers_rotate_opus46.jsonl"), wanted, strict=True
    ):
        before, target, given = (crystal_of(row[key]) for key in ("before", "target", "answer"))
        said = verdict(before, target, given, decimals=8)
        assert (said["published"]["rms"], said["published"]["max_dist"]) == pytest.approx(
            answer, abs=1e-6
        )
        assert (said["echo"]["rms"], said["echo"]["max_dist"]) == pytest.approx(echo, abs=1e-4)
        assert not said["strict"]["passed"]


@pytest.fixture(scope="module")
def item():
    return generate(seed=1, items=1, actions=["move"])[0]


def hostile(good):
    site = good.splitlines()[-1]
    return {
        "InvalidCell": good.replace(good.split("_cell_length_a   ")[1].split()[0], "1e9", 1),
        "TooLarge": good + "#" * 2_100_000,
        "TooManySites": good + f"{site}\n" * 6000,
        "TooLarge ": good + f"{site}\n" * 100_000,
        "CIFParsingError": "data_x\n" + "[" * 50_000,
        "AtomCountMismatch": good + site.replace("0.", "0.1", 1) + "\n",
        "CellMismatch": good.replace("_cell_angle_alpha   ", "_cell_angle_alpha   1"),
    }


@pytest.mark.long
async def test_hostile_answers_end_with_their_name(item):
    good = item.literal.to_cif()
    target = plain(item.literal)
    limits = SandboxConfig(workers=1, options={"warmup": StructureScorer.warmup})
    async with get_sandbox(limits) as sandbox:
        names = {
            **hostile(good),
            "nan": good.replace("_cell_length_b   ", "_cell_length_b   nan #"),
        }
        for name, text in names.items():
            started = time.monotonic()
            ran = await sandbox.run(
                program(GRADER, "strictly", target, text), "verdict", timeout=60
            )
            assert ran.outcome is Outcome.OK, (name, ran.error)
            assert not ran.result["passed"]
            assert time.monotonic() - started < 60
            expected = "InvalidCell" if name == "nan" else name
            assert ran.result["error"] in {expected.strip(), "CIFParsingError"}, name
        nested = program(GRADER, "as_published", target, f"<cif><cif>{good}</cif></cif>")
        said = (await sandbox.run(nested, "verdict", timeout=60)).result
        assert said["error"] == "CIFParsingError"


def test_replies_without_a_file(item):
    assert grade.strictly(plain(item.literal), None)["error"] == "OutputFormatError"
    said = grade.as_published(plain(item.published), "no tags")
    assert said["error"] == "OutputFormatError"


def test_notations_that_the_parser_reads(item):
    """Charges are no fault, half an atom is; a fraction that only the parser reads has no order."""
    good = item.literal.to_cif()
    first, *_ = item.literal.species
    charged = good.replace(f"  {first}  ", f"  {first}3+  ")
    assert grade.strictly(plain(item.literal), charged)["passed"]
    half = good.replace("  1.0\n", "  0.5\n")
    assert grade.strictly(plain(item.literal), half)["error"] == "PartialOccupancy"
    zero = replace(item.literal, fractions=item.literal.fractions.copy())
    zero.fractions[0, 0] = 0.0
    dotted = zero.to_cif().replace("  0.000000  ", "  .  ", 1)
    said = grade.strictly(plain(zero), dotted)
    assert (said["passed"], said["order"]) == (True, False)


class Slow:
    """A verifier in which the authors' matcher runs into the time limit."""

    async def run(self, code, entry, **_):
        called = code.rpartition("return ")[2]
        if not called.startswith("strictly("):
            return Execution(Outcome.TIMEOUT)
        said = {"passed": True, "error": None, "worst": 0.0, "order": True, "contact": None}
        return Execution(Outcome.OK, result=said)


async def test_a_matcher_that_runs_out_of_time_makes_no_answer_wrong():
    benchmark = AtomWorldBenchmark(items=1, actions=["move"])
    (sample,) = benchmark.load()
    trajectory = Trajectory(
        sample.question.id, 0, None, None, "<cif>x</cif>", (), Usage(), "answered", "strict",
        value="x",
    )  # fmt: skip
    score = await benchmark.scorer.score(sample, trajectory, Tools(None, Slow()))
    assert score.passed == {"structure": True}
    assert (score.values["published"], score.values["echo"]) == (None, None)


def run(out, *more):
    assert main(["benchmark=atomworld", "retrieval=none", f"out={out}", *more]) == 0


@pytest.mark.parametrize("system", ["single", pytest.param("reflect", marks=pytest.mark.long)])
def test_the_parser_edits_files(system, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(tmp_path / "out", "benchmark.arm=tool", "benchmark.wording=published", f"system={system}",
        "benchmark.items=1")  # fmt: skip
    found = [
        json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    ]
    assert [row["passed"] for row in found] == [{"structure": True}] * 10
    assert {row["values"]["order"] for row in found} == {1.0}


def test_the_unchanged_input_is_what_the_echo_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(tmp_path / "out", "system=single", "benchmark.items=2", "benchmark.actions=[move,swap]")
    found = [
        json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    ]
    assert all(row["values"]["published"] == row["values"]["echo"] for row in found)
    assert not any(row["passed"]["structure"] for row in found)
    assert all(row["values"]["readable"] for row in found)
    worst = [row["values"]["worst"] for row in found if row["question_id"].startswith("move")]
    assert np.min(worst) > 0.02


def test_an_answer_is_drawn_beside_the_target_and_what_differs_is_ringed(item):
    def ringed(answer):
        said = grade.strictly(plain(item.literal), answer)
        drawn = pictures(plain(item.before), plain(item.literal), said["shown"])
        return {title: svg.count('fill="none"') // 2 for title, svg in drawn.items()}

    right, echo = item.literal.to_cif(), item.before.to_cif()
    assert ringed(right) == {"before": 1, "target": 1, "answer": 0}
    assert ringed(echo) == {"before": 1, "target": 1, "answer": 1}
    assert ringed("no CIF") == {"before": 1, "target": 1}
    (grown,) = generate(seed=1, items=1, actions=["super_cell"])
    drawn = pictures(plain(grown.before), plain(grown.literal), plain(grown.literal))
    assert not any('fill="none"' in svg for svg in drawn.values())


def test_an_outside_agent_is_graded_like_any_answer(tmp_path, monkeypatch, capsys):
    """It gets the file and no CIF in its instruction."""
    monkeypatch.chdir(tmp_path)
    agent = tmp_path / "agent.py"
    agent.write_text(
        "import os, sys\n"
        "assert 'Action:' in sys.argv[2] and '_cell_length_a' not in sys.argv[2]\n"
        "os.mkdir('out')\n"
        "lines = open('structure.cif').readlines()\n"
        "open('out/result.cif', 'w').writelines(lines if 'Move' in sys.argv[2] else lines * 9000)\n"
    )
    run(tmp_path / "out", "benchmark.arm=file", "benchmark.items=1", "system=command",
        "benchmark.actions=[move,remove]", f"system.program={sys.executable} {agent}")  # fmt: skip
    found = {
        row["question_id"]: row
        for row in map(json.loads, (tmp_path / "out" / "results.jsonl").read_text().splitlines())
    }
    moved, removed = found["move-000"], found["remove-000"]
    assert moved["values"]["published"] == moved["values"]["echo"]
    assert moved["artefacts"]["error"] == "SiteMismatch"
    assert removed["artefacts"]["error"] == "TooLarge"
    assert moved["cost_usd"] is None
    capsys.readouterr()
    assert main(["benchmark=atomworld", "benchmark.arm=file", "system=single", "model=rules"]) == 2
    assert "system=single: sees no files" in capsys.readouterr().err
