"""The main job end to end, with a scripted agent in place of an architecture."""

import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from rich.console import Console

from agents.base import Question
from experiments.files import read_json
from experiments.record import read_rows
from experiments.run.config import read_run, validate
from experiments.run.loop import execute
from experiments.run.setup import build_benchmark, load_samples
from experiments.run.store import run_folder
from experiments.run.summary import WALL_CLOCK, samples_digest
from experiments.samples import Sample

TINY = [
    "system._target_=tests.support.tiny.Scripted",
    "system.name=scripted",
    "system=single",
    "benchmark._target_=tests.support.tiny.TinyBenchmark",
    "benchmark.name=tiny",
    "sandbox.timeout=3",
    "retrieval=none",
    "model=none",
]


async def run(config):
    console = Console(file=io.StringIO(), width=200)
    folder = await execute(config, console)
    return folder, read_json(folder / "summary.json"), console.file.getvalue()


async def test_counts_of_a_whole_run_and_that_the_same_command_repeats_nothing(
    configure,
):
    folder, summary, _ = await run(configure())
    metrics = {
        entry["name"]: (entry["sum"], entry["total"]) for entry in summary["metrics"]
    }
    assert metrics == {"criteria": (4, 9), "runnable": (3, 6), "all_correct": (2, 6)}
    known = {
        "questions": 6,
        "answers": 6,
        "complete": True,
        "infra": 0,
        "format_errors": 1,
        "tokens": 90,
        "cost_usd": pytest.approx(0.06),
        "model_kind": "none",
        "outcomes": {"exception": 1, "no_code": 1, "ok": 3, "timeout": 1},
    }
    assert {key: summary[key] for key in known} == known
    assert summary["packages"]["live"]["pymatgen"]
    assert summary["sandbox_tier"]
    rows = {row.question_id: row for row in read_rows(folder / "results.jsonl")}
    assert rows["formula"].reasons == {"atoms": "expected int, got str"}
    assert rows["plain"].reasons["one"].startswith("exception: ValueError")
    assert rows["loop"].passed == {"never": False}

    before = (folder / "results.jsonl").read_bytes()
    _, again, said = await run(configure())
    assert (folder / "results.jsonl").read_bytes() == before
    assert again == summary
    assert "6 answers finished before" in said


@pytest.mark.long
async def test_infrastructure_is_unknown_and_tried_again(configure):
    ids = ["cubic", "formula", "lists"]
    broken = {"raises": ["cubic"], "model_fails": ["formula"]}
    folder, summary, _ = await run(configure(ids=ids, system=broken))
    assert (summary["infra"], summary["answers"], summary["complete"]) == (2, 1, False)
    assert (summary["metrics"][0]["sum"], summary["metrics"][0]["total"]) == (1, 1)
    rows = {row.question_id: row for row in read_rows(folder / "results.jsonl")}
    assert (rows["cubic"].values, rows["cubic"].passed) == ({}, None)
    assert "RuntimeError in tests/support/tiny.py" in rows["cubic"].error
    assert "a planted bug" not in rows["cubic"].error
    assert "500" in rows["formula"].error
    await run(configure(ids=ids, system=broken))
    tried = Counter(row.question_id for row in read_rows(folder / "results.jsonl"))
    assert (tried["lists"], tried["cubic"]) == (1, 2)


@pytest.mark.long
@pytest.mark.parametrize(
    ("each", "limit", "answers", "stopped"),
    [(0.01, 0.015, 2, " of 0.015 is used up"), (None, 1, 1, " of 1.0 cannot be kept")],
)
async def test_a_run_budget_stops_cleanly_and_goes_on_later(
    configure, each, limit, answers, stopped
):
    common = {"ids": ["cubic", "formula", "lists"], "system": {"cost_usd": each}}
    limits = {"cost_usd": limit}
    _, summary, _ = await run(configure(**common, run_budget=limits, concurrency=1))
    assert (summary["answers"], summary["missing"]) == (answers, 3 - answers)
    assert (summary["cost_usd"] is None) == (each is None)
    assert summary["stopped"].startswith(f"run_budget.cost_usd{stopped}")
    _, summary, _ = await run(configure(**common))
    assert summary["answers"] == 3


