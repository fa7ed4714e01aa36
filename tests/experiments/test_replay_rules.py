"""The published rules on recorded functions of every kind, literally; and what typed makes of them.

Each case says what the rules in `mattools.published` and `mattools.stdout_rules` demand.
"""

# ruff: noqa: ISC004, F541 (source texts over several lines, most of them with a value in them)

from dataclasses import replace

import pytest

from experiments.benchmarks.mattools.benchmark import FILES_INSIDE, MatToolsBenchmark
from experiments.benchmarks.mattools.replay.grade import Grader, grade
from experiments.benchmarks.mattools.replay.recorded import Recorded
from sandbox.base import SandboxConfig, SandboxError
from sandbox.factory import get_sandbox
from tests.experiments.checkouts import checkout

RIGHT = "{'volume': 64.0, 'cubic': True}"
DEF = f"def f():\n    return {RIGHT}\n"
ALL, SOME, NOT = "all_correct", "some_wrong", "not_runnable"

#: Name: code, published outcome, its reason, typed outcome, its reason.
CASES = {
    "right": (DEF, ALL, "", ALL, ""),
    "half": ("def f():\n    return {'volume': 63.0, 'cubic': True}", SOME, "wrong_value",
             SOME, "wrong_value"),
    # The whole of stdout is read.
    "print in the function": (f"def f():\n    print('hm')\n    return {RIGHT}", NOT,
                              "unparsable_stdout", ALL, ""),
    "print at the top": (f"print('start')\n{DEF}", NOT, "unparsable_stdout", ALL, ""),
    "calls itself and prints": (f"{DEF}\nprint(f())", NOT, "unparsable_stdout", ALL, ""),
    "calls itself, silently": (f"{DEF}\nresult = f()", ALL, "", ALL, ""),
    "main block prints": (f"{DEF}\nif __name__ == '__main__':\n    print(f())", NOT,
                          "unparsable_stdout", ALL, ""),
    "only in the main block": (f"if __name__ == '__main__':\n    def f():\n        return {RIGHT}",
                               ALL, "", ALL, ""),
    "main block raises": (f"{DEF}\nif __name__ == '__main__':\n    raise ValueError('no')", NOT,
                          "exception", ALL, ""),
    "empty lines around": (f"def f():\n    return {RIGHT}\nprint()\n", ALL, "", ALL, ""),
    "warning to stderr": (f"import warnings\n{DEF}\nwarnings.warn('x')", ALL, "", ALL, ""),
    "warning to stdout": (f"import logging, sys\nlogging.basicConfig(stream=sys.stdout)\n"
                          f"def f():\n    logging.warning('x')\n    return {RIGHT}", NOT,
                          "unparsable_stdout", ALL, ""),
    "a thread prints late": ("import threading, time\ndef f():\n"
                             "    threading.Thread(target=lambda: (time.sleep(.2), print('x')))"
                             f".start()\n    return {RIGHT}", NOT, "unparsable_stdout", ALL, ""),
    "at exit": (f"import atexit\natexit.register(print, 'bye')\n{DEF}", NOT, "unparsable_stdout",
                ALL, ""),
    "a child prints": (f"import subprocess\ndef f():\n    subprocess.run(['echo', 'x'])\n"
                       f"    return {RIGHT}", NOT, "unparsable_stdout", ALL, ""),
    "written below Python": (f"import os\ndef f():\n    os.write(1, b'x')\n    return {RIGHT}", NOT,
                             "unparsable_stdout", ALL, ""),
    "print is replaced": (f"def print(*_):\n    pass\n{DEF}", NOT, "no_output", ALL, ""),
    "stdout is redirected": (f"import contextlib, io\ndef f():\n"
                             f"    with contextlib.redirect_stdout(io.StringIO()):\n"
                             f"        print('hm')\n    return {RIGHT}", ALL, "", ALL, ""),
    "stdout stays redirected": (f"import sys, io\ndef f():\n    sys.stdout = io.StringIO()\n"
                                f"    return {RIGHT}", NOT, "no_output", ALL, ""),
    # What was printed counts, whatever came after.
    "dict, then an exception": (f"print({RIGHT})\ndef f():\n    raise ValueError('no')", ALL, "",
                                NOT, "exception"),
    "dict, and no function": (f"print({RIGHT})", ALL, "", NOT, "no_function"),
    "dict, then sys.exit": (f"import sys\ndef f():\n    print({RIGHT})\n    sys.exit(1)", ALL, "",
                            NOT, "exit"),
    "dict, then a crash": (f"import os, signal\ndef f():\n    print({RIGHT}, flush=True)\n"
                           "    os.kill(os.getpid(), signal.SIGSEGV)", ALL, "", NOT, "killed"),
    # No dict.
    "raises": ("def f():\n    raise ValueError('no')", NOT, "exception", NOT, "exception"),
    "syntax error": ("def f(:\n    pass", NOT, "exception", NOT, "exception"),
    "markdown": (f"```python\n{DEF}```", NOT, "exception", NOT, "exception"),
    "indented": (f"    {DEF}", NOT, "exception", NOT, "exception"),
    "needs an argument": ("def f(x):\n    return {}", NOT, "exception", NOT, "exception"),
    "another name": (f"def g():\n    return {RIGHT}", NOT, "exception", NOT, "no_function"),
    "exits": ("import sys\ndef f():\n    sys.exit('bye')", NOT, "no_output", NOT, "exit"),
    "quit": ("def f():\n    quit()", NOT, "no_output", NOT, "exit"),
    "dies": ("import os\ndef f():\n    os._exit(0)", NOT, "no_output", NOT, "exit"),
    "killed": ("import os, signal\ndef f():\n    os.kill(os.getpid(), signal.SIGABRT)", NOT,
               "killed", NOT, "killed"),
    "recursion": ("def f():\n    return f()", NOT, "exception", NOT, "exception"),
    "nested deep": ("def f():\n    x = []\n    for _ in range(300):\n        x = [x]\n"
                    "    return {'volume': x}", NOT, "unparsable_stdout", NOT, "bad_result"),
    "empty dict": ("def f():\n    return {}", NOT, "empty_dict", NOT, "empty_dict"),
    "list": ("def f():\n    return [1]", NOT, "no_dict", NOT, "no_dict"),
    "text of a dict": (f"def f():\n    return {RIGHT!r}", ALL, "", NOT, "no_dict"),
    "JSON": (f"import json\ndef f():\n    return json.dumps({RIGHT})", NOT, "unparsable_stdout",
             NOT, "no_dict"),
    "None": ("def f():\n    pass", NOT, "no_dict", NOT, "no_dict"),
    "coroutine": (f"async def f():\n    return {RIGHT}", NOT, "unparsable_stdout", NOT, "no_dict"),
    "asks": ("def f():\n    return {'volume': input()}", NOT, "exception", NOT, "exception"),
    # Values.
    "OrderedDict": (f"from collections import OrderedDict as D\ndef f():\n    return D({RIGHT})",
                    NOT, "unparsable_stdout", ALL, ""),
    "defaultdict": (f"from collections import defaultdict\ndef f():\n"
                    f"    return defaultdict(list, {RIGHT})", NOT, "unparsable_stdout", ALL, ""),
    "own dict": (f"class D(dict):\n    pass\ndef f():\n    return D({RIGHT})", ALL, "", ALL, ""),
    "None values": ("def f():\n    return {'volume': None, 'cubic': None}", NOT, "unit_test",
                    SOME, "wrong_value"),
    "nan": ("def f():\n    return {'volume': float('nan'), 'cubic': True}", NOT,
            "unparsable_stdout", SOME, "wrong_value"),
    "inf": ("def f():\n    return {'volume': float('inf'), 'cubic': True}", NOT,
            "unparsable_stdout", SOME, "wrong_value"),
    "an object": ("def f():\n    return {'volume': 64.0, 'cubic': True, 'more': object()}", NOT,
                  "unparsable_stdout", ALL, ""),
    "scalars of numpy": ("import numpy as np\ndef f():\n"
                         "    return {'volume': np.float64(64), 'cubic': np.bool_(True)}",
                         ALL, "", ALL, ""),
    "array": ("import numpy as np\ndef f():\n"
              "    return {'volume': np.full((2, 3), 64.0), 'cubic': True}", ALL, "", ALL, ""),
    "array with a type": ("import numpy as np\ndef f():\n"
                          "    return {'volume': np.array([64], dtype=object), 'cubic': True,"
                          " 'l': [np.array([1, 2])]}", NOT, "unit_test", SOME, "wrong_value"),
    "float128": ("import numpy as np\ndef f():\n"
                 "    return {'volume': np.full(2, 64, dtype=np.float128), 'cubic': True}",
                 ALL, "", ALL, ""),
    "float32": ("import numpy as np\ndef f():\n"
                "    return {'volume': np.full(2, 64, dtype=np.float32), 'cubic': True}",
                NOT, "unparsable_stdout", ALL, ""),
    "array with nan": ("import numpy as np\ndef f():\n"
                       "    return {'volume': np.array([64, np.nan]), 'cubic': True}",
                       NOT, "unparsable_stdout", SOME, "wrong_value"),
    "long array": ("import numpy as np\ndef f():\n"
                   "    return {'volume': np.full(2000, 64.0), 'cubic': True}",
                   NOT, "unit_test", ALL, ""),
    "Element as key": ("from pymatgen.core import Element\ndef f():\n"
                       "    return {'volume': 64.0, 'cubic': True,"
                       " 'x': {Element('N'): [Element('O')]}}",
                       ALL, "", ALL, ""),
    "Species": ("from pymatgen.core import Species\ndef f():\n"
                "    return {'volume': 64.0, 'cubic': True, 'x': {Species('Ga', 3): 1}}",
                NOT, "unparsable_stdout", ALL, ""),
    "many lines": ("def f():\n    print('{', '\\n\\n', sep='')\n    print(\"'volume': 64.0,\")\n"
                   "    print(\"'cubic': True}\")\n    raise SystemExit", ALL, "", NOT, "exit"),
    "long text": (f"def f():\n    return {{**{RIGHT}, 'log': 'x' * 3_000_000}}", ALL, "", ALL, ""),
    "flood": ("def f():\n    while True:\n        print('x' * 1000)", NOT, "exception",
              NOT, "exception"),
    # Surroundings.
    "__file__": ("from pathlib import Path\nhere = Path(__file__)\ndef f():\n"
                 "    ok = here.name == 'main.py' and here.parent == Path.cwd()\n"
                 "    return {'volume': 64.0 if ok and 'def f' in here.read_text() else 0,"
                 " 'cubic': __name__ == '__main__'}", ALL, "", ALL, ""),
    "source of itself": ("import inspect, sys\ndef f():\n"
                         "    ok = 'def f' in inspect.getsource(f) and sys.argv == ['main.py']\n"
                         "    return {'volume': 64.0 if ok else 0, 'cubic': True}", ALL, "", ALL,
                         ""),
    "input files": (f"from pathlib import Path\nbase = Path(__file__).parent\ndef f():\n"
                    f"    (base / '{FILES_INSIDE}' / 'POSCAR').read_text()\n"
                    f"    open('{FILES_INSIDE}/POSCAR').close()\n    return {RIGHT}",
                    ALL, "", ALL, ""),
    "chdir": (f"import os\nos.chdir('{FILES_INSIDE}')\ndef f():\n    open('POSCAR').close()\n"
              f"    return {RIGHT}", ALL, "", ALL, ""),
    "writes files": (f"import os\ndef f():\n    open('out.txt', 'w').write('x')\n"
                     f"    os.makedirs('tool_source_code/results')\n    return {RIGHT}",
                     ALL, "", ALL, ""),
    "byte order mark": (f"\ufeff{DEF}", ALL, "", ALL, ""),
    "future import": (f"from __future__ import annotations\n{DEF}", ALL, "", ALL, ""),
    "ends in a comment": (f"{DEF}# end", ALL, "", ALL, ""),
    "windows lines": (DEF.replace("\n", "\r\n"), ALL, "", ALL, ""),
    "a lone surrogate": (f"x = '\ud800'\n{DEF}", ALL, "", ALL, ""),
    "null byte": (f"x = '\0'\n{DEF}", NOT, "exception", NOT, "exception"),
    "plots": (f"import matplotlib.pyplot as plt\ndef f():\n    plt.plot([1])\n    plt.show()\n"
              f"    plt.savefig('a.png')\n    return {RIGHT}", ALL, "", ALL, ""),
    "a window": (f"import matplotlib\nmatplotlib.use('TkAgg')\n"
                 f"import matplotlib.pyplot as plt\nplt.figure()\n{DEF}", NOT, "exception", NOT,
                 "exception"),
    "network": ("from mp_api.client import MPRester\ndef f():\n"
                "    return MPRester('x' * 32).get_structure_by_material_id('mp-1')", NOT,
                "exception", NOT, "exception"),
    "processes": (f"import multiprocessing as mp\ndef g(x):\n    return x\ndef f():\n"
                  f"    with mp.Pool(2) as pool:\n        pool.map(g, [1, 2])\n    return {RIGHT}",
                  ALL, "", ALL, ""),
    "endless": ("def f():\n    while True:\n        pass", NOT, "timeout", NOT, "timeout"),
    "no code": ("  \n", NOT, "no_code", NOT, "no_code"),
    "mutates while printing": (f"class D(dict):\n    def __repr__(self):\n"
                               f"        self.clear()\n        return '{{}}'\n"
                               f"def f():\n    return D({RIGHT})", NOT, "empty_dict", ALL, ""),
    "looks at globals": (f"def f():\n    extra = [n for n in globals() if 'matsmith' in n or 'run_'"
                         f" in n]\n    return {{'volume': 64.0, 'cubic': not extra}}", ALL, "", ALL,
                         ""),
}  # fmt: skip

