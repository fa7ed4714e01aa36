"""Verdicts on structures: the two rules, hostile answers, and whole runs."""

import csv
import json
import re
import sys
import time

import pytest

from agents.base import Trajectory, Usage
from experiments.benchmarks.atomworld import grade
from experiments.benchmarks.atomworld.actions import act, parse
from experiments.benchmarks.atomworld.benchmark import AtomWorldBenchmark, pictures
from experiments.benchmarks.atomworld.crystal import Crystal, wrap
from experiments.benchmarks.atomworld.generate import generate
from experiments.command import main
from experiments.record import Ending, Row
from experiments.report.command import main as report
from experiments.report.groups import breakdown, failure
from experiments.report.runs import load_runs
from experiments.run.recording import make_record
from experiments.scorers.base import ScoringContext
from sandbox.base import Execution, Outcome
from tests.support.crystals import crystal_of, published, rows


def verdict(before, target, answer, *, decimals=6):
    text = answer if isinstance(answer, str) else answer.to_cif(decimals)
    wanted, unchanged = target.plain(), before.plain()
    echo = grade.echo(wanted, wanted, unchanged)
    return {
        "strict": grade.strictly(wanted, text),
        "published": grade.as_published(wanted, f"<cif>{text}</cif>"),
        "echo": echo["published"],
        "strict echo": echo["strict"],
    }


def changed(crystal, *, scale=1.0, sign=1.0, shift=(0.0, 0.0, 0.0)):
    cell = (*(length * scale for length in crystal.cell[:3]), *crystal.cell[3:])
    return Crystal(cell, crystal.species, wrap(sign * crystal.fractions + shift))


@published
@pytest.mark.long
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
        for change in ({"scale": 1.1}, {"sign": -1.0}, {"shift": (0.13, 0.27, 0.31)}):
            said = verdict(before, after, changed(after, **change))
            assert said["published"]["passed"], row["id"]
            assert not said["strict"]["passed"], row["id"]
        action, given = parse(row["prompt"])
        ours = verdict(before, after, act(action, before, given, "published"))
        assert ours["strict"]["passed"]
        assert ours["strict"]["worst"] < 0.0042
        said = verdict(before, after, act(action, before, given, "literal"))
        literal.append((row["id"], said["published"]["error"]))
    assert passed == [("aw-009", 0.6651)]
    assert {name: error for name, error in literal if error} == {
        "aw-029": "AtomCountMismatch",
        "aw-030": "AtomCountMismatch",
        "aw-032": "StructureMismatch",
        "aw-033": "StructureMismatch",
    }


@pytest.fixture(scope="module")
def item():
    return generate(seed=1, items=1, actions=["move"])[0]


def symmetric(good, group, rows):
    """Rows of a file whose sites are to be made by the operations of a space group."""
    head, *_ = (
        good.replace("P 1", group)
        .replace("_number   1", "_number   123")
        .split("  1.0\n")
    )
    head = head.replace("  1  'x, y, z'\n", "").replace(
        " _symmetry_equiv_pos_as_xyz\n", ""
    )
    head = head.replace("loop_\n _symmetry_equiv_pos_site_id\n", "", 1)
    names = [
        f"  Na  Na{n}  1  0.{n:05d}1  0.{n:05d}3  0.{n:05d}7  1.0\n"
        for n in range(rows)
    ]
    return head.rpartition("\n")[0] + "\n" + "".join(names)


