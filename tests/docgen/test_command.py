"""``python -m docgen`` as a user runs it, with rules and against an HTTP endpoint."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from werkzeug import Response

from docgen.__main__ import main
from docgen.prompts import VERSION
from tests.docgen.documenting import Documenting, arguments, lines, rows, symbols
from tests.endpoint import USAGE, status, text


def test_rules_write_a_package(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "docs.jsonl"
    assert main(["package=brickwork", f"folder={package}", f"out={out}"]) == 0
    written = rows(out)
    wall = written["brickwork.wall.Wall"]
    assert wall["package"] == "brickwork-dist"
    assert wall["version"] == "1.2"
    assert (wall["writer"], wall["prompt"]) == ("rules", VERSION)
    source = (package / "brickwork/wall.py").read_text().splitlines()
    first, last = wall["lines"]  # type: ignore[misc]
    assert source[first - 1] == "class Wall:"
    assert source[last - 1].strip() == "def _secret(self): ..."
    assert "\n---\n## What it does\n" in str(wall["text"])
    printed = capsys.readouterr().out
    assert f"{len(written)} of {len(written)} symbols documented" in printed
    assert "not Python, left out: brickwork/broken.py" in printed
    assert "cost $0.0000" in printed
    assert "brickwork.wall.Wall._secret" not in written
    assert main(["package=brickwork", f"folder={package}", f"out={out}", "private=true"]) == 0
    assert "brickwork.wall.Wall._secret" in rows(out)


def test_an_upgrade_writes_what_changed_and_says_so(
    package: Path, tmp_path: Path, endpoint: Documenting, capsys: pytest.CaptureFixture[str]
) -> None:
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
    assert "changed since they were last written: brickwork.wall.Wall.volume\n" in printed
    after = rows(tmp_path / "docs.jsonl")
    assert {r["version"] for r in after.values() if r["package"] == "brickwork-dist"} == {"1.3"}
    changed = {n for n in after if after[n]["item_hash"] != before[n]["item_hash"]}
    assert changed == {"brickwork.wall.Wall.volume"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["package=brickwork"], "out=...: is required"),
        (
            ["package=brickwork", "out=x", "modell=rules"],
            "modell: no such key (did you mean model?)",
        ),
        (["package=absent", "out=x"], "no Python source under"),
        (["package=brickwork", "out=x", "model=magic"], "openai, rules"),
        (["package=brickwork", "out=x", "concurrency=0"], "concurrency=0"),
        (["package=brickwork", "out=x", "model=openai"], "OPENAI_API_KEY"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(
    arguments: list[str],
    message: str,
    package: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert main([*arguments, f"folder={package}"]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert "Traceback" not in printed.err


def test_help_names_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    for key in ("package", "out", "folder", "model", "concurrency", "max_cost_usd"):
        assert f"  {key} " in printed


def test_an_endpoint_writes_a_package(
    package: Path, tmp_path: Path, endpoint: Documenting, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "docs.jsonl"
    assert main(arguments(package, out, endpoint.url)) == 0
    assert endpoint.asked == Counter(dict.fromkeys(rows(out), 1))
    count = endpoint.requests_made
    assert count < len(rows(out))  # small symbols share requests
    printed = capsys.readouterr().out
    prompt, reply = USAGE["prompt_tokens"] * count, USAGE["completion_tokens"] * count
    assert f"tokens {prompt} + {reply}" in printed
    assert f"cost ${(prompt + 2 * reply) / 1e6:.4f}" in printed


@pytest.mark.parametrize(
    "fault", ["500", "429", "refused", "empty", "malformed", "not json", "slow"]
)
def test_a_passing_fault_is_retried(
    package: Path, tmp_path: Path, endpoint: Documenting, fault: str
) -> None:
    replies = {
        "500": status(500, "oops"),
        "429": status(429, "slow down"),
        "refused": text("I cannot help with that."),
        "empty": text(""),
        "malformed": text("## What it does\n"),
        "not json": Response("<html>", content_type="text/html"),
    }
    victim = "brickwork.shapes.Brick"

    def misbehave(name: str, count: int) -> Response | None:
        if name != victim or count > 1:
            return None
        if fault == "slow":
            time.sleep(3)
        return replies.get(fault)

    endpoint.misbehave = misbehave
    out = tmp_path / "docs.jsonl"
    assert main(arguments(package, out, endpoint.url)) == 0
    assert endpoint.asked[victim] == 2
    assert "## What it does\nA cuboid." in str(rows(out)[victim]["text"])


def test_a_lasting_fault_is_reported_and_healed_later(
    package: Path, tmp_path: Path, endpoint: Documenting, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = "brickwork.shapes.Brick"
    endpoint.misbehave = lambda name, _: text("") if name == victim else None
    out = tmp_path / "docs.jsonl"
    assert main(arguments(package, out, endpoint.url)) == 1
    printed = capsys.readouterr().out
    assert f"failed: {victim}: empty reply" in printed
    assert "build on those: " in printed
    assert "brickwork.wall.build" in printed
    assert endpoint.asked[victim] == 3
    assert victim not in rows(out)
    finished = Counter(rows(out))
    endpoint.misbehave = lambda name, count: None
    endpoint.asked.clear()
    assert main(arguments(package, out, endpoint.url)) == 0
    assert not set(endpoint.asked) & set(finished)
    assert victim in rows(out)


@pytest.mark.long
@pytest.mark.parametrize("moment", [2, 5, 9])
def test_kill_and_resume_document_every_symbol_once(
    package: Path, tmp_path: Path, endpoint: Documenting, moment: int
) -> None:
    whole = tmp_path / "whole.jsonl"
    assert main(arguments(package, whole, endpoint.url)) == 0
    endpoint.asked.clear()
    endpoint.misbehave = lambda *_: time.sleep(0.05)
    out = tmp_path / "docs.jsonl"
    command = [sys.executable, "-m", "docgen", *arguments(package, out, endpoint.url)]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [*command, "concurrency=2"], cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    kept = out.with_name("docs.jsonl.written")
    while process.poll() is None and len(lines(kept)) < moment:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    finished = {json.loads(line)["qualname"] for line in lines(kept)}
    assert len(finished) >= moment
    assert not out.exists()
    endpoint.asked.clear()
    assert main(arguments(package, out, endpoint.url)) == 0
    assert not set(endpoint.asked) & finished
    assert set(endpoint.asked) | finished == set(rows(whole))
    assert symbols(out) == symbols(whole)
    assert all(row["text"] for row in rows(out).values())
