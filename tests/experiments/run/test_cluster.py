"""Workers of Dask, in processes of their own, instead of this one."""

import asyncio
import io
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from functools import partial

import pytest
from rich.console import Console

from experiments.command import main
from experiments.record import read_rows
from experiments.run.cluster import DaskLauncher
from experiments.run.config import LauncherConfig
from experiments.run.loop import execute_all
from experiments.run.summary import WALL_CLOCK
from foundation.errors import UsageError

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
CROWD = {"_target_": "tests.support.tiny.Crowd", "name": "crowd"}
PATIENT = {"_target_": "tests.support.tiny.Patient", "name": "patient"}
CLOCK = ("seconds", "sandbox_seconds", "cpu_seconds")


async def run(config):
    console = Console(file=io.StringIO(), width=200)
    (folder,) = await execute_all([config], console)
    return (
        folder,
        json.loads((folder / "summary.json").read_text()),
        console.file.getvalue(),
    )


def timeless(value):
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if k not in CLOCK}
    return [timeless(v) for v in value] if isinstance(value, list) else value


def rows_of(folder):
    """Rows without times, and without the digest of records that hold them."""
    plain = [
        row.model_dump(exclude={"digest"})
        for row in read_rows(folder / "results.jsonl")
    ]
    rows = [timeless(row) for row in plain]
    return sorted(rows, key=lambda row: (row["question_id"], row["seed"]))


def crowd(
    configure, tmp_path, questions, seconds=0.0, *, out="crowd", fatal=(), **changes
):
    return configure(
        benchmark=CROWD | {"questions": questions},
        system=PATIENT | {"seconds": seconds, "fatal": list(fatal)},
        out=str(tmp_path / out),
        **changes,
    )


def local_cluster(workers, threads=2):
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=threads,
        processes=True,
        asynchronous=True,
        memory_limit=0,
        dashboard_address=None,
        silence_logs=50,
    )


def address(cluster, **more):
    return {"name": "dask", "address": cluster.scheduler_address, **more}


@pytest.mark.long
async def test_rows_and_trajectories_are_those_of_a_local_run(configure, tmp_path):
    launcher = {"name": "dask", "workers": 2}
    one, local, _ = await run(configure(out=str(tmp_path / "local"), seeds=2))
    two, far, said = await run(
        configure(out=str(tmp_path / "far"), seeds=2, launcher=launcher)
    )
    assert rows_of(one) == rows_of(two)
    names = sorted(path.name for path in (one / "trajectories").iterdir())
    assert names == sorted(path.name for path in (two / "trajectories").iterdir())
    for name in names:
        first, second = (
            json.loads((f / "trajectories" / name).read_text()) for f in (one, two)
        )
        assert timeless(first) == timeless(second)
    for summary in (local, far):
        for key in (*WALL_CLOCK, "config"):
            del summary[key]
    assert local == far
    _, again, said = await run(configure(out=str(two), seeds=2, launcher=launcher))
    assert "12 answers finished before" in said
    assert again["answers"] == 12


@pytest.mark.long
async def test_twenty_killed_workers_lose_and_duplicate_nothing(configure, tmp_path):
    chance = random.Random(time.time_ns())  # whenever it is, it has to work
    killed = 0
    async with local_cluster(3, 4) as cluster:
        config = crowd(configure, tmp_path, 1500, 0.3, launcher=address(cluster))
        going = asyncio.create_task(run(config))
        while killed < 20:
            await asyncio.sleep(chance.uniform(0, 1))
            assert not going.done(), going.result()[1:]
            nanny = chance.choice(list(cluster.workers.values()))
            if nanny.pid is not None and going.get_stack():
                os.kill(nanny.pid, signal.SIGKILL)
                killed += 1
        folder, summary, _ = await going
        if summary[
            "infra"
        ]:  # four workers in a row died with one question: the command again
            folder, summary, _ = await run(config)
    assert (summary["answers"], summary["complete"]) == (1500, True)
    answered = Counter(
        r.question_id for r in read_rows(folder / "results.jsonl") if not r.infra
    )
    assert len(answered) == 1500
    assert set(answered.values()) == {1}
    assert summary["metrics"][0]["sum"] == 1500


