"""``matsmith docs`` as a user runs it: by facts, against an endpoint with faults, killed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from werkzeug import Response

from docgen.__main__ import main
from docgen.texts import VERSION, Checkpoint, WrittenText, read_texts, write_texts
from tests.support.endpoint import USAGE, cut_off, filtered, status, text
from tests.support.paths import ROOT
from tests.support.writers import arguments, rows

VICTIM = "brickwork.shapes.Brick"
GOOD = "## What it does\nA cuboid.\n"

#: One of each kind: tests/agents/models/test_endpoint_faults.py has all that an endpoint can do.
FAULTS = {
    "500": status(500, "oops"),
    "half refused": filtered(GOOD),
    "cut off": cut_off(GOOD),
    "not JSON": Response("<html>", content_type="text/html"),
    "no answer": text("I cannot help with that."),
    "empty": text(""),
    "malformed": text("## What it does\n"),
}


def test_facts_document_a_package(package, tmp_path, capsys):
    out = tmp_path / "docs.jsonl"
    assert main(["package=brickwork", f"folder={package}", f"out={out}"]) == 0
    written = rows(out)
    wall = written["brickwork.wall.Wall"]
    assert wall["package"] == "brickwork-dist"
    assert wall["version"] == "1.2"
    assert (wall["writer"], wall["prompt"]) == ("facts", VERSION)
    source = (package / "brickwork/wall.py").read_text().splitlines()
    first, last = wall["lines"]
    assert source[first - 1] == "class Wall:"
    assert source[last - 1].strip() == "def _secret(self): ..."
    assert "\n---\n## What it does\n" in str(wall["text"])
    printed = capsys.readouterr().out
    assert f"{len(written)} of {len(written)} symbols documented" in printed
    assert "not Python, left out: brickwork/broken.py" in printed
    assert "brickwork.wall.Wall._secret" not in written


def test_an_upgrade_writes_what_changed_and_says_so(
    package, tmp_path, endpoint, capsys
):
    command = arguments(package, tmp_path / "docs.jsonl", endpoint.url)
    main(command)
    before = rows(tmp_path / "docs.jsonl")
    wall = package / "brickwork/wall.py"
    wall.write_text(wall.read_text().replace("one * courses", "courses * one"))
    metadata = package / "brickwork-1.2.dist-info/METADATA"
    metadata.write_text(metadata.read_text().replace("1.2", "1.3"))
    capsys.readouterr()
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "1 written" in printed
    after = rows(tmp_path / "docs.jsonl")
    assert {
        r["version"] for r in after.values() if r["package"] == "brickwork-dist"
    } == {"1.3"}
    changed = {n for n in after if after[n]["source_hash"] != before[n]["source_hash"]}
    assert changed == {"brickwork.wall.Wall.volume"}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of its own; environments are where they were."""
    root = Path(os.environ.get("MATSMITH_CACHE", Path.cwd() / ".cache/matsmith"))
    folder = tmp_path / "cache"
    folder.mkdir()
    if (root / "envs").is_dir():
        (folder / "envs").symlink_to((root / "envs").resolve())
    monkeypatch.setenv("MATSMITH_CACHE", str(folder))
    return folder


def test_what_one_writes_another_uses(package, tmp_path, endpoint, cache, capsys):
    out = tmp_path / "docs.jsonl"
    assert main(arguments(package, out, endpoint.url)) == 0
    write_texts(
        cache / "written/brickwork-dist-1.2.jsonl.gz",
        read_texts(Path(f"{out}.written")),
    )
    capsys.readouterr()
    endpoint.asked.clear()
    again = tmp_path / "again.jsonl"
    assert main(["package=brickwork", f"folder={package}", f"out={again}"]) == 0
    printed = capsys.readouterr().out
    theirs = {name for name, row in rows(again).items() if row["writer"] == "local"}
    assert f"0 kept, {len(theirs)} shipped or imported" in printed
    assert len(theirs) > len(rows(again)) / 2
    assert not endpoint.asked
    wall = package / "brickwork/wall.py"
    wall.write_text(wall.read_text().replace("one * courses", "courses * one"))
    assert main(["package=brickwork", f"folder={package}", f"out={again}"]) == 0
    printed = capsys.readouterr().out
    assert f"0 kept, {len(theirs) - 1} shipped or imported" in printed
    assert (
        "changed since they were shipped or imported: brickwork.wall.Wall.volume"
        in printed
    )
    assert rows(again)["brickwork.wall.Wall.volume"]["writer"] == "facts"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_never_taken_for_a_text(package, tmp_path, endpoint, fault):
    endpoint.misbehave = lambda name, count: (
        FAULTS[fault] if (name, count) == (VICTIM, 1) else None
    )
    out = tmp_path / "docs.jsonl"
    assert main(arguments(package, out, endpoint.url)) == 0
    assert endpoint.asked[VICTIM] == 2
    assert "## What it does\nA cuboid." in str(rows(out)[VICTIM]["text"])