#: Name of the function: how it ends.
NAMES = {
    "": ("no_code", "no_code"),
    "  ": ("no_code", "no_code"),
    "f()": ("exception", "exception"),
    "f g": ("exception", "no_function"),
    "C().m": ("", ""),
    "F": ("exception", "no_function"),
}


@pytest.fixture
def bench_parts(tmp_path):
    checkout(tmp_path)
    return {task.question.id: task for task in MatToolsBenchmark(path=str(tmp_path)).load()}


def generation(code, entry="f", question="test_cell"):
    return Recorded("k", "run", None, question, code, entry, None)


@pytest.mark.long
async def test_every_kind_of_function(bench_parts):
    tasks = bench_parts
    config = SandboxConfig(env="mattools-2024", workers=1)
    wrong = []
    async with get_sandbox(config) as sandbox, get_sandbox(config) as verifier:
        bench = Grader(tasks, sandbox, verifier, 8.0)
        for name, (code, *expected) in CASES.items():
            found = await grade(generation(code), ("published", "typed"), bench)
            got = [text for one in found for text in (one.outcome, one.reason)]
            if got != expected:
                wrong.append((name, expected, got, [one.detail for one in found]))
        code = f"{DEF}\nclass C:\n    def m(self):\n        return f()\n"
        for entry, expected in NAMES.items():
            found = await grade(generation(code, entry), ("published", "typed"), bench)
            got = tuple(one.reason for one in found)
            if got != expected:
                wrong.append((entry, expected, got, [one.detail for one in found]))
    assert not wrong, "\n".join(map(str, wrong))