def hostile(good):
    site = good.splitlines()[-1]
    return {
        "InvalidCell": good.replace(
            good.split("_cell_length_a   ")[1].split()[0], "1e9", 1
        ),
        "TooLarge": good + "#" * 2_100_000,
        "TooManySites": good + f"{site}\n" * 6000,
        "TooLarge ": good + f"{site}\n" * 100_000,
        "TooManySites  ": symmetric(good, "F m -3 m", 60),
        "TooManySites   ": symmetric(good, "P 4/m m m", 3000),
        "TooManySites    ": good.replace(
            "'x, y, z'", "'x, y, z'\n 2 'x,y+1/2,z'" * 400
        ),
        "CIFParsingError": "data_x\n" + "[" * 50_000,
        "AtomCountMismatch": good + site.replace("0.", "0.1", 1) + "\n",
        "CellMismatch": good.replace("_cell_angle_alpha   ", "_cell_angle_alpha   1"),
        "InvalidCell ": good.replace("_cell_length_b   ", "_cell_length_b   nan #"),
    }


def test_hostile_answers_end_with_their_name(item):
    """Sites are counted, rows times symmetry operations listed or named, before any is made."""
    good = item.literal.to_cif()
    for name, text in hostile(good).items():
        began = time.process_time()
        said = grade.strictly(item.literal.plain(), text)
        assert said["error"] in {name.strip(), "CIFParsingError"}, name
        assert time.process_time() - began < (1 if "Many" in name else 20), name
    grade.check_size(symmetric(good, "F m -3 m", 20))
    nested = f"<cif><cif>{good}</cif></cif>"
    assert (
        grade.as_published(item.published.plain(), nested)["error"] == "CIFParsingError"
    )


def test_no_file_charges_that_are_no_fault_and_half_an_atom_that_is_one(item):
    wanted, good = item.literal.plain(), item.literal.to_cif()
    assert grade.strictly(wanted, None)["error"] == "OutputFormatError"
    assert grade.as_published(wanted, "no tags")["error"] == "OutputFormatError"
    first, *_ = item.literal.species
    assert grade.strictly(wanted, good.replace(f"  {first}  ", f"  {first}3+  "))[
        "passed"
    ]
    half = good.replace("  1.0\n", "  0.5\n")
    assert grade.strictly(wanted, half)["error"] == "PartialOccupancy"


class Slow:
    """A verifier in which everything but some functions runs into the time limit."""

    def __init__(self, **quick):
        self.quick, self.called = quick, []

    async def judge(self, module, function, arguments, **_):
        self.called.append(function)
        if function not in self.quick:
            return Execution(Outcome.TIMEOUT)
        return Execution(Outcome.OK, result=self.quick[function](*arguments))


def right(*_):
    return {"passed": True, "error": None, "worst": 0.0}


@pytest.mark.parametrize(
    ("slow", "passed", "called"),
    [
        (Slow(strictly=right), True, ["strictly", "as_published", "echo"]),
        (Slow(), False, ["strictly", "echo"]),  # nothing of the answer is parsed again
    ],
)
async def test_what_runs_out_of_time(slow, passed, called):
    benchmark = AtomWorldBenchmark(items=1, actions=["move"])
    (sample,) = benchmark.load()
    trajectory = Trajectory(
        sample.question.id,
        0,
        None,
        None,
        "<cif>x</cif>",
        (),
        Usage(),
        "answered",
        "strict",
        value="x",
    )
    score = await benchmark.scorer.score(sample, trajectory, ScoringContext(None, slow))
    assert score.passed == {"structure": passed}
    assert score.artefacts["error"] == ("" if passed else "TooExpensive")
    assert (score.values["published"], score.values["echo"]) == (None, None)
    assert slow.called == called


@pytest.mark.parametrize(
    ("ended", "named", "shown"),
    [
        ("crashed", "AgentCrashed", "the agent's program failed"),
        ("timeout", "AgentTimeout", "the agent's program was stopped"),
        ("format_error", "OutputFormatError", "no answer in the reply"),
    ],
)
async def test_an_agent_that_left_nothing_says_how_it_ended(ended, named, shown):
    benchmark = AtomWorldBenchmark(items=1, actions=["move"], arm="file")
    (sample,) = benchmark.load()
    usage = Usage(cost_usd=None, unmetered=True)
    left = Trajectory(sample.question.id, 0, None, None, "", (), usage, ended, "error")
    score = await benchmark.scorer.score(
        sample, left, ScoringContext(None, Slow(strictly=grade.strictly))
    )
    assert score.reasons == {"structure": named}
    record = make_record("", sample, left, Ending.of(ended), score, criteria=1)
    row = Row.of(record, record.line())
    assert (row.calls, row.tokens) == (None, None)
    assert failure(row, "structure") == shown


