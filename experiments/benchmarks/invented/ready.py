"""Makes a world into the cache, proves its references, and keeps it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, TypeVar

from experiments.benchmarks.invented.files import PACKAGE, PRIVATE, write
from experiments.benchmarks.invented.gates import (
    check_mistakes,
    check_reader,
    check_references,
    check_words,
)
from experiments.benchmarks.invented.knobs import Knobs
from experiments.benchmarks.invented.links import LINKS, links_of
from experiments.benchmarks.invented.questions import WorldError
from experiments.benchmarks.invented.reader import UnreadableError
from experiments.benchmarks.invented.world import World, generate
from indexes.corpus import building, replaced_folder
from sandbox import environments
from sandbox.base import SandboxConfig
from sandbox.factory import get_sandbox
from sandbox.progress import saying

BASE = "live"
_SOURCES = {".py", ".yaml", ".j2"}
log = logging.getLogger(__name__)
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Ready:
    """A world in a folder.

    Attributes
    ----------
    folder
        Holds ``package/`` (what a caller imports) and ``private/`` (questions, references, golds).
    package
        Import name.
    environment
        Name of the sandbox environment: an overlay on `BASE`.
    """

    folder: Path
    package: str
    environment: str

    @property
    def questions(self) -> Path:
        """One folder per question, never shown to a sandbox."""
        return self.folder / PRIVATE / "questions"


def ready(
    knobs: Knobs, *, backend: str = "auto", say: Callable[[str], None] = lambda _: None
) -> Ready:
    """The world of these knobs, made into the cache if need be.

    Raises
    ------
    WorldError
        When it cannot be made, or its references fail.
    SandboxError
        When no sandbox works here.
    """
    kept = (
        environments.cache_folder()
        / "invented"
        / f"{'-'.join(map(str, astuple(knobs)))}-{_digest()}"
    )
    with building(kept):  # a second process waits, then finds it done
        if not kept.is_dir():
            with replaced_folder(kept) as fresh:  # an interrupted one leaves nothing
                make(knobs, fresh, backend=backend, say=say)
    return _load(kept)


def make(
    knobs: Knobs, out: Path, *, backend: str = "auto", say: Callable[[str], None] = lambda _: None
) -> World:
    """Write a world with its golds.

    Raises
    ------
    WorldError
        When it cannot be made, or its references fail.
    SandboxError
        When no sandbox works here.
    """
    began = time.perf_counter()
    say("drawing symbols and questions")
    world = generate(knobs)
    write(world, out)
    for question in world.questions:
        text = json.dumps(links_of(world, question), indent=1)
        (out / PRIVATE / "questions" / question.id / LINKS).write_text(
            text + "\n", encoding="utf-8"
        )
    drawn = time.perf_counter()
    say("environment")
    environment = _load(out).environment
    environments.build(environment, say=say)
    built = time.perf_counter()
    say("running the references")
    findings = wait(check_references(world, out / PRIVATE / "questions", environment, backend))
    refuse(out, findings)
    log.info(
        "invented: drawn in %.1f s, environment in %.1f s, references twice in %.1f s",
        drawn - began, built - drawn, time.perf_counter() - built,
    )  # fmt: skip
    return world


def prove(
    knobs: Knobs, out: Path, *, backend: str = "auto", say: Callable[[str], None] = lambda _: None
) -> tuple[World, int]:
    """Write a world and put it through all gates; also the number of mistakes that were made.

    Raises
    ------
    WorldError
        When it cannot be made, or fails a gate.
    SandboxError
        When no sandbox works here.
    """
    world = make(knobs, out, backend=backend, say=say)

    async def check() -> tuple[int, list[str]]:
        config = SandboxConfig(backend=backend, env=_load(out).environment, workers=1)
        async with get_sandbox(config) as sandbox:
            say("answering from the documents alone")
            findings = [*check_words(world), *await check_reader(world, sandbox)]
            count, unseen = await check_mistakes(world, sandbox, say)
        return count, [*findings, *unseen]

    try:
        count, findings = wait(check())
    except UnreadableError as error:
        raise WorldError(f"{out}: a document leaves something out: {error}") from error
    refuse(out, findings)
    return world, count


def refuse(out: Path, findings: list[str]) -> None:
    """Raise a `WorldError` that shows findings, if there are any."""
    if findings:
        shown = "\n  ".join(findings[:20])
        more = f"\n  and {len(findings) - 20} more" if len(findings) > 20 else ""
        msg = f"{out}: the world failed its gates:\n  {shown}{more}"
        raise WorldError(msg)


def ready_with_progress(knobs: Knobs) -> Ready:
    """As :func:`ready`, with a line on stderr that says what it is at."""
    with saying("invented package") as say:
        return ready(knobs, say=say)


def wait(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Run to the end, also when the caller is inside of an event loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def _load(folder: Path) -> Ready:
    package = json.loads((folder / PRIVATE / "world.json").read_text(encoding="utf-8"))["package"]
    environment = environments.overlay(package, base=BASE, folder=folder / PACKAGE)
    return Ready(folder, package, environment)


def _digest() -> str:
    """Key of what decides a world besides its knobs: this program, and the library beneath."""
    digest = hashlib.sha256(environments.lock_file(BASE).read_bytes())
    for path in sorted(p for p in Path(__file__).parent.rglob("*.*") if p.suffix in _SOURCES):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]