@pytest.mark.long
async def test_a_question_that_kills_its_workers_is_unknown_and_costs_no_other(
    configure, tmp_path
):
    launcher = {"name": "dask", "workers": 2}
    config = crowd(
        configure, tmp_path, 6, fatal=["q3"], concurrency=1, launcher=launcher
    )
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        folder, summary, _ = await run(config)
    rows = {row.question_id: row for row in read_rows(folder / "results.jsonl")}
    assert rows["q3"].infra
    assert rows["q3"].passed is None
    assert "no worker could answer" in rows["q3"].error
    assert (summary["answers"], summary["infra"], summary["complete"]) == (5, 1, False)


@pytest.mark.long
async def test_a_scheduler_that_is_gone_leaves_questions_unfinished(
    configure, tmp_path
):
    with dask.config.set({"distributed.comm.timeouts.connect": "3s"}):
        cluster = await local_cluster(1)
        config = crowd(
            configure, tmp_path, 50, 0.5, launcher=address(cluster, patience=20)
        )
        going = asyncio.create_task(run(config))
        results = tmp_path / "crowd" / "results.jsonl"
        while not (results.exists() and results.stat().st_size):
            assert not going.done()
            await asyncio.sleep(0.1)
        await cluster.close()
        folder, summary, _ = await going
    assert "scheduler" in summary["stopped"] or "no worker" in summary["stopped"]
    assert 0 < summary["answers"] < 50
    assert all(
        row.passed == {"answer": True} for row in read_rows(folder / "results.jsonl")
    )
    _, summary, _ = await run(
        crowd(configure, tmp_path, 50, 0.5)
    )  # here, without any cluster
    assert (summary["answers"], summary["complete"], summary["stopped"]) == (
        50,
        True,
        None,
    )


@pytest.mark.long
async def test_a_worker_that_cannot_answer_says_so_and_takes_no_work(
    configure, tmp_path
):
    """One without a sandbox; one with other questions."""
    nothing = {"PATH": str(tmp_path), "DOCKER_HOST": f"unix://{tmp_path}/none"}
    async with local_cluster(0) as cluster:
        worker = partial(distributed.Nanny, cluster.scheduler_address, nthreads=2)
        async with worker(env=nothing) as bare:
            config = configure(
                launcher=address(cluster), sandbox={"backend": "bubblewrap"}
            )
            _, summary, said = await run(config)
            assert f"worker {bare.worker_address} takes no work" in said
            assert "bubblewrap" in summary["stopped"]
            assert (summary["answers"], summary["infra"]) == (0, 0)
            async with worker():
                _, summary, said = await run(config)
        assert (summary["answers"], summary["complete"]) == (6, True)
        async with worker(env={"CROWD": "Thrice"}), worker():
            config = crowd(configure, tmp_path, 40, 0.1, launcher=address(cluster))
            _, summary, said = await run(config)
    assert "takes no work: benchmark=crowd: has other questions" in said
    assert (summary["answers"], summary["metrics"][0]["sum"]) == (40, 40)


async def test_what_only_one_process_can_do_is_refused_in_one_line(configure, tmp_path):
    workers = DaskLauncher(
        None, LauncherConfig(name="dask"), Console(file=io.StringIO())
    )
    with pytest.raises(UsageError, match=r"writer=model: .*matsmith docs"):
        workers.check(configure(writer="model"))
    record = {"provider": "none", "name": "none", "record": str(tmp_path / "r.jsonl")}
    with pytest.raises(UsageError, match=r"model\.record: .*launcher=local"):
        workers.check(configure(model=record))


def test_what_is_not_there_is_named_in_one_line(monkeypatch, capsys, tmp_path):
    words = ["launcher=dask", "launcher.address=tcp://127.0.0.1:9", "model=none"]
    for told in (
        "launcher.address=tcp://127.0.0.1:9: no scheduler answers",
        "uv pip install distributed dask-jobqueue",
    ):
        assert main([*words, f"out={tmp_path}"]) == 2
        said = capsys.readouterr().err
        assert told in said
        assert said.count("\n") == 1
        monkeypatch.setitem(sys.modules, "distributed", None)


@pytest.mark.long
async def test_the_budget_of_a_run_holds_for_all_workers(configure, tmp_path):
    launcher = {"name": "dask", "workers": 2}
    limit = {"run_budget": {"cost_usd": 0.1}, "launcher": launcher, "concurrency": 2}
    _, summary, _ = await run(crowd(configure, tmp_path, 60, 0.05, **limit))
    assert summary["stopped"] == "run_budget.cost_usd of 0.1 is used up"
    assert 10 <= summary["answers"] <= 10 + 4  # what was in flight
