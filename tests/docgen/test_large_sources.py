"""Sources of any size: read in a time that one can wait, or refused in one line."""

import subprocess
import sys
import time

import pytest

from docgen import definitions, sources
from docgen.library import read_library
from docgen.sources import SourceError

FUNCTION = 'def f{i}(x):\n    """Function {i} of the library."""\n    return x\n'


def library_of(folder, text):
    (folder / "heavy").mkdir()
    (folder / "heavy" / "__init__.py").write_text(text)
    return read_library(["heavy"], folder)


def functions(count):
    return "".join(FUNCTION.format(i=i) for i in range(count))


def test_more_definitions_than_the_limit_are_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(definitions, "MOST_DEFINITIONS", 10)
    nested = "class A:\n    class B:\n" + "".join(
        f"        def f{i}(self): ...\n" for i in range(9)
    )
    with pytest.raises(SourceError, match=r"heavy: more than 10 functions and classes"):
        library_of(tmp_path, nested)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("MOST_FILE", r"heavy/__init__.py has \d+ MB \(limit 0 MB\)"),
        ("MOST_SOURCE", "more than 0 MB"),
    ],
)
def test_more_source_than_the_limit_is_one_line(tmp_path, monkeypatch, limit, message):
    monkeypatch.setattr(sources, limit, 100)
    with pytest.raises(SourceError, match=message) as raised:
        library_of(tmp_path, functions(10))
    assert "\n" not in str(raised.value)


@pytest.mark.long
def test_a_hundred_thousand_functions_are_refused_in_time(tmp_path):
    began = time.monotonic()
    with pytest.raises(SourceError, match="more than 60000"):
        library_of(tmp_path, functions(100_000))
    assert time.monotonic() - began < 60


@pytest.mark.long
@pytest.mark.parametrize("line", ["Twice the number. ", "y", "- item: x\n    ", "`a_"])
def test_a_docstring_of_ten_megabytes_is_read(tmp_path, line):
    text = line * (10_000_000 // len(line))
    code = (
        "from pathlib import Path; from docgen import render\n"
        "from docgen.docstrings import described\n"
        "from docgen.library import read_library\n"
        f"library = read_library(['heavy'], Path({str(tmp_path)!r}))\n"
        "function = library.symbols['heavy.f']\n"
        "assert len(function.docstring) > 5_000_000\n"
        "described(function.docstring), render.document(function)\n"
        "status = Path('/proc/self/status').read_text()\n"
        "print(status.partition('VmHWM:')[2].split()[0])\n"
    )
    (tmp_path / "heavy").mkdir()
    source = f'def f(x):\n    """{text}"""\n    return x\n'
    (tmp_path / "heavy" / "__init__.py").write_text(source)
    began = time.monotonic()
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, check=True, timeout=120, capture_output=True, text=True
    )
    assert time.monotonic() - began < 60
    assert int(done.stdout) < 1.5e6  # kB; `ru_maxrss` would be that of the parent
