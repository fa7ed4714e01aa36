"""Append-only JSON lines."""

import json
import multiprocessing
import resource
import signal

import pytest

from matsmith.core.errors import ActionableError
from matsmith.core.jsonl import JsonLines, read_lines


def values(path):
    return [json.loads(line) for _, line in read_lines(path)]


@pytest.mark.parametrize("torn", [b"", b'{"n": 2', b"x" * 200_000, b'{"n": "\xc3'])
def test_half_a_line_is_not_read_and_is_cut_off(tmp_path, torn):
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


def test_a_file_of_one_torn_line_begins_anew(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"n"')
    JsonLines(path).append({"n": 1})
    assert values(path) == [{"n": 1}]


def test_half_a_character(tmp_path):
    for halves, read in (("replace", "a?"), ("backslashreplace", "a\udc80")):
        path = tmp_path / halves
        JsonLines(path, halves=halves).append({"t": "a\udc80"})
        assert values(path) == [{"t": read}]


def write(path, name):
    lines = JsonLines(path)
    for number in range(50):
        lines.append({"name": name, "text": "x" * 5000, "number": number})


def test_processes_that_share_a_file_lose_nothing(tmp_path):
    path = tmp_path / "a.jsonl"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write, args=(path, name)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = values(path)
    assert len(found) == 100
    assert sorted((v["name"], v["number"]) for v in found) == [
        (name, number) for name in "ab" for number in range(50)
    ]


def test_a_full_disk_is_one_line_and_leaves_no_half_of_one(tmp_path):
    lines = JsonLines(tmp_path / "rows.jsonl")
    lines.append({"n": 1})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        with pytest.raises(ActionableError, match=r"rows\.jsonl: cannot be written") as caught:
            lines.append({"text": "x" * 5000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert "\n" not in str(caught.value)
    lines.append({"n": 2})
    lines.close()
    assert (tmp_path / "rows.jsonl").read_bytes() == b'{"n": 1}\n{"n": 2}\n'
