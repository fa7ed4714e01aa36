"""Attacks that were thought of after the controls were written: leaks, forged results, odd names.

Whatever they do, the verdict is about the answer, and the next run of the same worker is clean.
"""

from __future__ import annotations

import pytest

from sandbox.base import AnswerSandbox, Outcome, SandboxConfig
from sandbox.factory import get_sandbox

LEAVE = {
    "an environment variable": "import os; os.environ['MARK'] = 'MARK-left'",
    "a module": "import sys, types; sys.modules['mark'] = types.ModuleType('MARK-left')",
    "a builtin": "import builtins; builtins.MARK = 'MARK-left'",
    "a hook of imports": "import sys; sys.meta_path.insert(0, 'MARK-left')",
    "a path hook": "import sys; sys.path.insert(0, '/tmp/MARK-left')",
    "an audit hook": "import sys; sys.addaudithook(lambda *a: 'MARK-left')",
    "an exit handler": "import atexit; atexit.register(print, 'MARK-left')",
    "a trace function": "import sys; sys.settrace(lambda *a: None)",
    "a file in the home": "import os; open(os.path.expanduser('~/.MARK-left'), 'w')",
    "a file in shared memory": "open('/dev/shm/MARK-left', 'w')",
    "a folder below /tmp": "import os; os.makedirs('/tmp/MARK-left/deep', exist_ok=True)",
    "a pth file": "import site, sys; open(sys.prefix + '/MARK-left.pth', 'w')",
    "bytecode": "import os; open(os.__cached__, 'wb').write(b'MARK-left')",
    "a thread": "import threading, time; threading.Thread(target=time.sleep, args=(99,)).start()",
    "a name of the process": "open('/proc/self/comm', 'w').write('MARK-left')",
    "a working folder": "import os; os.mkdir('/tmp/MARK-left'); os.chdir('/tmp/MARK-left')",
    "a mask": "import os; os.umask(0o777)",
    "a limit": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (9, 9))",
    "a priority": "import os; os.nice(19)",
    "a locale and zone": "import os, time; os.environ['TZ'] = 'MARK-left'; time.tzset()",
    "a seed": "import random; random.seed(1); import numpy; numpy.random.seed(1)",
    "a print function": "import sys; sys.stdout.write = lambda t: 'MARK-left'",
}
FORGE = {
    "a result on every descriptor": """
        import os
        for number in range(3, 64):
            try: os.write(number, b'ok\\n{"t": "int", "v": 42}')
            except OSError: pass
        os._exit(0)""",
    "a report before a result": """
        import os
        for number in range(3, 64):
            try: os.write(number, b'ok {"caught": [], "files": [["a", 9]], "left": []}\\n')
            except OSError: pass
        os._exit(0)""",
    "an outcome of the host": "raise type('SandboxError', (Exception,), {})('infra')",
    "a name with escapes": "raise type('\\x1b]0;x\\x07\\u202e', (Exception,), {})('y')",
    "an exception without a text": """
        class Odd(Exception):
            def __str__(self): raise SystemExit(0)
        raise Odd""",
    "a number that is not one": """
        class Odd(float):
            def __eq__(self, other): return True
            def __reduce__(self): return (print, ('here',))
        return Odd(1)""",
    "a text that grows": "return 'x' * (1 << 27)",
    "a dictionary that changes": """
        class Odd(dict):
            def items(self):
                while True: yield ('a', 1)
        return Odd(a=1)""",
    "a list that holds itself": "a = []; a.append(a); return a",
    "an array of objects": "import numpy; return numpy.array([print, 1], dtype=object)",
    "a structured array": "import numpy; return numpy.zeros(3, dtype='i4,(2,)f8')",
    "an infinite array": "import numpy; return numpy.broadcast_to(1.0, (1 << 40,))",
    "a masked array": "import numpy; return numpy.ma.masked_all(3)",
    "half a character": "return '\\ud800' * 3",
    "a generator": "return (x for x in [1])",
    "a stop signal": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "an own parent": "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
}
LOOK = """
import atexit, builtins, gc, os, random, resource, sys, threading, time
def look():
    seen = [str(sys.meta_path), str(sys.path), str(os.environ), str(list(sys.modules))]
    seen += [str(vars(builtins).keys()), open("/proc/self/comm").read(), os.getcwd()]
    for folder in ("/tmp", "/dev/shm", os.path.expanduser("~"), sys.prefix):
        if os.path.isdir(folder):
            seen += os.listdir(folder)
    mask = os.umask(0o22)
    os.umask(mask)
    return {
        "mark": "MARK" in " ".join(seen),
        "threads": threading.active_count(),
        "mask": mask,
        "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 9,
        "nice": os.nice(0),
        "trace": sys.gettrace() is None,
        "zone": time.tzname[0],
    }
"""


def program(body: str) -> str:
    lines = body.strip("\n").splitlines()
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "def f():\n" + "".join(f"    {line[margin:]}\n" for line in lines)


async def look(sandbox: AnswerSandbox) -> object:
    done = await sandbox.run(LOOK, "look", timeout=10)
    assert done.outcome is Outcome.OK, done.error
    return done.result


async def test_what_a_run_leaves_is_not_there_in_the_next(backend: str) -> None:
    config = SandboxConfig(
        backend=backend, workers=1, options={"warmup": "import numpy"}
    )
    async with get_sandbox(config) as sandbox:
        clean = await look(sandbox)
        for name, body in LEAVE.items():
            await sandbox.run(program(body), "f", timeout=3)
            assert await look(sandbox) == clean, name


@pytest.mark.long
async def test_a_forged_result_is_the_answers_own(backend: str) -> None:
    config = SandboxConfig(
        backend=backend,
        workers=1,
        memory_mb=512,
        wall_seconds=5.0,
        options={"warmup": "import numpy"},
    )
    async with get_sandbox(config) as sandbox:
        clean = await look(sandbox)
        for name, body in FORGE.items():  # a SandboxError would be an infra verdict
            done = await sandbox.run(program(body), "f", timeout=3)
            assert isinstance(done.outcome, Outcome), name
            assert await look(sandbox) == clean, name
