"""The published rules on recorded functions of every kind, literally.

Each case says what the rules in `mattools.published` and `mattools.stdout_rules` demand.
"""

# ruff: noqa: ISC004, F541 (source texts over several lines, most of them with a value in them)

from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from agents.base import Trajectory, Usage
from experiments.benchmarks.mattools.benchmark import MatToolsBenchmark
from experiments.benchmarks.mattools.layout import FILES_INSIDE
from experiments.benchmarks.mattools.published import VERDICT, PrintedScorer
from experiments.scorers.base import Tools
from sandbox.base import SandboxConfig, SandboxError
from sandbox.factory import get_sandbox
from tests.experiments.checkouts import checkout

RIGHT = "{'volume': 64.0, 'cubic': True}"
DEF = f"def f():\n    return {RIGHT}\n"
ALL, SOME, NOT = "all_correct", "some_wrong", "not_runnable"

#: Name: code, outcome, its reason.
CASES = {
    "right": (DEF, ALL, ""),
    "half": ("def f():\n    return {'volume': 63.0, 'cubic': True}", SOME, "wrong_value"),
    # The whole of stdout is read.
    "print in the function": (f"def f():\n    print('hm')\n    return {RIGHT}", NOT,
                              "unparsable_stdout"),
    "calls itself, silently": (f"{DEF}\nresult = f()", ALL, ""),
    "main block prints": (f"{DEF}\nif __name__ == '__main__':\n    print(f())", NOT,
                          "unparsable_stdout"),
    "a thread prints late": ("import threading, time\ndef f():\n"
                             "    threading.Thread(target=lambda: (time.sleep(.2), print('x')))"
                             f".start()\n    return {RIGHT}", NOT, "unparsable_stdout"),
    "at exit": (f"import atexit\natexit.register(print, 'bye')\n{DEF}", NOT, "unparsable_stdout"),
    "a child prints": (f"import subprocess\ndef f():\n    subprocess.run(['echo', 'x'])\n"
                       f"    return {RIGHT}", NOT, "unparsable_stdout"),
    "print is replaced": (f"def print(*_):\n    pass\n{DEF}", NOT, "no_output"),
    "stdout stays redirected": (f"import sys, io\ndef f():\n    sys.stdout = io.StringIO()\n"
                                f"    return {RIGHT}", NOT, "no_output"),
    # What was printed counts, whatever came after.
    "dict, then an exception": (f"print({RIGHT})\ndef f():\n    raise ValueError('no')", ALL, ""),
    "dict, and no function": (f"print({RIGHT})", ALL, ""),
    "dict, then a crash": (f"import os, signal\ndef f():\n    print({RIGHT}, flush=True)\n"
                           "    os.kill(os.getpid(), signal.SIGSEGV)", ALL, ""),
    # No dict.
    "syntax error": ("def f(:\n    pass", NOT, "exception"),
    "exits": ("import sys\ndef f():\n    sys.exit('bye')", NOT, "no_output"),
    "dies": ("import os\ndef f():\n    os._exit(0)", NOT, "no_output"),
    "killed": ("import os, signal\ndef f():\n    os.kill(os.getpid(), signal.SIGABRT)", NOT,
               "killed"),
    "nested deep": ("def f():\n    x = []\n    for _ in range(300):\n        x = [x]\n"
                    "    return {'volume': x}", NOT, "unparsable_stdout"),
    "empty dict": ("def f():\n    return {}", NOT, "empty_dict"),
    "list": ("def f():\n    return [1]", NOT, "no_dict"),
    "text of a dict": (f"def f():\n    return {RIGHT!r}", ALL, ""),
    # Values.
    "OrderedDict": (f"from collections import OrderedDict as D\ndef f():\n    return D({RIGHT})",
                    NOT, "unparsable_stdout"),
    "own dict": (f"class D(dict):\n    pass\ndef f():\n    return D({RIGHT})", ALL, ""),
    "nan": ("def f():\n    return {'volume': float('nan'), 'cubic': True}", NOT,
            "unparsable_stdout"),
    "array": ("import numpy as np\ndef f():\n"
              "    return {'volume': np.full((2, 3), 64.0), 'cubic': True}", ALL, ""),
    "long array": ("import numpy as np\ndef f():\n"
                   "    return {'volume': np.full(2000, 64.0), 'cubic': True}",
                   NOT, "unit_test"),
    "Element as key": ("from pymatgen.core import Element\ndef f():\n"
                       "    return {'volume': 64.0, 'cubic': True,"
                       " 'x': {Element('N'): [Element('O')]}}",
                       ALL, ""),
    "long text": (f"def f():\n    return {{**{RIGHT}, 'log': 'x' * 3_000_000}}", ALL, ""),
    "flood": ("def f():\n    while True:\n        print('x' * 1000)", NOT, "exception"),
    # Surroundings.
    "__file__": ("from pathlib import Path\nhere = Path(__file__)\ndef f():\n"
                 "    ok = here.name == 'main.py' and here.parent == Path.cwd()\n"
                 "    return {'volume': 64.0 if ok and 'def f' in here.read_text() else 0,"
                 " 'cubic': __name__ == '__main__'}", ALL, ""),
    "input files": (f"from pathlib import Path\nbase = Path(__file__).parent\ndef f():\n"
                    f"    (base / '{FILES_INSIDE}' / 'POSCAR').read_text()\n"
                    f"    open('{FILES_INSIDE}/POSCAR').close()\n    return {RIGHT}",
                    ALL, ""),
    "byte order mark": (f"\ufeff{DEF}", ALL, ""),
    "a lone surrogate": (f"x = '\ud800'\n{DEF}", ALL, ""),
    "null byte": (f"x = '\0'\n{DEF}", NOT, "exception"),
    "endless": ("def f():\n    while True:\n        pass", NOT, "timeout"),
    "no code": ("  \n", NOT, "no_code"),
    "mutates while printing": (f"class D(dict):\n    def __repr__(self):\n"
                               f"        self.clear()\n        return '{{}}'\n"
                               f"def f():\n    return D({RIGHT})", NOT, "empty_dict"),
    "looks at globals": (f"def f():\n    extra = [n for n in globals() if 'matsmith' in n or 'run_'"
                         f" in n]\n    return {{'volume': 64.0, 'cubic': not extra}}", ALL, ""),
}  # fmt: skip

