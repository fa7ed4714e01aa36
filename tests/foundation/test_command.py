"""Arguments of a command in every spelling, and how a command ends when it is interrupted."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from foundation.command import Word, guarded, read_options
from foundation.errors import UsageError


class Options(BaseModel, extra="forbid"):
    run: Annotated[tuple[Path, ...], Word()] = ()
    to: str = ""
    json_: bool = Field(False, alias="json")
    place: dict[str, int] = {}


@pytest.mark.parametrize(
    ("words", "run", "to", "json"),
    [
        (["a (b)", "to=x"], ["a (b)"], "x", False),
        (["a", "--to", "x y"], ["a"], "x y", False),
        (["--to=x=y", "a", "b"], ["a", "b"], "x=y", False),
        (["--json", "a"], ["a"], "", True),
        (["--json=false", "--to", "--json"], [], "--json", False),
        (["--", "--to", "x"], ["--to", "x"], "", False),
        (["--place.north", "2", "--place.east=3"], [], "", False),
    ],
)
def test_spellings(words, run, to, json):
    found = read_options(words, Options)
    assert (list(map(str, found.run)), found.to, found.json_) == (run, to, json)
    assert found.place == ({"north": 2, "east": 3} if "--place.north" in words else {})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--to"], "--to: a value must follow"),
        (["--two=x"], "two: no such key"),
        (["-t", "x"], "keys: run, to, json, place"),
    ],
)
def test_mistakes(words, said):
    with pytest.raises(UsageError, match=said):
        read_options(words, Options)


def test_term_ends_a_command_and_nothing_after_it(monkeypatch):
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    assert guarded(lambda: signal.raise_signal(signal.SIGTERM) or 0) == 143
    assert guarded(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN) and 0) == 0
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    monkeypatch.setattr(
        signal, "getsignal", {signal.SIGTERM: before[0]}.get
    )  # SIGINT: unknown
    assert guarded(lambda: 0) == 0


def test_an_interrupt_while_the_program_is_loaded_is_quiet():
    code = """
import sys
class Interrupts:
    def find_spec(self, name, *_):
        if name in {"typer", "pydantic", "omegaconf"}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupts())
from matsmith.__main__ import main
sys.exit(main(["cache"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "")
