"""What retrieval is measured against, where questions have a reference solution: what that uses.

It is read by ``ast``, and seen while the solution runs in the sandbox; made once and kept in the
cache.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from docgen.calls import CodeResolver
from docgen.sources import read_sources, sources_digest
from experiments.benchmarks.question_format import data_files
from experiments.files import write_json
from experiments.samples import Sample
from foundation.progress import meter
from sandbox import environments
from sandbox.base import Mount, Outcome, Sandbox, SandboxConfig, SandboxError
from sandbox.factory import get_sandbox

FORMAT = 1  # of the cached gold; raise it when what counts as use changes
_TIMEOUT = 300.0  # seconds for one traced reference solution

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
    """Gold of questions (at least one) that have a ``reference.py`` in their folder of ``root``.

    With ``trace`` the reference solutions also run, and their calls are noted.
    """

    def __init__(
        self,
        name: str,
        root: Path,
        samples: Sequence[Sample],
        packages: Sequence[str],
        *,
        trace: bool,
    ) -> None:
        self.name = name
        self.packages = packages
        self.environment = samples[0].environment
        self._prompts = {
            sample.question.id: sample.question.prompt for sample in samples
        }
        self._folders = [root / name for name in self._prompts]
        self._trace = trace

    def prompts(self) -> Mapping[str, str]:
        """Question -> its whole text."""
        return self._prompts

    def gold(self) -> Mapping[str, Mapping[str, str]]:
        """Question -> what its reference solution uses, public names only."""
        sources = read_sources(
            self.packages, environments.site_packages(self.environment)
        )
        recipe = [FORMAT, self._trace, TRACER, sources_digest(sources)]
        file_of = {folder: _gold_file(folder, recipe) for folder in self._folders}
        missing = [folder for folder, path in file_of.items() if not path.is_file()]
        if missing:
            usage = CodeResolver(sources)
            traced = {}
            if self._trace:
                with ThreadPoolExecutor(
                    1
                ) as pool:  # the caller may be inside of an event loop
                    traced = pool.submit(asyncio.run, self._traced(missing)).result()
            for folder in missing:
                used = usage.kinds_of(traced.get(folder.name, ()))
                names = public_symbols({**usage.symbols(_reference(folder)), **used})
                file_of[folder].parent.mkdir(parents=True, exist_ok=True)
                write_json(file_of[folder], names)
        symbols_of = {
            f.name: json.loads(path.read_text("utf-8")) for f, path in file_of.items()
        }
        return {name: names for name, names in symbols_of.items() if names}

    async def _traced(self, folders: Sequence[Path]) -> dict[str, list[str]]:
        config = SandboxConfig(env=self.environment, workers=2, timeout=_TIMEOUT)
        async with get_sandbox(config) as sandbox:
            return await trace(sandbox, folders)


async def trace(sandbox: Sandbox, folders: Sequence[Path]) -> dict[str, list[str]]:
    """Question -> dotted names of the functions that its reference solution calls itself."""

    async def traced_calls(folder: Path) -> list[str]:
        mounts = [
            Mount(Path(host), inside) for inside, host in data_files(folder).items()
        ]
        execution = await sandbox.run(
            _reference(folder) + TRACER,
            "_traced_calls",
            timeout=_TIMEOUT,
            mounts=mounts,
        )
        if execution.outcome is not Outcome.OK:
            raise SandboxError(
                f"the reference solution of {folder.name} did not run ({execution.outcome}): "
                f"{execution.error}"
            )
        progress.advance()
        return [str(name) for name in execution.result]

    with meter("Tracing reference solutions", len(folders), show=True) as progress:
        tasks = [asyncio.create_task(traced_calls(folder)) for folder in folders]
        try:
            calls = await asyncio.gather(
                *tasks
            )  # as many at a time as the sandbox has workers
        finally:
            for task in tasks:  # nothing is left to run in a sandbox that is closed
                task.cancel()
    return {folder.name: names for folder, names in zip(folders, calls, strict=True)}


def public_symbols(names: Mapping[str, str]) -> dict[str, str]:
    """Without private names, sorted."""
    return {
        n: names[n]
        for n in sorted(names)
        if not any(p.startswith("_") for p in n.split("."))
    }


def _gold_file(folder: Path, recipe: Sequence[object]) -> Path:
    """Where the gold of a question is kept; another reference or library is another file."""
    key = json.dumps([*recipe, _reference(folder)])
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return environments.cache_folder() / "gold" / f"{folder.name}-{digest}.json"


def _reference(folder: Path) -> str:
    return (folder / "reference.py").read_text(encoding="utf-8")