#: Name of the function: how it ends.
NAMES = {
    "": "no_code",
    "  ": "no_code",
    "f()": "exception",
    "f g": "exception",
    "C().m": "",
    "F": "exception",
}


@pytest.fixture
def bench_parts(tmp_path):
    checkout(tmp_path)
    return {task.question.id: task for task in MatToolsBenchmark(path=str(tmp_path)).load()}


async def graded(sample, tools, code, entry="f"):
    """Outcome and reason, the number of wrong properties, and what is said."""
    answer = Trajectory("q", 0, code, entry, "", (), Usage(), "answered", "strict")
    score = await PrintedScorer().score(sample, answer, tools)
    outcome, _, wrong = score.artefacts[VERDICT].partition(" ")
    reason = {"all_correct": "", "some_wrong": "wrong_value"}.get(outcome, score.outcome)
    return [outcome, reason, int(wrong) if wrong else None, score.reasons]


@asynccontextmanager
async def tools_of(seconds):
    config = SandboxConfig(env="mattools-2024", workers=1)
    async with get_sandbox(config) as sandbox, get_sandbox(config) as verifier:
        yield Tools(sandbox, verifier, seconds)


@pytest.mark.long
async def test_every_kind_of_function(bench_parts):
    methods = f"{DEF}\nclass C:\n    def m(self):\n        return f()\n"
    cases = [(code, "f", expected) for code, *expected in CASES.values()]
    cases += [(methods, entry, [ALL if not why else NOT, why]) for entry, why in NAMES.items()]
    wrong = []
    async with tools_of(8.0) as tools:
        for code, entry, expected in cases:
            *got, _, said = await graded(bench_parts["test_cell"], tools, code, entry)
            if got != expected:
                wrong.append((code, entry, expected, got, said))
    assert not wrong, "\n".join(map(str, wrong))


# --- unit tests ----------------------------------------------------------------------------------


def counting(body):
    return f"def test_cell(properties):\n{body}"


#: Name: source of the unit test, outcome and reason, wrong.
#: The answer is right about `volume` and `cubic` (True); the tests complain as they like.
UNIT_TESTS = {
    "ok": (counting("    return 'ok'"), ALL, "", 0),
    "ok in a sentence": (counting("    return 'all ok!'"), ALL, "", 0),
    "a word with ok in it": (counting("    return ['cubic is broken', 1, 2]"), SOME, "wrong_value",
                             1),
    "ok in a list": (counting("    return ['ok']"), ALL, "", 0),
    "prints": (counting("    print('checking', properties)\n    return 'ok'"), ALL, "", 0),
    "a list": (counting("    return ['cubic: no', 1, 2]"), SOME, "wrong_value", 1),
    "raises on one value": ("def test_cell(p):\n    import numpy as np\n    bad = []\n"
                            "    if 'volume' not in p: bad.append('volume is missing')\n"
                            "    else: np.allclose(p['volume'], [[1, 2], [3]])\n"
                            "    if p.get('cubic') is not True: bad.append('cubic is wrong')\n"
                            "    return [*bad, len(bad), 2] if bad else 'ok'",
                            NOT, "unit_test", None),
    "list in a list": (counting("    return [['cubic: no', 1, 2]]"), NOT, "unit_test", None),
    "reads a file": (counting(f"    open('{FILES_INSIDE}/POSCAR').close()\n    return 'ok'"),
                     ALL, "", 0),
    "names of ours": ("class json: pass\ndef verdict(*a): raise ValueError\nrevive = load = None\n"
                      "import sys\n" + counting("    return 'ok'"), ALL, "", 0),
    "named by its file": (counting("    import inspect\n    assert 'inspect' in inspect.getsource("
                                   "test_cell)\n    return 'ok'"), ALL, "", 0),
}  # fmt: skip


@pytest.mark.long
async def test_every_kind_of_unit_test(bench_parts):
    sample = bench_parts["test_cell"]
    wrong = []
    async with tools_of(10.0) as tools:
        for name, (source, *expected) in UNIT_TESTS.items():
            *got, said = await graded(replace(sample, target=source), tools, DEF)
            if got != expected:
                wrong.append((name, expected, got, said))
        # What cannot be loaded at all says nothing about the answer.
        broken = replace(sample, target="import absent_module")
        with pytest.raises(SandboxError, match="absent_module"):
            await graded(broken, tools, DEF)
    assert not wrong, "\n".join(map(str, wrong))