NOBODY = ["model=openai", "model.name=m", "model.base_url=http://127.0.0.1:9/v1"]


def run(out, *more):
    assert (
        main(["benchmark=atomworld", "retrieval=none", f"out={out}", *NOBODY, *more])
        == 0
    )


def run_rows(out):
    return list(map(json.loads, (out / "results.jsonl").read_text().splitlines()))


@pytest.mark.long
def test_the_table_of_the_paper(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("oracle", "echo"):
        run(
            tmp_path / name,
            f"system={name}",
            "benchmark.items=5",
            "benchmark.actions=[change]",
        )
    runs = load_runs([tmp_path / name for name in ("oracle", "echo")])
    headings, table = breakdown(runs, "action")
    right, echo = (dict(zip(headings, line, strict=True)) for line in table)
    assert (right["action"], right["answers"]) == ("change: oracle", "5")
    assert right["strict %"] == right["published %"] == "100.0 [47.8, 100.0]"
    assert float(right["max_dist Å"]) < 0.01
    assert float(right["max_dist normalised"]) < 0.01
    assert echo["strict %"] == echo["published above echo %"] == "0.0 [0.0, 52.2]"
    assert echo["max_dist Å"] == "-"  # of no success
    fewer = ["system=oracle", "benchmark.items=4", "benchmark.actions=[change,swap]"]
    run(tmp_path / "four", *fewer)  # structures: too few for an interval
    assert "[" not in "".join(breakdown(load_runs([tmp_path / "four"]), "action")[1][0])
    groups = tmp_path / "groups.csv"
    assert report([str(tmp_path / "oracle"), f"csv={groups}"]) == 0
    assert re.search(r"change +5 +100\.0 ", capsys.readouterr().out)
    lines = {
        line["metric"]: line
        for line in csv.DictReader(groups.read_text().splitlines())
        if line["kind"] == "group"
    }
    assert (lines["strict"]["group"], lines["strict"]["answers"]) == ("change", "5")
    assert float(lines["strict"]["low"]) == pytest.approx(0.478, abs=1e-3)
    assert (lines["max_dist"]["unit"], lines["max_dist"]["low"]) == ("Å", "")


def test_an_answer_is_drawn_beside_the_target_and_what_differs_is_ringed(item):
    def ringed(answer):
        said = grade.strictly(item.literal.plain(), answer)
        drawn = pictures(
            before=item.before.plain(),
            target=item.literal.plain(),
            answer=said["shown"],
        )
        return {title: svg.count('fill="none"') // 2 for title, svg in drawn.items()}

    right, echo = item.literal.to_cif(), item.before.to_cif()
    assert ringed(right) == {"before": 1, "target": 1, "answer": 0}
    assert ringed(echo) == {"before": 1, "target": 1, "answer": 1}
    assert ringed("no CIF") == {"before": 1, "target": 1}
    (grown,) = generate(seed=1, items=1, actions=["super_cell"])
    after = grown.literal.plain()
    drawn = pictures(before=grown.before.plain(), target=after, answer=after)
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
    run(
        tmp_path / "out",
        "benchmark.arm=file",
        "benchmark.items=1",
        "system=command",
        "benchmark.actions=[move,remove]",
        f"system.program={sys.executable} {agent}",
    )
    found = {row["question_id"]: row for row in run_rows(tmp_path / "out")}
    moved, removed = found["move-000"], found["remove-000"]
    assert moved["values"]["published"] == moved["values"]["echo"]
    assert moved["artefacts"]["error"] == "SiteMismatch"
    assert removed["artefacts"]["error"] == "TooLarge"
