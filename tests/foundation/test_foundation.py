"""What every package uses: JSON lines, text for a terminal, code in colours, the cache."""

import json
import multiprocessing
import os
import resource
import signal
import time

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from foundation.errors import ActionableError
from foundation.jsonl import JsonLines, read_lines
from foundation.terminal import coloured, pieces, printable
from indexes.corpus import building
from matsmith import cache
from sandbox import environments

# --- append-only JSON lines


def values(path):
    return [json.loads(line) for _, line in read_lines(path)]


@pytest.mark.parametrize("torn", [b"", b'{"n": 2', b"x" * 200_000, b'{"n": "\xc3'])
@pytest.mark.parametrize("before", [b'{"n": 1}\n', b""])
def test_half_a_line_is_not_read_and_is_cut_off(tmp_path, before, torn):
    path = tmp_path / "sub" / "a.jsonl"
    lines = JsonLines(path, sync=True)
    if before:
        lines.append({"n": 1})
        lines.close()
    else:
        path.parent.mkdir(exist_ok=True)
    with path.open("ab") as file:
        file.write(torn)
    first = [{"n": 1}] if before else []
    assert values(path) == first
    lines = JsonLines(path)
    lines.append({"n": 3})
    assert values(path) == [*first, {"n": 3}]
    lines.close()


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
    found = sorted((v["name"], v["number"]) for v in values(path))
    assert found == [(name, number) for name in "ab" for number in range(50)]


def test_a_full_disk_is_one_line_and_leaves_no_half_of_one(tmp_path):
    lines = JsonLines(tmp_path / "rows.jsonl")
    lines.append({"n": 1})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        with pytest.raises(
            ActionableError, match=r"rows\.jsonl: cannot be written"
        ) as caught:
            lines.append({"text": "x" * 5000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert "\n" not in str(caught.value)
    lines.append({"n": 2})
    lines.close()
    assert (tmp_path / "rows.jsonl").read_bytes() == b'{"n": 1}\n{"n": 2}\n'


# --- foreign text


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_nothing_is_left_that_drives_a_terminal(text):
    shown = printable(text)
    shown.encode()  # no half characters either
    assert all(sign.isprintable() or sign in "\n\t" or sign.isspace() for sign in shown)
    assert not set(shown) & set(
        map(chr, [*range(9), 11, 12, 13, *range(14, 32), *range(127, 160)])
    )
    assert printable(shown) == shown


def test_what_is_to_be_seen_stays():
    assert printable("Å² 2\n\tfür 材料\u00a0é\r\n") == "Å² 2\n\tfür 材料\u00a0é\n"
    assert printable("\x1b[2J\x9b\u202e\r\ud800") == r"\x1b[2J\x9b\u202e\r\ud800"
    assert printable(ValueError("\x07")) == r"\x07"


CODE = '''\
@cache
def f(x):  # why
    """Text of
    two lines."""
    return 'a' + rb"b" if x else 1.5e3
class A: pass
'''
PATHOLOGICAL = [
    "\n",
    " ",
    " \n",
    "\t",
    '"',
    "'",
    '"""',
    "'''",
    '"""\\',
    "'\\",
    "\\",
    "#",
    "@",
    "(",
    "f'",
    'rb"',
    "a",
    "1",
    "1.",
    "x = ",
    "def ",
    "class A",
    "\\\n",
    "é",
    "<code>",
    "\0",
]


def test_the_kinds_of_pieces():
    found = {text.strip(): kind for kind, text in pieces(CODE) if kind}
    assert found == {
        "@cache": "decorator",
        "def": "keyword",
        "f": "function",
        "# why": "comment",
        '"""Text of\n    two lines."""': "string",
        "return": "keyword",
        "'a'": "string",
        'rb"b"': "string",
        "if": "keyword",
        "else": "keyword",
        "1.5e3": "number",
        "class": "keyword",
        "A": "class",
        "pass": "keyword",
    }
    assert coloured("x = 1\x1b").plain == r"x = 1\x1b"


@given(st.text() | st.text("\"'\\\n #rf@a1"))
def test_no_code_is_lost(code):
    assert "".join(text for _, text in pieces(code)) == code


@pytest.mark.parametrize("start", ["", '"""', "'", "x = '''a"])
def test_colours_take_linear_time(start):
    """A quadratic lexer needs hours for these."""
    started = time.process_time()
    for piece in PATHOLOGICAL:
        code = start + piece * (100_000 // len(piece))
        assert sum(len(text) for _, text in pieces(code)) == len(code)
    assert time.process_time() - started < 30


# --- the cache: what is listed, what is removed, and what never is


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setenv("MATSMITH_CACHE", str(tmp_path))
    ages = {
        str(environments.folder("live").relative_to(tmp_path)): 90,
        "envs/old-1.0": 60,
        "corpora/llm_doc-1": 20,
        "invented/1-2": 1,
        "corpora/written": 90,
        "written": 90,
    }
    for name, days in ages.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_bytes(os.urandom(1_000_000))
        for path in (tmp_path / name / "file", tmp_path / name):
            os.utime(path, (time.time() - days * 86_400,) * 2)
    return [tmp_path / name for name in ages]


def test_the_list_has_everything_by_age_and_says_what_is_needed(made, capsys):
    assert cache.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "used by this version" in lines[0]
    names = [line.split()[4] for line in lines[1:4]]
    assert names == ["envs/old-1.0", "corpora/llm_doc-1", "invented/1-2"]
    assert any("2.0 MB  replies and documentation" in line for line in lines)


def test_what_is_old_goes_and_what_was_paid_for_or_is_in_use_stays(made, capsys):
    needed, old, *_, written, replies = made
    assert cache.main(["prune", "days=30", "dry=true"]) == 0
    assert "would remove" in capsys.readouterr().out
    with building(made[2]), FileLock(old.with_name("old-1.0.lock")):
        assert cache.main(["prune", "days=10"]) == 0
    assert capsys.readouterr().out.count("in use, left") == 2
    assert all(folder.exists() for folder in made)
    assert cache.main(["prune", "days=30"]) == 0
    assert [folder for folder in made if not folder.exists()] == [old]
    assert cache.main(["prune", "days=0"]) == 0
    assert [folder for folder in made if folder.exists()] == [needed, written, replies]


@pytest.mark.parametrize(
    ("word", "said"), [("prune", "days=...: must be given"), ("prnue", "no command")]
)
def test_mistakes_are_one_line(made, capsys, word, said):
    assert cache.main([word]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