def test_the_folder_follows_from_the_configuration(configure):
    config = configure(out=None)
    digest = config.hash("tasks")
    assert run_folder(config, digest).name == f"tiny-scripted-none-none-{digest[:8]}"
    odd = configure(
        out=None, model={"provider": "none", "name": "org/model (recorded)"}
    )
    assert run_folder(odd, "x").name == "tiny-scripted-none-org_model_recorded-x"
    same = {"concurrency": 9, "seeds": 3, "launcher": {"name": "dask", "workers": 9}}
    slow = {"provider": "none", "name": "none", "timeout": 3}
    assert configure(out=None, model=slow, **same).hash("tasks") == digest
    assert config.hash("other tasks") != digest
    assert configure(out=None, strict=True).hash("tasks") != digest


@pytest.mark.parametrize(
    "name", ["live", "qmbench", "mattools_qa", "omnimatbench", "curie", "atomworld"]
)
def test_a_worker_elsewhere_has_the_same_questions(name):
    config = read_run([f"benchmark={name}", "system=empty", "model=none"])
    assert "/" not in json.dumps(config.plain()["benchmark"])  # no path of this machine
    sent = validate(json.loads(json.dumps(config.plain())))
    one, two = (
        samples_digest(load_samples(build_benchmark(c), c)) for c in (config, sent)
    )
    assert (one, config.hash(one)) == (two, sent.hash(two))


def test_the_digest_follows_the_contents_of_input_files(tmp_path):
    def digest(name):
        question = Question("q", "Read it.", mounts={"in": str(tmp_path / name)})
        return samples_digest([Sample(question, ())])

    (tmp_path / "folder").mkdir()
    seen = [digest("file"), digest("folder")]
    for content in ("one", "two"):
        (tmp_path / "file").write_text(content)
        (tmp_path / "folder" / "inner").write_text(content)
        seen += [digest("file"), digest("folder")]
    assert len(set(seen)) == 6
    (tmp_path / "file").rename(tmp_path / "moved")
    assert digest("moved") == seen[-2]


def command(*arguments):
    return [sys.executable, "-m", "experiments.run", *arguments]


def count_lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.long
def test_killed_at_any_moment_and_run_again_gives_the_same_summary(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    subprocess.run(
        command(*TINY, f"out={whole}", "seeds=6"), check=True, capture_output=True
    )
    results = broken / "results.jsonl"
    chance = random.Random(time.time_ns())  # whenever it is, it has to work
    for _ in range(4):
        process = subprocess.Popen(
            command(*TINY, f"out={broken}", "seeds=6", "concurrency=2"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        before = count_lines(results)
        while process.poll() is None and count_lines(results) == before:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 1.5))
        assert process.poll() is None, process.stderr.read().decode()
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    with results.open("ab") as file:
        file.write(b'{"config_hash": "half a li')
    subprocess.run(
        command(*TINY, f"out={broken}", "seeds=6"), check=True, capture_output=True
    )
    expected, found = (read_json(folder / "summary.json") for folder in (whole, broken))
    for summary in (expected, found):
        for key in WALL_CLOCK:
            del summary[key]
        del summary["config"]["out"], summary["config"]["concurrency"]
    assert found == expected
    keys = [(row.question_id, row.seed) for row in read_rows(results)]
    assert len(keys) == len(set(keys)) == 36


@pytest.mark.long
@pytest.mark.parametrize(
    ("sent", "interrupts", "code"),
    [
        # A job in the background of a script ignores interrupts, and so would its children.
        (signal.SIGINT, "--default-signal=INT", 130),
        (signal.SIGTERM, "--default-signal=INT", 143),
        (signal.SIGTERM, "--ignore-signal=INT", 143),
    ],
)
def test_interrupt_says_how_to_go_on(tmp_path, sent, interrupts, code):
    out = tmp_path / "run"
    process = subprocess.Popen(
        ["env", interrupts, *command(*TINY, f"out={out}", "seeds=40")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not count_lines(out / "results.jsonl"):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(sent)
    _, said = process.communicate()
    assert process.returncode == code
    assert "the same command resumes" in said
    assert "Traceback" not in said
    assert 0 < read_json(out / "summary.json")["answers"] < 240
