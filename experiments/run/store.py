"""The folder of one run: what is finished stays, whatever happens next.

``results.jsonl`` is append-only, one line per (configuration, question, seed), on the disk
before the next question counts as done. ``trajectories/`` holds everything that led to a
line; a trajectory is written before its line, so a line always has one. ``figures/`` holds the
pictures of the answers that have any; they may show what is expected.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from filelock import FileLock, Timeout

from agents.base import Image, Usage
from agents.budget import Budget
from experiments.files import (
    make_folder,
    path_text,
    read_json,
    write_bytes,
    write_json,
    write_text,
    writing,
)
from experiments.record import Row, read_rows
from experiments.run.config import UNHASHED, RunConfig
from foundation.errors import ActionableError, UsageError
from foundation.jsonl import JsonLines

#: Of a run folder: 3 has records and rows with an ending; rows of form 2 are read as such.
FORM, READABLE = 3, (2, 3)
LOOK_SECONDS = 1.0  # between two looks whether the folder is still there


def run_folder(config: RunConfig, config_hash: str) -> Path:
    """Where the run is kept: the same configuration always gives the same folder."""
    if config.out is not None:
        return config.out
    chosen = (config, config.benchmark, config.system, config.retrieval, config.model)
    names = [
        re.sub(r"[^\w.+=@-]+", "_", each.name).strip("_")
        for each in chosen
        if each.name
    ]
    return Path("runs") / "-".join([*names, config_hash[:8]])


class Store:
    """The folder of one run, its rows and trajectories: one configuration, one process at a time.

    ``description`` is the configuration in plain data, kept in ``run.json``. A folder of another
    configuration, in use or damaged is a `UsageError`.
    """

    def __init__(
        self, folder: Path, config_hash: str, description: Mapping[str, Any]
    ) -> None:
        self.folder = folder
        self.config_hash = config_hash
        name = path_text(folder)
        self._lock = FileLock(folder / ".lock", timeout=0)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout as error:
            raise UsageError(
                f"{name}: another process is writing to this folder; "
                "wait for it or choose another one with out=DIR"
            ) from error
        except OSError as error:
            raise UsageError(
                f"out={name}: cannot be used as a run folder ({error.strerror}); choose another "
                "one with out=DIR"
            ) from error
        try:
            self._claim(description)
            make_folder(folder / "trajectories")
            with writing(folder / "results.jsonl"):
                self._results = JsonLines(folder / "results.jsonl", sync=True)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._results.close()
        self._lock.release()

    def _claim(self, description: Mapping[str, Any]) -> None:
        self._description: dict[str, Any] = {
            "form": FORM,
            "config_hash": self.config_hash,
            "config": dict(description),
            "packages": {},
            "spent": {},
            "scorers": [],
        }
        path = self.folder / "run.json"
        theirs = read_json(path) if path.exists() else self._description
        if theirs.get("form") not in READABLE:
            raise UsageError(
                f"{self.folder}: was written by another version of matsmith, whose rows have "
                "a different format; start a new run with name=... or out=DIR"
            )
        if theirs.get("config_hash") != self.config_hash:
            changed = difference(theirs.get("config", {}), description)
            raise UsageError(
                f"out={self.folder}: contains a run with another configuration ({changed}); "
                "choose another folder with out=DIR"
            )
        notes = ("packages", "spent", "scorers")
        self._description |= {name: theirs[name] for name in notes if name in theirs}
        self._note()

    def _note(self) -> None:
        write_json(self.folder / "run.json", self._description)

    @property
    def packages(self) -> dict[str, dict[str, str]]:
        """Installed versions by environment, as they were when the rows were made."""
        return dict(self._description["packages"])

    @property
    def spent(self) -> dict[str, dict[str, Any]]:
        """What was spent outside of questions, by purpose; unknown is ``None``."""
        return dict(self._description["spent"])

    def remember_spent(self, writer: str, spent: Mapping[str, Usage]) -> None:
        """Add what a session asked ``writer`` outside of questions to what earlier ones did."""
        for purpose, usage in spent.items():
            before = self.spent.get(purpose, {})
            total = (
                Usage(**{n: value for n, value in before.items() if n != "writer"})
                + usage
            )
            self._description["spent"][purpose] = {"writer": writer, **asdict(total)}
        self._note()

    def remember_scorer(self, digest: str) -> bool:
        """Note who scores from now on; returns whether somebody else scored before."""
        scorers: list[str] = self._description["scorers"]
        if digest not in scorers:
            scorers.append(digest)
            self._note()
        return len(scorers) > 1

    def remember_packages(self, packages: Mapping[str, Mapping[str, str]]) -> None:
        """Keep the versions next to the rows; those of others cannot share a table."""
        recorded = self._description["packages"]
        for environment, versions in packages.items():
            if (before := recorded.get(environment, versions)) != versions:
                raise UsageError(
                    f"{self.folder}: was started with other package versions in environment "
                    f"{environment} ({difference(before, versions)}); "
                    "start a new run with name=... or out=DIR"
                )
        if not packages.keys() <= recorded.keys():
            recorded |= {
                environment: dict(versions)
                for environment, versions in packages.items()
            }
            self._note()

    def lines(self) -> list[Row]:
        """Everything that is stored, oldest first, superseded rows included."""
        stored = read_rows(self.folder / "results.jsonl")
        return [row for row in stored if row.config_hash == self.config_hash]

    def finished(self, budget: Budget) -> dict[tuple[str, int], Row]:
        """The rows that need no second try, by question and seed.

        What failed because of a component is retried. What a limit ended is tried again when
        that limit is higher now, or gone: under the same limit it would cost the same and end
        at the same place.
        """
        latest = {row.key: row for row in self.lines()}
        return {
            key: row
            for key, row in latest.items()
            if not row.infra
            and not (row.not_finished and _raised(row.ending.limit, budget))
        }

    def check(self) -> None:
        """Raise an `ActionableError` where somebody has removed the folder."""
        if self._is_removed():
            raise ActionableError(
                f"{path_text(self.folder)}: was removed while the run was going on; its answers "
                "are lost: give the same command again, and leave the folder"
            )

    def _is_removed(self) -> bool:
        return not (self.folder / "results.jsonl").exists()

    @asynccontextmanager
    async def ends_when_removed(self) -> AsyncIterator[None]:
        """Inside, work is cancelled soon after the folder was removed, as `check` says."""
        try:
            async with asyncio.timeout(None) as deadline:
                watching = asyncio.create_task(self._expire_when_removed(deadline))
                try:
                    yield
                finally:
                    watching.cancel()
        except TimeoutError:
            self.check()
            raise

    async def _expire_when_removed(self, deadline: asyncio.Timeout) -> None:
        while not self._is_removed():  # noqa: ASYNC110 -- a removal sends no event
            await asyncio.sleep(LOOK_SECONDS)
        deadline.reschedule(asyncio.get_running_loop().time())

    def append(
        self, row: Row, record: str, figures: Mapping[str, str] | None = None
    ) -> None:
        """Store one answer and the line of its record; both survive a crash once this returns."""
        self.check()
        if figures:
            make_folder(self.folder / "figures")
            write_json(figures_path(self.folder, row.question_id, row.seed), figures)
        write_text(trajectory_path(self.folder, row.question_id, row.seed), record)
        self._results.append(row.model_dump())

    def keep_image(self, image: Image) -> None:
        """Store a picture once, under the hash of its bytes."""
        path = self.folder / image_name(image)
        if not path.exists():
            make_folder(path.parent)
            write_bytes(path, image.data)


def image_name(image: Image) -> str:
    """Where a picture lies in the folder of a run: under the hash of its bytes."""
    digest = hashlib.sha256(image.data).hexdigest()
    return f"images/{digest}.{image.mime.rpartition('/')[2]}"


def _raised(limit: tuple[str, float] | None, budget: Budget) -> bool:
    """Whether a limit is higher in ``budget``, or not set; one that nobody named counts as such."""
    bound = None if limit is None else getattr(budget, limit[0])
    return limit is None or bound is None or bound > limit[1]


def trajectory_path(folder: Path, question_id: str, seed: int) -> Path:
    """Where the trajectory of one answer lies."""
    return folder / "trajectories" / f"{quote(question_id, safe='')}-{seed}.json"


def figures_path(folder: Path, question_id: str, seed: int) -> Path:
    """Where the figures of one answer lie, if it has any."""
    return folder / "figures" / f"{quote(question_id, safe='')}-{seed}.json"


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Describe the first key in which two configurations differ."""
    before, after = dict(_flat(old)), dict(_flat(new))
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key) and key.split(".")[0] not in UNHASHED:
            return f"{key} was {before.get(key)}, now {after.get(key)}"
    return "the questions changed"


def _flat(nested: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """``{"a": {"b": 1}}`` as the pair ``"a.b", 1``."""
    for key, value in nested.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
