"""``system=command``: an outside agent, as a program of the user's own.

The contract is that of AtomWorld's authors: the program is started in a fresh folder that holds the
files of the question (``structure.cif``), gets ``--instruction TEXT``, and leaves its answer in a
file (``result.cif``) anywhere below; ``answer.txt`` holds the reply where a question wants no file.

The program is trusted as far as the user trusts it: it runs on this machine, with the user's rights
and environment, in no sandbox. What it leaves is not trusted: it is read as bytes below a limit,
through no link, and ends in the same readers and graders as a model's reply.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import stat
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from agents import prompts
from agents.answer_formats import File, Reading
from agents.base import Document, Question, StopReason, Usage
from agents.episode import Episode, System
from foundation.errors import UsageError
from sandbox.base import SandboxError

MAX_BYTES = 2_000_000  # of an answer
MAX_LOG = 20_000  # bytes of what the program prints that are kept, the last ones
MAX_ENTRIES = 20_000  # files and folders that are looked through for an answer
REPLY = "answer.txt"


@dataclass
class CommandSystem(System):
    """Starts a program for every question.

    Parameters
    ----------
    program
        Command line; ``--instruction TEXT`` is added.
    timeout
        Seconds for one question; what the program has left by then counts.
    """

    name = "command"
    uses_retrieval = False
    writes_code = False
    executes = False
    llm = True

    program: str = ""
    timeout: float = 600.0

    def __post_init__(self) -> None:
        try:
            self._words = shlex.split(self.program)
        except ValueError as error:
            raise UsageError(f"system.program={self.program}: {error}") from error
        if not self._words:
            raise UsageError("system.program: name the command line of your agent")

    async def _steps(self, episode: Episode) -> StopReason:
        question = episode.question
        form = question.answer
        wanted = form.filename if isinstance(form, File) else REPLY
        episode.meter.usage += Usage(
            cost_usd=None, unmetered=True
        )  # nobody knows what it spends
        with tempfile.TemporaryDirectory(
            prefix="command-", ignore_cleanup_errors=True
        ) as name:
            folder = Path(name)
            furnish(folder, question)
            started = time.monotonic()
            printed, code = await self._run(folder, instruction(question))
            stopped = f"stopped after {self.timeout:g} s (system.timeout)"
            ended = stopped if code is None else f"exit code {code}"
            episode.record(
                "tool",
                name=self.program,
                arguments={"ended": ended},
                result=printed,
                seconds=time.monotonic() - started,
            )
            left = read_result(folder, wanted)
        episode.reply = "" if left is None else left.decode("utf-8", "replace")
        if isinstance(form, File):
            episode.answer = (
                Reading(episode.reply, "strict") if episode.reply.strip() else None
            )
        else:
            episode.read()
        if episode.answer is not None:
            return "answered"
        return "timeout" if code is None else "crashed" if code else "format_error"

    async def _run(self, folder: Path, text: str) -> tuple[str, int | None]:
        """What it printed, and its exit code; ``None`` where it had to be stopped."""
        with tempfile.TemporaryFile() as log:
            try:
                process = await asyncio.create_subprocess_exec(
                    *self._words,
                    "--instruction",
                    text,
                    cwd=folder,
                    stdout=log,
                    stderr=log,
                    stdin=asyncio.subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                raise SandboxError(
                    f"system.program: cannot be started ({error})"
                ) from error
            try:
                code = await asyncio.wait_for(process.wait(), self.timeout)
            except TimeoutError:
                code = None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # and what it has started
                await process.wait()
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - MAX_LOG))
            return log.read(MAX_LOG).decode("utf-8", "replace"), code


def furnish(folder: Path, question: Question) -> None:
    """Put the files and documents of a question into a folder."""
    for target, source in question.mounts.items():
        path = folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if Path(source).is_dir() else shutil.copyfile)(source, path)
    for part in question.attachments:
        if isinstance(part, Document):
            (folder / Path(part.name).name).write_text(part.text, encoding="utf-8")


def instruction(question: Question) -> str:
    """What the program is told."""
    if isinstance(question.answer, File):
        return question.prompt
    text = "\n\n".join(message.text for message in prompts.request_answer(question))
    return f"{text}\n\nLeave the whole reply in a file called {REPLY}."


def read_result(folder: Path, name: str) -> bytes | None:
    """The bytes of the uppermost regular file of this name below a folder; no link is followed.

    Of a file beyond `MAX_BYTES` there is one byte more than that: enough to be refused by.
    """
    paths: list[Path] = []
    entries = 0
    for inside, folders, files in os.walk(folder):
        entries += len(folders) + len(files)
        if entries > MAX_ENTRIES:
            break
        paths += [Path(inside) / name] if name in files else []
    for path in sorted(paths, key=lambda path: (len(path.parts), path)):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue  # a link, or not to be read
        with os.fdopen(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return file.read(MAX_BYTES + 1)
    return None
