"""Builds an unseen library, proves it, and keeps it: one that fails a gate is never handed out."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from experiments.benchmarks.question_format import QUESTIONS
from experiments.benchmarks.unseen import gates, text_gates
from experiments.benchmarks.unseen.build import ENVIRONMENT, UnseenLibrary, build, load
from experiments.benchmarks.unseen.inspection import inspect
from experiments.benchmarks.unseen.source import UnseenError, foreign_vocabulary, read_library
from indexes.corpus import building
from sandbox import environments
from sandbox.terminal import printable

#: Add-ons of pymatgen whose questions can be asked under other names.
RENAMED = ("pymatgen.analysis.defects", "pymatgen.analysis.diffusion", "pymatgen.analysis.alloys")
REPORT = "report.json"
_Result = TypeVar("_Result")


def ready(
    packages: Sequence[str] = RENAMED,
    *,
    seed: int,
    questions: Path = QUESTIONS,
    backend: str = "auto",
    say: Callable[[str], None] = lambda _: None,
) -> UnseenLibrary:
    """The proven library of these packages and this seed, built into the cache if need be.

    Raises
    ------
    UnseenError
        When it cannot be built, or fails a gate.
    SandboxError
        When no sandbox works here.
    """
    name = "-".join([*(package.replace(".", "_") for package in packages), str(seed)])
    folder = environments.cache_folder() / "unseen" / f"{name}-{_digest(packages, questions)}"
    if (folder / "private" / REPORT).is_file():
        return load(folder)
    with building(folder):  # a second process waits, then finds it done
        if (folder / "private" / REPORT).is_file():
            return load(folder)
        return make(packages, seed=seed, out=folder, questions=questions, backend=backend, say=say)


def make(
    packages: Sequence[str],
    *,
    seed: int,
    out: Path,
    questions: Path | None = QUESTIONS,
    backend: str = "auto",
    proper: Sequence[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> UnseenLibrary:
    """Build an unseen library and put it through all gates; see :func:`build` for the arguments.

    Raises
    ------
    UnseenError
        When it cannot be built, or fails a gate; lists what was found.
    SandboxError
        When no sandbox works here.
    """
    say(f"environment {ENVIRONMENT}")
    environments.build(ENVIRONMENT, say=say)
    site = environments.site_packages(ENVIRONMENT)
    libraries = [read_library(package, site) for package in packages]
    say("inspecting the installed library")
    modules = [name for each in libraries for name in each.modules]
    members, failed = _wait(inspect(modules, packages, environment=ENVIRONMENT, backend=backend))
    for module, reason in failed.items():
        say(f"{module} cannot be imported ({printable(reason)}); it is rewritten anyway")
    library = build(
        packages, seed=seed, out=out, site=site, overridden=members, questions=questions,
        proper=proper, say=say,
    )  # fmt: skip
    say("looking for old names")
    words = foreign_vocabulary(libraries).words
    findings = [*gates.leak_scan(library, words), *gates.question_scan(library, words)]
    findings += [*text_gates.text_scan(library), *text_gates.prompt_scan(library)]
    say("importing every module")
    findings += _wait(gates.check_imports(library, failed, backend))
    say("running the translated references")
    reports = _wait(gates.check_references(library, backend))
    findings += [f"{r.question_id}: {finding}" for r in reports for finding in r.findings]
    if findings:
        shown = "\n  ".join(findings[:20])
        more = f"\n  and {len(findings) - 20} more" if len(findings) > 20 else ""
        raise UnseenError(f"{out}: the renamed library failed its checks:\n  {shown}{more}")
    names = library.names
    report = {
        "questions": len(reports),
        "properties": sum(r.properties for r in reports),
        "renamed": len(names.identifiers),
        "keys": len(names.keys),
        "kept": list(names.kept),
    }
    (library.private / REPORT).write_text(json.dumps(report, indent=1) + "\n")
    return library


def report_of(library: UnseenLibrary) -> dict[str, Any]:
    """What the gates counted."""
    content: dict[str, Any] = json.loads((library.private / REPORT).read_text())
    return content


def _wait(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Run to the end, also when the caller is inside of an event loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def _digest(packages: Sequence[str], questions: Path) -> str:
    """Key of everything that decides the library: environment, questions and this program."""
    digest = hashlib.sha256(environments.lock_file(ENVIRONMENT).read_bytes())
    files = [*Path(__file__).parent.glob("*.py"), *questions.glob("*/*.*")]
    for path in sorted(files):
        if path.suffix in {".py", ".yaml", ".json"}:
            digest.update(path.name.encode() + path.read_bytes())
    digest.update(",".join(packages).encode())
    return digest.hexdigest()[:12]
