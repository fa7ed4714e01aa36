"""Append-only JSON lines."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from sandbox.lines import JsonLines, read_lines


def values(path: Path) -> list[object]:
    return [json.loads(line) for _, line in read_lines(path)]


@pytest.mark.parametrize("torn", [b"", b'{"n": 2', b"x" * 200_000, b'{"n": "\xc3'])
def test_half_a_line_is_not_read_and_is_cut_off(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "sub" / "a.jsonl"
    lines = JsonLines(path, sync=True)
    lines.append({"n": 1})
    lines.close()
    with path.open("ab") as file:
        file.write(torn)
    assert values(path) == [{"n": 1}]
    lines = JsonLines(path)
    lines.append({"n": 3})
    assert values(path) == [{"n": 1}, {"n": 3}]
    lines.close()


def test_a_file_of_one_torn_line_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"n"')
    JsonLines(path).append({"n": 1})
    assert values(path) == [{"n": 1}]


def test_half_a_character(tmp_path: Path) -> None:
    for halves, read in (("replace", "a?"), ("backslashreplace", "a\udc80")):
        path = tmp_path / halves
        JsonLines(path, halves=halves).append({"t": "a\udc80"})  # type: ignore[arg-type]
        assert values(path) == [{"t": read}]


def write(path: Path, name: str) -> None:
    lines = JsonLines(path)
    for number in range(50):
        lines.append({"name": name, "text": "x" * 5000, "number": number})


def test_processes_that_share_a_file_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write, args=(path, name)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = values(path)
    assert len(found) == 100
    assert sorted((v["name"], v["number"]) for v in found) == [  # type: ignore[index,call-overload]
        (name, number) for name in "ab" for number in range(50)
    ]
