"""The gold of our benchmarks for measuring retrieval; named by ``_gold_`` in ``conf/benchmark``.

For questions with a reference solution it is what that uses: read by ``ast``, and seen while it
runs in the sandbox. For MatTools it is what at least half of the recorded right answers share.
It is made once and kept in the cache.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from docgen.progress import meter
from docgen.sources import read_sources, sources_digest
from docgen.usage import Usage
from experiments.benchmarks.folder import FolderBenchmark
from experiments.benchmarks.live.loader import LiveBenchmark, data_files, question_folders
from experiments.benchmarks.mattools import MatToolsBenchmark, MatToolsError
from experiments.tasks import Task
from sandbox import environments
from sandbox.base import Mount, Outcome, Sandbox, SandboxConfig, SandboxError
from sandbox.factory import get_sandbox

Level = Literal["scaffold", "goal"]
Split = Literal["all", "chosen", "later"]
FORMAT = 1  # of the cached gold; raise it when what counts as use changes
RECORDED = "recorded_round1.jsonl"
#: The questions of ``live`` on which the weights of retrieval were chosen.
CHOSEN = Path(__file__).parent / "benchmarks" / "live" / "chose_weights.json"
_TIMEOUT = 300.0  # seconds for one traced reference solution
_WORKERS = 2

# Appended to a reference solution. Notes every Python function of a library that the solution's
# own code calls: frames whose caller is code of the solution's file.
TRACER = """

def _traced_calls():
    import sys

    here = reference.__code__.co_filename
    found = set()

    def note(frame, event, argument):
        caller = frame.f_back
        if event == "call" and caller is not None and caller.f_code.co_filename == here:
            module = frame.f_globals.get("__name__") or ""
            found.add(module + "." + frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        reference()
    finally:
        sys.setprofile(None)
    return sorted(found)
"""


class ReferenceGold:
    """Gold of questions that have a ``reference.py``, laid out like those of ``live``.

    Parameters
    ----------
    folders
        One per question.
    tasks
        The questions.
    trace
        Also run the reference solutions and note their calls.
    """

    def __init__(
        self,
        name: str,
        folders: Sequence[Path],
        tasks: Sequence[Task],
        packages: Sequence[str],
        *,
        trace: bool,
    ) -> None:
        self.name = name
        self.packages = packages
        self.environment = tasks[0].environment
        self._prompts = {task.question.id: task.question.prompt for task in tasks}
        self._folders = [folder for folder in folders if folder.name in self._prompts]
        self._trace = trace

    def prompts(self) -> Mapping[str, str]:
        """Question -> its whole text."""
        return self._prompts

    def gold(self) -> Mapping[str, Mapping[str, str]]:
        """Question -> what its reference solution uses, public names only.

        Raises
        ------
        docgen.sources.SourceError
            When a package is not there.
        SandboxError
            When the sandbox fails, or a reference solution does not run.
        """
        sources = read_sources(self.packages, environments.site_packages(self.environment))
        recipe = [FORMAT, self._trace, TRACER, sources_digest(sources)]
        kept = {folder: _kept(folder, recipe) for folder in self._folders}
        missing = [folder for folder, path in kept.items() if not path.is_file()]
        if missing:
            usage = Usage(sources)
            traced = asyncio.run(self._traced(missing)) if self._trace else {}
            for folder in missing:
                seen = usage.known(traced.get(folder.name, ()))
                names = public_symbols({**usage.symbols(_reference(folder)), **seen})
                _keep(kept[folder], names)
        found = {f.name: json.loads(path.read_text("utf-8")) for f, path in kept.items()}
        return {name: names for name, names in found.items() if names}

    def secrets(self) -> Mapping[str, str]:
        """Reference code, golds, and the texts of the questions."""
        found = {f"{name}/prompt": text for name, text in self._prompts.items()}
        for folder in self._folders:
            found[f"{folder.name}/reference"] = _reference(folder)
            found[f"{folder.name}/gold"] = (folder / "gold.json").read_text(encoding="utf-8")
        return found

    async def _traced(self, folders: Sequence[Path]) -> dict[str, list[str]]:
        config = SandboxConfig(env=self.environment, workers=_WORKERS, timeout=_TIMEOUT)
        async with get_sandbox(config) as sandbox:
            return await trace(sandbox, folders)


def live(
    level: Level = "scaffold",
    library: Literal["installed", "unseen"] = "installed",
    seed: int = 1,
    *,
    split: Split = "all",
    trace: bool = True,
) -> ReferenceGold:
    """Gold of ``live``.

    Parameters
    ----------
    split
        ``chosen``: the questions on which the weights of retrieval were chosen; ``later``: the
        others.

    Raises
    ------
    experiments.benchmarks.live.loader.LiveError
        When a question is wrong.
    """
    if split not in {"all", "chosen", "later"}:
        raise ValueError(f"split={split}: choose one of all, chosen, later")
    benchmark = LiveBenchmark(level=level, library=library, seed=seed)
    chosen = json.loads(CHOSEN.read_text(encoding="utf-8"))
    folders = [
        folder
        for folder in question_folders(benchmark.questions)
        if split == "all" or (folder.name in chosen) is (split == "chosen")
    ]
    parts = ["live", level, *([f"unseen {seed}"] if library == "unseen" else [])]
    name = " ".join([*parts, *([split] if split != "all" else [])])
    wanted = {folder.name for folder in folders}
    tasks = [task for task in benchmark.load() if task.question.id in wanted]
    return ReferenceGold(name, folders, tasks, benchmark.packages, trace=trace)


def folder(
    path: Path | None = None, level: Level = "scaffold", *, trace: bool = True
) -> ReferenceGold:
    """Gold of tasks that ``python -m experiments.build_tasks`` made.

    Raises
    ------
    experiments.benchmarks.live.loader.LiveError
        When a question is wrong.
    """
    benchmark = FolderBenchmark(path, level)
    folders = question_folders(Path(str(path)) / "questions")
    return ReferenceGold(benchmark.name, folders, benchmark.load(), benchmark.packages, trace=trace)


class MatToolsGold:
    """Per question of a recorded split: what at least half of the right answers use.

    Questions without any right answer are left out: their gold is unknown.

    Parameters
    ----------
    path
        Folder with ``tasks.jsonl``, ``test_files/`` and ``recorded_round1.jsonl``.

    Raises
    ------
    MatToolsError
        When there are no questions there.
    """

    def __init__(self, path: str | Path | None = None, environment: str = "mattools-2024") -> None:
        if path is None:
            raise MatToolsError("path=FOLDER with tasks.jsonl and recorded answers must be given")
        self.name = "mattools"
        self.environment = environment
        self._folder = Path(path)
        self._benchmark = MatToolsBenchmark(str(path), environment=environment)
        self.packages = self._benchmark.packages
        self._tasks = self._benchmark.load()

    def prompts(self) -> Mapping[str, str]:
        """Question -> its whole text."""
        return {task.question.id: task.question.prompt for task in self._tasks}

    def gold(self) -> Mapping[str, Mapping[str, str]]:
        """Question -> qualified name -> kind.

        Raises
        ------
        docgen.sources.SourceError
            When a package is not there.
        MatToolsError
            When no answers are recorded there.
        """
        folder = environments.site_packages(self.environment)
        return mattools_gold(Usage(read_sources(self.packages, folder)), self._folder)

    def secrets(self) -> Mapping[str, str]:
        """Verification code, and the recorded right answers."""
        tests = self._benchmark.unit_tests()
        found = {f"{name}/test": text for name, text in tests.items()}
        for number, row in enumerate(_right(self._folder)):
            found[f"{row['task']}/answer {number}"] = row["code"]
        return found


def mattools_gold(usage: Usage, folder: Path) -> dict[str, dict[str, str]]:
    """Question -> the names that at least half of its recorded right answers use."""
    used: dict[str, Counter[str]] = {}
    kinds: dict[str, str] = {}
    right: Counter[str] = Counter()
    for row in _right(folder):
        right[row["task"]] += 1
        names = public_symbols(usage.symbols(row["code"]))
        kinds.update(names)
        used.setdefault(row["task"], Counter()).update(names.keys())
    found = {
        task: {n: kinds[n] for n in sorted(counts) if 2 * counts[n] >= right[task]}
        for task, counts in used.items()
    }
    return {task: names for task, names in found.items() if names}


async def trace(sandbox: Sandbox, folders: Sequence[Path]) -> dict[str, list[str]]:
    """Question -> dotted names of the functions that its reference solution calls itself.

    Raises
    ------
    SandboxError
        When the sandbox fails, or a reference solution does not run.
    """
    limit = asyncio.Semaphore(_WORKERS)
    calls: dict[str, list[str]] = {}

    async def one(folder: Path) -> None:
        mounts = [Mount(Path(host), inside) for inside, host in data_files(folder).items()]
        async with limit:
            execution = await sandbox.run(
                _reference(folder) + TRACER, "_traced_calls", timeout=_TIMEOUT, mounts=mounts
            )
        if execution.outcome is not Outcome.OK:
            raise SandboxError(
                f"the reference solution of {folder.name} did not run ({execution.outcome}): "
                f"{execution.error}"
            )
        calls[folder.name] = [str(name) for name in execution.result]
        progress.advance()

    with meter("Tracing reference solutions", len(folders), show=True) as progress:
        tasks = [asyncio.create_task(one(folder)) for folder in folders]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
    return calls


def public_symbols(names: Mapping[str, str]) -> dict[str, str]:
    """Without private names, sorted."""
    return {n: names[n] for n in sorted(names) if not any(p.startswith("_") for p in n.split("."))}


def _kept(folder: Path, recipe: Sequence[object]) -> Path:
    """Where the gold of a question is kept; another reference or library is another file."""
    key = json.dumps([*recipe, _reference(folder)])
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return environments.cache_folder() / "gold" / f"{folder.name}-{digest}.json"


def _keep(path: Path, names: Mapping[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(names, indent=1), encoding="utf-8")
    fresh.replace(path)


def _reference(folder: Path) -> str:
    return (folder / "reference.py").read_text(encoding="utf-8")


def _right(folder: Path) -> Iterator[dict[str, Any]]:
    path = folder / RECORDED
    if not path.is_file():
        raise MatToolsError(f"{path}: not there; without recorded answers the gold is unknown")
    with path.open(encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream if line.strip()]
    yield from (row for row in rows if row["replayed"]["outcome"] == "all_correct")
