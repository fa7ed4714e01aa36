"""Models x systems x benchmarks as one resumable command, and their leaderboard.

``python -m experiments.study FILE.yaml``; every cell is an ordinary run folder.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.composition import parse
from agents.config import describe
from experiments.config import RunConfig, compose, validate
from retrieval.base import RetrievalError
from sandbox.command import UsageError, Word, run

DESCRIPTION = """\
Runs every model with every system on every benchmark of a file, and writes a leaderboard.

  name: small
  models: [model=rules, model=openai model.name=gpt-4o-mini]
  systems: [single, rag, system=reflect retrieval=code]
  benchmarks: [live, unseen benchmark.seed=2]
  seeds: 3
  common: [retrieval=llm_doc, run_budget.cost_usd=5]
  launcher: dask launcher.workers=4

Words are those of python -m experiments.run; the first one may leave its GROUP= out. Each cell is
a run folder of its own below FOLDER/runs, with an entry in FOLDER/entries; entries of others are
put beside it. The same command resumes, and writes FOLDER/leaderboard.html anew."""

#: Files of a run folder that an entry vouches for.
HASHED = ("results.jsonl", "summary.json")
_SAFE = re.compile(r"[^\w.=-]+")


class StudyFile(BaseModel):
    """A study as a user writes it; see ``--help``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[\w.-]+$")
    models: tuple[str, ...] = Field(min_length=1)
    systems: tuple[str, ...] = Field(min_length=1)
    benchmarks: tuple[str, ...] = Field(min_length=1)
    seeds: int | tuple[int, ...] = 1
    common: tuple[str, ...] = ()
    launcher: str = "local"
    out: Path | None = None


class Entry(BaseModel):
    """A line of a leaderboard: whose it is, and which results it stands on.

    Attributes
    ----------
    run
        The run folder, relative to the folder of the entry.
    by, url
        Who made it, and where more is said; for people.
    sha256
        Of the files that its numbers are computed from, by name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: Path
    by: str = ""
    url: str = ""
    sha256: dict[str, str]


@dataclass(frozen=True)
class Cell:
    """One run of a study."""

    name: str
    config: RunConfig

    @property
    def folder(self) -> Path:
        """The run folder."""
        assert self.config.out is not None
        return self.config.out


class Options(BaseModel):
    """What the command takes."""

    model_config = ConfigDict(extra="forbid")

    file: Annotated[Path, Word()] = Field(description="the study")


def read_study(path: Path) -> tuple[Path, list[Cell]]:
    """The folder of a study, and its cells.

    Raises
    ------
    UsageError
        For a key, a word or a value that does not exist, in any of the cells.
    """
    try:
        plain = yaml.safe_load(path.read_text(encoding="utf-8"))
        study = StudyFile.model_validate(plain)
    except ValidationError as error:
        raise UsageError(f"{path}: {describe(error, StudyFile)}") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: cannot be read ({' '.join(str(error).split())})") from error
    out = study.out or Path("runs") / f"study-{study.name}"
    seeds = study.seeds if isinstance(study.seeds, int) else list(study.seeds)
    cells: dict[str, Cell] = {}
    for model, system, benchmark in itertools.product(
        study.models, study.systems, study.benchmarks
    ):
        words = [
            *study.common,
            *_words("model", model),
            *_words("system", system),
            *_words("benchmark", benchmark),
            *_words("launcher", study.launcher),
            f"seeds={seeds}".replace(" ", ""),
        ]
        latest = {word.partition("=")[0]: word for word in words}  # common ones can be overridden
        config = validate(compose([str(one.input_line) for one in parse(list(latest.values()))]))
        digest = config.hash("")[:8]
        parts = (config.benchmark.name, config.system.name, config.retrieval.name)
        name = _SAFE.sub("_", "-".join([*parts, config.model.name, digest]))
        own = config.model_copy(update={"out": out / "runs" / name})
        cells.setdefault(name, Cell(name, own))
    return out, list(cells.values())


def _words(group: str, text: str) -> list[str]:
    """``live benchmark.level=goal`` as overrides."""
    first, *others = text.split()
    return [first if "=" in first else f"{group}={first}", *others]


def write_entry(folder: Path, entry: Path) -> None:
    """Vouch for a run folder with the hashes of its results; who made it is kept."""
    before: Mapping[str, Any] = yaml.safe_load(entry.read_text()) if entry.exists() else {}
    run_folder = Path("..") / folder.relative_to(entry.parent.parent)
    hashes = {name: sha256(folder / name) for name in HASHED if (folder / name).exists()}
    found = {**before, "run": str(run_folder), "sha256": hashes}
    entry.parent.mkdir(parents=True, exist_ok=True)
    entry.write_text(yaml.safe_dump(found, sort_keys=False, allow_unicode=True), encoding="utf-8")


def read_entry(path: Path) -> tuple[Entry, Path]:
    """An entry and its run folder.

    Raises
    ------
    UsageError
        When it is none, or the results are not those that it vouches for.
    """
    try:
        entry = Entry.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        raise UsageError(f"{path}: {describe(error, Entry)}") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: cannot be read ({' '.join(str(error).split())})") from error
    folder = (path.parent / entry.run).resolve()
    for name in HASHED:
        if not (folder / name).is_file():
            raise UsageError(f"{path}: {folder / name} is missing")
        if sha256(folder / name) != entry.sha256.get(name):
            raise UsageError(f"{path}: {name} is not the file that the entry vouches for")
    return entry, folder


def sha256(path: Path) -> str:
    """Of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _execute(options: Options) -> int:
    # They take seconds to import: not for --help or a wrong argument.
    from rich.console import Console  # noqa: PLC0415

    from experiments.cells import execute_cells  # noqa: PLC0415
    from experiments.report.leaderboard import write_leaderboard  # noqa: PLC0415
    from experiments.report.page import write_report  # noqa: PLC0415
    from experiments.setup import check_prices  # noqa: PLC0415
    from experiments.store import read_json  # noqa: PLC0415

    out, cells = read_study(options.file)
    for cell in cells:
        check_prices(cell.config)
    console = Console()
    if not console.is_terminal:
        console = Console(width=100)  # a log file has room for the tables
    try:
        failed = asyncio.run(execute_cells({cell.name: cell.config for cell in cells}, console))
    finally:  # also what an interrupted study has so far is shown
        complete = True
        for cell in cells:
            summary = cell.folder / "summary.json"
            complete = complete and summary.exists() and read_json(summary)["complete"]
            if summary.exists():
                write_entry(cell.folder, out / "entries" / f"{cell.name}.yaml")
                write_report([cell.folder], cell.folder / "report.html")
        page = write_leaderboard(out, sorted((out / "entries").glob("*.yaml")))
        console.print(f"leaderboard: {page}", highlight=False, soft_wrap=True)
    return 0 if complete and not failed else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see ``--help``."""
    program = "python -m experiments.study"
    return run(program, DESCRIPTION, Options, _execute, arguments, errors=(RetrievalError,))


if __name__ == "__main__":
    sys.exit(main())