# --- unit tests ----------------------------------------------------------------------------------


def counting(body: str) -> str:
    return f"def test_cell(properties):\n{body}"


#: Name: source of the unit test, published outcome and reason, wrong, typed passed properties.
#: The answer is right about `volume` and `cubic` (True); the tests complain as they like.
UNIT_TESTS = {
    "ok": (counting("    return 'ok'"), ALL, "", 0, 2),
    "ok in a sentence": (counting("    return 'all ok!'"), ALL, "", 0, 2),
    "ok in a list": (counting("    return ['ok']"), ALL, "", 0, 2),
    "prints": (counting("    print('checking', properties)\n    return 'ok'"), ALL, "", 0, 2),
    "a list": (counting("    return ['cubic: no', 1, 2]"), SOME, "wrong_value", 1, 1),
    "a word with ok in it": (counting("    return ['cubic is broken', 1, 2]"), SOME, "wrong_value",
                             1, 1),
    "a tuple": (counting("    return ('cubic: no', 1, 2)"), SOME, "wrong_value", 1, 1),
    "several messages of one": (counting("    return ['cubic a', 'cubic b', 2, 2]"), SOME,
                                "wrong_value", 2, 1),
    "counts of numpy": (counting("    import numpy as np\n"
                                 "    return ['cubic: no', np.int64(1), np.int64(2)]"), SOME,
                        "wrong_value", 1, 1),
    "name inside the message": (counting("    return ['Error in cubic!', 1, 2]"), SOME,
                                "wrong_value", 1, 1),
    "no names": ("def test_cell(p):\n    import numpy as np\n    bad = []\n"
                 "    if 'volume' not in p or not np.allclose(p['volume'], 1.0):\n"
                 "        bad.append('first is off')\n"
                 "    if 'cubic' not in p or p['cubic'] is not True:\n"
                 "        bad.append('second is off')\n"
                 "    return [*bad, len(bad), 2] if bad else 'ok'", SOME, "wrong_value", 1, 1),
    "raises": (counting("    raise KeyError('x')"), NOT, "unit_test", None, 0),
    "raises on one value": ("def test_cell(p):\n    import numpy as np\n    bad = []\n"
                            "    if 'volume' not in p: bad.append('volume is missing')\n"
                            "    else: np.allclose(p['volume'], [[1, 2], [3]])\n"
                            "    if p.get('cubic') is not True: bad.append('cubic is wrong')\n"
                            "    return [*bad, len(bad), 2] if bad else 'ok'",
                            NOT, "unit_test", None, 1),
    "exits": (counting("    raise SystemExit('x')"), NOT, "unit_test", None, 0),
    "nothing": (counting("    pass"), NOT, "unit_test", None, 0),
    "odd list": (counting("    return [1]"), NOT, "unit_test", None, 0),
    "list in a list": (counting("    return [['cubic: no', 1, 2]]"), NOT, "unit_test", None, 0),
    "asserts": (counting("    assert properties['volume'] == 1.0"), NOT, "unit_test", None, 0),
    "reads a file": (counting(f"    open('{FILES_INSIDE}/POSCAR').close()\n    return 'ok'"),
                     ALL, "", 0, 2),
    "future import": ("from __future__ import annotations\n" + counting("    return 'ok'"), ALL,
                      "", 0, 2),
    "names of ours": ("class json: pass\ndef verdict(*a): raise ValueError\nrevive = load = None\n"
                      "import sys\n" + counting("    return 'ok'"), ALL, "", 0, 2),
    "helpers and a main block": ("def right(x):\n    return x == 64.0\n"
                                 + counting("    return 'ok' * right(properties['volume'])")
                                 + "\nif __name__ == '__main__':\n    raise ValueError", ALL, "",
                                 0, 2),
    "named by its file": (counting("    import inspect\n    assert 'inspect' in inspect.getsource("
                                   "test_cell)\n    return 'ok'"), ALL, "", 0, 2),
}  # fmt: skip


@pytest.mark.long
async def test_every_kind_of_unit_test(bench_parts):
    tasks = bench_parts
    config = SandboxConfig(env="mattools-2024", workers=1)
    wrong = []
    async with get_sandbox(config) as sandbox, get_sandbox(config) as verifier:
        for name, (source, *expected) in UNIT_TESTS.items():
            task = replace(tasks["test_cell"], target=source)
            bench = Grader({"test_cell": task}, sandbox, verifier, 10.0)
            one, two = await grade(generation(DEF), ("published", "typed"), bench)
            got = [one.outcome, one.reason, one.wrong, two.passed]
            if got != expected:
                wrong.append((name, expected, got, one.detail, two.detail))
        # What cannot be loaded at all says nothing about the answer.
        task = replace(tasks["test_cell"], target="import absent_module")
        bench = Grader({"test_cell": task}, sandbox, verifier, 10.0)
        with pytest.raises(SandboxError, match="absent_module"):
            await grade(generation(DEF), ("published",), bench)
    assert not wrong, "\n".join(map(str, wrong))
