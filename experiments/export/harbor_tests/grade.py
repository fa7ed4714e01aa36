"""Grades the answer of a task: reads the reply, runs its code, compares what it returned.

Runs in the task's container after the agent has finished. The code of the answer is a process of a
user who cannot read what is expected.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "packages"))

from agents.answer import UnreadableError, read_answer  # noqa: E402
from sandbox.inside import compare  # noqa: E402

ANSWER = Path(os.environ.get("MATSMITH_ANSWER", "/app/answer.md"))
LOGS = Path(os.environ.get("MATSMITH_LOGS", "/logs/verifier"))
#: Who runs the code of an answer; empty: the user of this process.
USER = os.environ.get("MATSMITH_USER", "nobody")
MOST_BYTES = 64 << 20  # of a result


def main() -> None:
    """Write ``reward.json`` and ``verdicts.json``."""
    file = HERE / "expected.json"
    file.chmod(0o600)
    expected = json.loads(file.read_text(encoding="utf-8"))
    payload, reason = _run(expected["seconds"])
    names = [prop["name"] for prop in expected["properties"]]
    verdicts = (
        {name: [False, reason] for name in names}
        if payload is None
        else compare.verify(expected["properties"], payload)
    )
    passed = sum(bool(verdicts[name][0]) for name in names)
    LOGS.mkdir(parents=True, exist_ok=True)
    rewards = {
        "reward": float(passed == len(names)),
        "properties": passed / len(names),
    }
    (LOGS / "reward.json").write_text(json.dumps(rewards), encoding="utf-8")
    (LOGS / "verdicts.json").write_text(json.dumps(verdicts), encoding="utf-8")


def _run(seconds: float) -> tuple[str | None, str]:
    """What the answer returns as tagged JSON, or why there is nothing."""
    if not ANSWER.is_file():
        return None, f"there is no {ANSWER.name}"
    try:
        answer = read_answer(ANSWER.read_text(encoding="utf-8", errors="replace"))
    except UnreadableError as error:
        return None, str(error)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        shutil.copytree(HERE / "packages", work / "packages")
        shutil.copy(HERE / "execute.py", work)
        shutil.copytree(HERE / "inputs", work / "run")
        (work / "run" / "main.py").write_text(answer.code, encoding="utf-8")
        (work / "result").mkdir()
        _hand_over(work)
        return _execute(work, answer.entry, seconds)


def _hand_over(work: Path) -> None:
    """Let the answer's user write where its code runs, and nowhere else."""
    for path in (work, *work.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    if USER:
        for path in (work / "run", work / "result"):
            shutil.chown(path, USER)


def _execute(work: Path, entry: str, seconds: float) -> tuple[str | None, str]:
    command = [sys.executable, "-I", str(work / "execute.py"), entry]
    user: dict[str, Any] = {"user": USER, "extra_groups": []} if USER else {}
    process = subprocess.Popen(  # noqa: S603 -- what a grader is for
        command,
        cwd=work / "run",
        env={"HOME": str(work / "run"), "PATH": os.environ.get("PATH", "")},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        **user,
    )
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, f"the code took more than {seconds:g} s"
    finally:
        _end(process)
    result = work / "result" / "payload.json"
    if not result.is_file() or result.is_symlink():
        return None, f"the code ended with exit code {process.returncode}, no result"
    if result.stat().st_size > MOST_BYTES:
        return None, "the result is too large"
    return result.read_text(encoding="utf-8", errors="replace"), ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the code and whatever of its session still runs."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    process.wait()


if __name__ == "__main__":
    main()
