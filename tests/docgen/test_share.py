"""Sharing texts, reviewing what they flag, and what a second writer's run costs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from docgen.__main__ import main
from docgen.library import read_library
from docgen.prompts import VERSION, read_prompt, source_hash
from docgen.review import flagged, markdown, review
from docgen.texts import SHIPPED, Text, read_texts, text_files, write_texts
from sandbox.base import SandboxError
from sandbox.environments import site_packages
from tests.docgen.documenting import Documenting, arguments, lines, rows
from tests.endpoint import USAGE, Body, Endpoint, text


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own; environments are where they were."""
    root = Path(os.environ.get("MATSMITH_CACHE", Path.cwd() / ".cache/matsmith"))
    folder = tmp_path / "cache"
    folder.mkdir()
    if (root / "envs").is_dir():
        (folder / "envs").symlink_to((root / "envs").resolve())
    monkeypatch.setenv("MATSMITH_CACHE", str(folder))
    return folder


def test_what_one_writes_another_uses(
    package: Path, tmp_path: Path, endpoint: Documenting, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "docs.jsonl"
    assert main(arguments(package, out, endpoint.url)) == 0
    shared = tmp_path / "shared"
    command = ["export", "package=brickwork", f"folder={package}", f"out={shared}"]
    assert main([*command, f"runs={out}.written"]) == 0
    (file, *_) = sorted(shared.iterdir())
    assert "brickwork-dist-1.2.jsonl.gz" in {path.name for path in shared.iterdir()}
    assert {t.writer for t in read_texts(file)} == {"local"}
    for path in shared.iterdir():
        assert main(["import", str(path)]) == 0
    capsys.readouterr()
    endpoint.asked.clear()
    again = tmp_path / "again.jsonl"
    assert main(["package=brickwork", f"folder={package}", f"out={again}"]) == 0
    printed = capsys.readouterr().out
    count = len(rows(again))
    assert f"0 written, 0 kept, {count} shipped or imported" in printed
    assert not endpoint.asked
    assert {row["writer"] for row in rows(again).values()} == {"local"}
    wall = package / "brickwork/wall.py"
    wall.write_text(wall.read_text().replace("one * courses", "courses * one"))
    assert main(["package=brickwork", f"folder={package}", f"out={again}"]) == 0
    printed = capsys.readouterr().out
    assert f"1 written, 0 kept, {count - 1} shipped or imported" in printed
    assert "changed since they were shipped or imported: brickwork.wall.Wall.volume" in printed
    assert rows(again)["brickwork.wall.Wall.volume"]["writer"] == "rules"


def test_an_older_prompt_is_told_and_kept(
    package: Path, tmp_path: Path, endpoint: Documenting, cache: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    name = "brickwork.shapes.Brick"
    symbol = read_library(["brickwork"], package).symbols[name]
    old = Text(name, source_hash(symbol), "1", "an LLM", "2026-11", "## What it does\nClay.")
    write_texts(cache / "written" / "brickwork-dist-1.2.jsonl.gz", [old])
    command = arguments(package, tmp_path / "docs.jsonl", endpoint.url)
    assert main(command) == 0
    told = f"from an older prompt than {VERSION} (rewrite=true writes them again): {name}\n"
    assert told in capsys.readouterr().out
    assert name not in endpoint.asked
    assert main([*command, "rewrite=true"]) == 0
    assert told not in capsys.readouterr().out
    assert endpoint.asked[name] == 1
    assert rows(tmp_path / "docs.jsonl")[name]["prompt"] == VERSION


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["import", "docs.jsonl"], "name it <distribution>-<version>.jsonl.gz"),
        (["import", "absent-1.0.jsonl.gz"], "not a file of written documentation (No such file"),
        (["export", "package=json", "out=x", "runs=absent"], "runs=absent: no such file"),
        (["review", "package=absent"], "no Python source under"),
        (["check", "package=absent"], "no Python source under"),
        (["prompts", "package=absent"], "no Python source under"),
    ],
)
def test_mistakes_are_one_line(
    command: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "env").mkdir()
    if command[0] == "prompts":
        command = [*command, f"folder={tmp_path / 'env'}"]
    elif command[1] == "package=absent":
        try:
            site_packages("live")
        except SandboxError as error:
            pytest.skip(str(error))
    assert main(command) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1


