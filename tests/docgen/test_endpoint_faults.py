"""What an endpoint can do to ``python -m docgen``, and what being killed does to it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from werkzeug import Response

from docgen.__main__ import main
from docgen.checkpoint import Checkpoint, Written
from tests.docgen.documenting import Documenting, arguments, lines, rows, symbols
from tests.endpoint import USAGE, cut_off, filtered, status, text

ROOT = Path(__file__).parents[2]
VICTIM = "brickwork.shapes.Brick"
GOOD = "## What it does\nA cuboid.\n"

FAULTS = {
    "500": status(500, "oops"),
    "refused by a filter": filtered(),
    "half refused": filtered(GOOD),
    "cut off": cut_off(GOOD),
    "truncated JSON": Response('{"id": "1", "choices": [{"mess', content_type="application/json"),
    "no choices": Response('{"choices": []}', content_type="application/json"),
    "a list": Response("[]", content_type="application/json"),
    "null": Response("null", content_type="application/json"),
    "nothing": Response("", content_type="application/json"),
    "not UTF-8": Response(b"\xff\xfe", content_type="application/json"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_never_taken_for_a_text(
    package: Path, tmp_path: Path, endpoint: Documenting, fault: str
) -> None:
    endpoint.misbehave = lambda name, count: FAULTS[fault] if (name, count) == (VICTIM, 1) else None
    out = tmp_path / "docs.jsonl"
    assert main(arguments(package, out, endpoint.url)) == 0
    assert endpoint.asked[VICTIM] == 2
    assert "## What it does\nA cuboid." in str(rows(out)[VICTIM]["text"])


def test_half_a_character_in_a_reply_does_not_stop_the_run(
    package: Path, tmp_path: Path, endpoint: Documenting
) -> None:
    reply = text(f"{GOOD}\ud83d")
    endpoint.misbehave = lambda name, _: reply if name == VICTIM else None
    out = tmp_path / "docs.jsonl"
    assert main(arguments(package, out, endpoint.url)) == 0
    assert str(rows(out)[VICTIM]["text"]).endswith("A cuboid.\n?\n")


def test_the_endpoint_says_how_long_to_wait(
    package: Path, tmp_path: Path, endpoint: Documenting
) -> None:
    busy = status(429, "slow down", retry_after="0.5")
    endpoint.misbehave = lambda name, count: busy if (name, count) == (VICTIM, 1) else None
    assert main(arguments(package, tmp_path / "docs.jsonl", endpoint.url)) == 0
    first, second = (moment for name, moment in endpoint.times if name == VICTIM)
    assert second - first >= 0.5


def test_one_failed_request_does_not_hide_what_the_others_cost(
    package: Path, tmp_path: Path, endpoint: Documenting, capsys: pytest.CaptureFixture[str]
) -> None:
    oops = status(500, "oops")
    endpoint.misbehave = lambda name, count: oops if (name, count) == (VICTIM, 1) else None
    out = tmp_path / "docs.jsonl"
    assert main(arguments(package, out, endpoint.url)) == 0
    count = endpoint.requests_made - 1
    printed = capsys.readouterr().out
    assert f"{count + 1} requests (1 failed: their cost is unknown)" in printed
    prompt, reply = USAGE["prompt_tokens"] * count, USAGE["completion_tokens"] * count
    assert f"tokens {prompt} + {reply}, cost ${(prompt + 2 * reply) / 1e6:.4f}" in printed


def test_an_unusable_reply_out_of_the_cache_is_no_try(
    package: Path, tmp_path: Path, endpoint: Documenting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path / "cache"))
    bad = text("I cannot help with that.")
    endpoint.misbehave = lambda name, _: bad if name == VICTIM else None
    out = tmp_path / "docs.jsonl"
    command = [*arguments(package, out, endpoint.url), "model.cache=true", "attempts=2"]
    assert main(command) == 1
    assert endpoint.asked[VICTIM] == 2
    endpoint.misbehave = lambda *_: None
    assert main(command) == 0  # what was refused twice is asked again
    assert endpoint.asked[VICTIM] == 3
    assert set(endpoint.asked.values()) == {1, 3}


def test_an_endpoint_that_is_not_there_is_given_up_with_one_line(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "docs.jsonl"
    assert main(arguments(package, out, "http://127.0.0.1:9/v1")) == 1
    printed = capsys.readouterr()
    assert "Connection error. (http://127.0.0.1:9/v1/chat/completions)" in printed.out
    assert "the same command resumes" in printed.out
    assert "Traceback" not in printed.out + printed.err


def test_a_second_run_waits_for_nobody_and_says_so(
    package: Path, tmp_path: Path, endpoint: Documenting
) -> None:
    out = tmp_path / "docs.jsonl"
    over = threading.Event()
    endpoint.misbehave = lambda *_: None if over.wait(100) else status(500)
    command = [sys.executable, "-m", "docgen", *arguments(package, out, endpoint.url)]
    command += ["concurrency=1", "model.timeout=200"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as first:
        while first.poll() is None and not endpoint.asked:
            time.sleep(0.01)
        second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        over.set()
    assert first.returncode == 0
    assert second.returncode == 2
    assert second.stderr == f"error: out={out}: another run is writing it; wait for it\n"
    assert set(endpoint.asked.values()) == {1}


@pytest.mark.parametrize("kind", ["folder", "file above", "read-only"])
def test_a_place_that_cannot_be_written_is_one_line(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    out = tmp_path / "docs.jsonl"
    if kind == "folder":
        out.mkdir()
    elif kind == "file above":
        (tmp_path / "file").write_text("")
        out = tmp_path / "file" / "docs.jsonl"
    else:
        out = Path("/proc/docs.jsonl")
    assert main(["package=brickwork", f"folder={package}", f"out={out}"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"error: out={out}: ")
    assert printed.count("\n") == 1


def test_several_writers_of_one_checkpoint_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "written"
    path.write_bytes(b'{"half": ')
    checkpoints = [Checkpoint(path) for _ in range(2)]
    with checkpoints[0].writer() as one:
        one.append(_written("a"))
        with checkpoints[1].writer() as other:
            one.append(_written("b"))
            other.append(_written("c"))
    read = Checkpoint(path)
    assert read.damaged == 0
    assert [read.done(name, "hash", "m") for name in "abc"] == [_written(name) for name in "abc"]


def _written(name: str) -> Written:
    return Written(name, "hash", "m", "text")


@pytest.mark.long
def test_ten_kills_and_an_endpoint_that_fails_at_random(
    package: Path, tmp_path: Path, endpoint: Documenting
) -> None:
    walls = [f"def wall_{i}():\n    return wall_{i + 1}()\n" for i in range(60)]
    (package / "brickwork/walls.py").write_text("\n\n".join(walls))
    whole = tmp_path / "whole.jsonl"
    assert main(arguments(package, whole, endpoint.url)) == 0
    dice = random.Random(0)
    faults = [*FAULTS.values(), status(429, retry_after="0.2")]

    kills = 0

    def misbehave(name: str, count: int) -> Response | None:
        if name == "brickwork.walls.wall_0" and kills < 10:
            return status(500, "not yet")  # no run ends before the tenth kill
        if dice.random() < 0.02:
            time.sleep(3)  # longer than the client waits
        return dice.choice(faults) if dice.random() < 0.3 else None

    endpoint.misbehave = misbehave
    out = tmp_path / "docs.jsonl"
    command = [sys.executable, "-m", "docgen", *arguments(package, out, endpoint.url)]
    command += ["concurrency=2", "attempts=20"]
    kept = out.with_name("docs.jsonl.written")
    while True:
        finished = {
            row["qualname"] for row in map(json.loads, lines(kept)) if row["status"] == "done"
        }
        endpoint.asked.clear()
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
            target = len(lines(kept)) + dice.randint(0, 2)
            until = time.monotonic() + 3  # when all but the one held back is there, nothing comes
            while kills < 10 and len(lines(kept)) < target and time.monotonic() < until:
                time.sleep(0.01)
            if kills < 10 and process.poll() is None:
                time.sleep(dice.random() / 5)
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
        assert not set(endpoint.asked) & finished
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL
    assert kills == 10
    assert symbols(out) == symbols(whole)
    assert all(row["text"] for row in rows(out).values())