def test_half_a_character_in_a_reply_does_not_stop_the_run(package, tmp_path, endpoint):
    reply = text(f"{GOOD}\ud83d")
    endpoint.misbehave = lambda name, _: reply if name == VICTIM else None
    out = tmp_path / "docs.jsonl"
    assert main(arguments(package, out, endpoint.url)) == 0
    assert str(rows(out)[VICTIM]["text"]).endswith("A cuboid.\n?\n")


def test_one_failed_request_does_not_hide_what_the_others_cost(
    package, tmp_path, endpoint, capsys
):
    oops = status(500, "oops")
    endpoint.misbehave = lambda name, count: (
        oops if (name, count) == (VICTIM, 1) else None
    )
    out = tmp_path / "docs.jsonl"
    assert main(arguments(package, out, endpoint.url)) == 0
    assert endpoint.asked == Counter(rows(out).keys()) + Counter([VICTIM])
    count = endpoint.requests_made - 1
    assert count < len(rows(out))  # small symbols share requests
    printed = capsys.readouterr().out
    assert f"{count + 1} requests (1 failed: their cost is unknown)" in printed
    prompt, reply = USAGE["prompt_tokens"] * count, USAGE["completion_tokens"] * count
    assert (
        f"tokens {prompt} + {reply}, cost ${(prompt + 2 * reply) / 1e6:.4f}" in printed
    )


def test_an_unusable_reply_out_of_the_cache_is_no_try(
    package, tmp_path, endpoint, monkeypatch
):
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
    package, tmp_path, capsys
):
    out = tmp_path / "docs.jsonl"
    assert main(arguments(package, out, "http://127.0.0.1:9/v1")) == 1
    printed = capsys.readouterr()
    assert "\nfailed: brickwork." in printed.out
    assert ": ModelError: local: ConnectError: " in printed.out
    assert "(http://127.0.0.1:9/v1)" in printed.out
    assert "the same command resumes" in printed.out
    assert "Traceback" not in printed.out + printed.err


def test_a_second_run_waits_for_nobody_and_says_so(package, tmp_path, endpoint):
    out = tmp_path / "docs.jsonl"
    over = threading.Event()
    endpoint.misbehave = lambda *_: None if over.wait(100) else status(500)
    command = [sys.executable, "-m", "docgen", *arguments(package, out, endpoint.url)]
    command += ["concurrency=1", "model.timeout=200"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as first:
        while first.poll() is None and not endpoint.asked:
            time.sleep(0.01)
        second = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False
        )
        over.set()
    assert first.returncode == 0
    assert second.returncode == 2
    assert (
        second.stderr == f"error: out={out}: another run is writing it; wait for it\n"
    )
    assert set(endpoint.asked.values()) == {1}


@pytest.mark.parametrize("kind", ["folder", "file above", "read-only"])
def test_a_place_that_cannot_be_written_is_one_line(package, tmp_path, capsys, kind):
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


def test_several_writers_of_one_checkpoint_lose_nothing(tmp_path):
    path = tmp_path / "written"
    path.write_bytes(b'{"half": ')
    checkpoints = [Checkpoint(path) for _ in range(2)]
    for number, name in enumerate("abc"):
        checkpoints[number % 2].add(_written(name))
    read = Checkpoint(path)
    assert [read.done(name, "hash", "m") for name in "abc"] == [
        _written(name) for name in "abc"
    ]


def _written(name):
    return WrittenText(name, "hash", "2", "m", "2026-11", "text")


@pytest.mark.long
def test_what_is_killed_resumes_and_asks_nothing_twice(package, tmp_path, endpoint):
    walls = [f"def wall_{i}():\n    return wall_{i + 1}()\n" for i in range(60)]
    (package / "brickwork/walls.py").write_text("\n\n".join(walls))
    out = tmp_path / "docs.jsonl"
    kept = out.with_name("docs.jsonl.written")
    endpoint.misbehave = lambda *_: time.sleep(0.05)  # there is time to kill it
    command = [sys.executable, "-m", "docgen", *arguments(package, out, endpoint.url)]
    for kill in (3, 12, None):
        finished = {json.loads(line)["qualname"] for line in lines(kept)}
        endpoint.asked.clear()
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
            while kill and process.poll() is None and len(lines(kept)) < kill:
                time.sleep(0.01)
            if kill:
                process.kill()
        assert process.returncode == (-signal.SIGKILL if kill else 0)
        assert not endpoint.asked.keys() & finished
    assert len(finished) >= 12
    assert all(row["text"] for row in rows(out).values())


def lines(path):
    """Whole lines of a file that may still be written."""
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []
