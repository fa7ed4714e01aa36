"""Runs a completion as the authors of NovelAPIBench do, by the files of their checkout.

Runs inside the sandbox for verification: a task's tests share an interpreter with what they test,
as published, so a hostile completion could claim to pass, and nothing more.
"""

from __future__ import annotations

import contextlib
import sys
import types
from pathlib import Path
from typing import Any

HARNESS = "novelapibench.evaluation.harness"
CALLS = "novelapibench.evaluation.call_check"
RUNNER = "novelapibench.runtime.sandbox"
#: What is read of a checkout besides its data.
MODULES = (HARNESS, CALLS, RUNNER)


def check(
    files: dict[str, str],
    task: dict[str, Any],
    completion: str,
    calls: list[Any] | None,
) -> dict[str, Any]:
    """Whether a completion passes: ``passed``, and the last line of what went wrong.

    ``files`` are the sources of `MODULES`; ``task`` has ``api_name``, ``context_code``, and of its
    harness ``setup_code`` and ``execution_test``; ``calls`` of the reference have to be there
    (``None``: not looked at).
    """
    modules = _modules(files)
    names = (task["api_name"], task["setup_code"], task["context_code"])
    by = HARNESS
    test = task["execution_test"]
    if calls is not None:
        by, test = CALLS, modules[CALLS].build_test(test, calls)
    setup = modules[by].build_setup(*names, bind_target_leaf=True)
    argv = modules[RUNNER].infer_cli_argv(task["execution_test"])
    # Theirs would start a process for the script that it puts together.
    modules[RUNNER].execute_code = lambda code, *, argv, **_: (code, argv or [])
    script, argv = modules[RUNNER].execute_test_harness(
        setup_code=setup, solution_code=completion, test_code=test, argv=argv
    )
    return _run(script, argv)


def _modules(files: dict[str, str]) -> dict[str, Any]:
    modules: dict[str, Any] = {}
    for name, source in files.items():
        for package in ("novelapibench", name.rpartition(".")[0]):
            sys.modules.setdefault(package, types.ModuleType(package)).__path__ = []
        modules[name] = sys.modules[name] = types.ModuleType(name)
        exec(compile(source, f"{name}.py", "exec"), modules[name].__dict__)  # noqa: S102 -- in the sandbox
    return modules


def _run(script: str, argv: list[str]) -> dict[str, Any]:
    file = Path("task.py")
    file.write_text(
        script, encoding="utf-8"
    )  # some libraries read the source of what they get
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__file__ = str(file)
    sys.argv = [str(file), *argv]
    try:
        exec(compile(script, str(file), "exec"), main.__dict__)  # noqa: S102 -- in the sandbox
    # SystemExit too: what ends the script early has not been tested.
    except BaseException as error:  # noqa: BLE001 -- whatever it is, it is the completion's
        reason = ""
        with contextlib.suppress(BaseException):  # `str(error)` may raise
            reason = (str(error).strip().splitlines() or [""])[0]
        return {"passed": False, "error": f"{type(error).__name__}: {reason}"}
    return {"passed": True, "error": ""}