def test_prompts_are_counted_before_they_are_asked(
    package: Path, tmp_path: Path, endpoint: Documenting, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prompts", "package=brickwork", f"folder={package}"]) == 0
    printed = capsys.readouterr().out
    assert main([*arguments(package, tmp_path / "d.jsonl", endpoint.url), "concurrency=1"]) == 0
    count = len(rows(tmp_path / "d.jsonl"))
    assert f"{count} symbols in {endpoint.requests_made} requests: " in printed


NOTES = """## What it does
It counts.

## Notes
- **Suspected error:** the sum starts
  at one.
- **Docstring differs:** it says mm, the code has cm.
- Returns a new list.
- Despite its docstring, nothing is returned.
"""


def test_flags_are_found_marked_or_said() -> None:
    assert list(flagged(NOTES)) == [
        ("error", "the sum starts at one."),
        ("docstring", "it says mm, the code has cm."),
        ("docstring", "Despite its docstring, nothing is returned."),
    ]


def test_review_tells_file_and_lines(package: Path) -> None:
    library = read_library(["brickwork"], package)
    texts = [
        Text(n, "h", "2", "w", "d", NOTES) for n in ("brickwork.wall.build", "brickwork.wall.joint")
    ]
    findings = review(library, texts)
    assert [f.kind for f in findings] == ["error"] * 2 + ["docstring"] * 4
    symbol = library.symbols["brickwork.wall.joint"]
    assert findings[0].place == f"brickwork/wall.py:{symbol.first_line}-{symbol.last_line}"
    told = markdown(findings, library)
    assert "## The code looks wrong\n\n- [ ] `brickwork.wall.joint` (`brickwork/wall.py:" in told
    assert "brickwork-dist 1.2" in told


def _shipped() -> dict[str, Text]:
    try:
        folder = site_packages("live")
    except SandboxError as error:
        pytest.skip(str(error))
    package = "pymatgen.analysis.defects.recombination"
    library = read_library([package], folder).public()
    texts = {t.qualname: t for p in text_files(library.versions, [SHIPPED]) for t in read_texts(p)}
    return {name: texts[name] for name in library.symbols if name in texts}


def test_a_second_writers_run_survives_being_killed(
    tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real symbols, real texts, through an endpoint: together, killed, resumed, counted."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    texts = _shipped()
    assert len(texts) >= 10
    asked: list[list[str]] = []

    def replay(body: Body) -> Response:
        names = [s["symbol"] for s in read_prompt(body["messages"][-1]["content"])]
        asked.append(names)
        time.sleep(0.1)
        known = (texts[n].text if n in texts else "## What it does\nA constant." for n in names)
        return text("\n\n".join(f"# {n}\n{t}" for n, t in zip(names, known, strict=True)))

    endpoint = Endpoint(httpserver).play(replay)
    out = tmp_path / "docs.jsonl"
    command = [
        "package=pymatgen.analysis.defects.recombination", f"out={out}", "shipped=false",
        "model=openai", "model.name=second", f"model.base_url={endpoint.url}", "model.cache=false",
        "model.price.prompt=1", "model.price.completion=2", "concurrency=1",
    ]  # fmt: skip
    kept = out.with_name("docs.jsonl.written")
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-m", "docgen", *command], cwd=root) as process:
        while process.poll() is None and len(lines(kept)) < 3:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
    finished = {json.loads(line)["qualname"] for line in lines(kept)}
    assert len(finished) >= 3
    before = list(asked)
    asked.clear()
    result = subprocess.run(
        [sys.executable, "-m", "docgen", *command],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert not finished & {name for names in asked for name in names}
    assert any(len(names) > 1 for names in [*before, *asked])
    sent, received = (USAGE[k] * len(asked) for k in ("prompt_tokens", "completion_tokens"))
    cost = f"${(sent + 2 * received) / 1e6:.4f}"
    assert f"{len(asked)} requests, tokens {sent} + {received}, cost {cost}" in result.stdout
    for name, row in rows(out).items():
        if name in texts:
            assert str(row["text"]).endswith(f"\n---\n{texts[name].text.strip()}\n")
        assert (row["writer"], row["prompt"]) == ("second", VERSION)
