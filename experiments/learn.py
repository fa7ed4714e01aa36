"""``matsmith learn PATH_OR_DISTRIBUTION``: a library of your own, in one command.

An environment that holds it, a document for every symbol, an index, and questions from its unit
tests where it has any. From then on ``matsmith ask --library NAME``, ``serve``, ``mcp`` and
``benchmark=folder benchmark.library=NAME`` know it.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field
from rich.console import Console

from docgen.check import Checker, check_texts
from docgen.library import read_library
from docgen.programs import test_files
from docgen.skill import doctests, drift, write_skill
from docgen.sources import owners_of
from docgen.symbols import Library
from docgen.texts import Text
from experiments.benchmarks.folder.from_tests.command import Options as TestOptions
from experiments.benchmarks.folder.from_tests.command import build as build_questions
from experiments.benchmarks.question_format import QuestionError
from matsmith.core.command import Command, Nothing, Word, run_one_of
from matsmith.core.errors import UsageError
from matsmith.core.terminal import printable
from retrieval.evaluate import Choice
from retrieval.evaluate import build as build_retriever
from retrieval.retriever import CorpusRetriever
from sandbox import environments, libraries, own, stoppable
from sandbox.base import SandboxConfig
from sandbox.factory import get_sandbox
from sandbox.libraries import Learnt

_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)(\[[\w,.-]+\])?([=<>!~]=?[^;@\n\r]*)?")
_TESTS = ("tests", "test")
_NO_LIBRARY = frozenset({"test", "tests", "docs", "examples", "setup", "conftest"})
_SHOWN = 5


class Options(BaseModel, extra="forbid", frozen=True):
    """Arguments of ``matsmith learn``."""

    library: Annotated[str, Word()] = Field(
        description="folder with a pyproject.toml, or a distribution (ase, ase==3.23.0)"
    )
    name: str | None = Field(None, description="what to call it")
    base: str | None = Field(
        None, description="environment whose packages its users also need"
    )
    build: Literal["sandbox", "host"] = Field(
        "sandbox", description="where its build runs"
    )
    tests: str | None = Field(
        None, description="its unit tests; none: tests/ of the folder"
    )
    skill: Path | None = Field(
        None, description="also write a skill for coding agents there"
    )
    check: Path | None = Field(
        None,
        description="only report how the skill in that folder differs from what is installed",
    )


class Named(BaseModel, extra="forbid"):
    """One library that has been learnt."""

    name: Annotated[str, Word()] = Field(
        description="as `matsmith library list` shows it"
    )


async def learn(options: Options, say: Callable[[str], None]) -> tuple[Learnt, Library]:
    """Learn a library; what was learnt under its name before is replaced.

    Its symbols come with it, for a skill.
    """
    project, distribution = _what(options.library)
    name = options.name or distribution
    target = libraries.folder_of(name)
    known = target.exists()
    try:
        if project is None:
            say(f"choosing versions for {options.library}")
            await stoppable.in_thread(
                own.require, options.library, target / "env", base=options.base
            )
        else:
            on_host = options.build == "host"
            await stoppable.in_thread(
                own.make,
                project,
                target / "env",
                base=options.base,
                on_host=on_host,
                say=say,
            )
    except Exception:
        if not known:
            shutil.rmtree(target, ignore_errors=True)
        raise
    env = str(target / "env")
    await stoppable.in_thread(environments.build, env, say=say)
    site = environments.site_packages(env)
    packages = import_names(distribution, site)
    library = read_library(packages, site).public()
    retriever = await build_retriever("llm_doc", packages, env, Choice())
    assert isinstance(retriever, CorpusRetriever)
    tests = _tests(options.tests, project)
    found = Learnt(
        name=name,
        source=options.library if project is None else str(project.resolve()),
        base=options.base,
        build=options.build,
        tests=str(tests) if options.tests else None,
        packages=packages,
        versions=library.versions,
        digest="" if project is None else libraries.digest_of(project),
        symbols=len(retriever.corpus.entries),
        unread=(
            *(f"{path}: {why}" for path, why in library.unreadable.items()),
            *_compiled(packages, site),
        ),
    )
    found.save()
    shutil.rmtree(found.tasks, ignore_errors=True)  # of another version of its tests
    if tests is not None:
        asked = TestOptions(tests=tests, package=packages[0], out=found.tasks, env=env)
        try:
            built, rejected = await build_questions(
                asked, Console(stderr=True, quiet=True)
            )
            made = f"{len(built)} questions from {tests}"
            say(f"{made}; {len(rejected)} tests or assertions make none")
            found = found.model_copy(update={"questions": len(built)})
            found.save()
        except (QuestionError, UsageError) as error:
            say(f"no questions from {tests}: {error}")
    return found, library


def _what(source: str) -> tuple[Path | None, str]:
    """The project's folder, if it is one, and the name of the distribution."""
    path = Path(source).expanduser()
    if (path / "pyproject.toml").is_file():
        return path, own.described(path)[0]
    if path.exists() or "/" in source:
        raise UsageError(
            f"{source}: no pyproject.toml there; give a project's folder or a distribution's name"
        )
    found = _REQUIREMENT.fullmatch(source.strip())
    if found is None:
        raise UsageError(
            f"{source}: neither a folder nor a distribution such as ase==3.23.0"
        )
    return None, found[1]


def import_names(distribution: str, folder: Path) -> tuple[str, ...]:
    """What is imported of an installed distribution, tests and scripts aside."""
    wanted = re.sub(r"[-_.]+", "-", distribution).lower()
    tops = {
        path.partition("/")[0].removesuffix(".py")
        for path, (owner, _) in owners_of(folder).items()
        if re.sub(r"[-_.]+", "-", owner).lower() == wanted
    }
    named = [top for top in tops if top.isidentifier() and top not in _NO_LIBRARY]
    if not named:
        raise UsageError(
            f"{distribution}: has no Python source to read; is all of it compiled?"
        )
    closest = wanted.replace("-", "_")
    return tuple(
        sorted(named, key=lambda n: (n.lower() != closest, n.startswith("_"), n))
    )


def _compiled(packages: Sequence[str], folder: Path) -> list[str]:
    """What of packages has no source."""
    found = sorted(path for name in packages for path in (folder / name).rglob("*.so"))
    names = [str(path.relative_to(folder)) for path in found[:_SHOWN]]
    names += [f"{len(found) - _SHOWN} more"] if found[_SHOWN:] else []
    return [f"compiled modules: {', '.join(names)}"] if found else []


def _tests(folder: str | None, project: Path | None) -> Path | None:
    """Unit tests to make questions of, where there are any."""
    if folder is not None:
        return Path(folder).expanduser().resolve()
    places = [project / name for name in _TESTS] if project is not None else []
    return next(
        (place for place in places if place.is_dir() and test_files(place)), None
    )


async def _learn(options: Options) -> int:
    if options.check is not None:
        return _drift(options)
    start = time.monotonic()
    found, library = await learn(options, _say)
    if options.skill is not None:
        ran = await _examples(library, found.env)
        place = write_skill(library, found.name, found.packages, options.skill, ran)
        _say(f"skill for coding agents, with {len(ran)} examples that ran: {place}")
    _tell(found, time.monotonic() - start)
    return 0


async def _examples(library: Library, env: str) -> dict[str, str]:
    """Examples of docstrings that run as they stand."""
    codes = doctests(library)
    texts = [
        Text(name, "", "", "", "", f"## Example\n```python\n{code}```\n")
        for name, code in codes.items()
    ]
    if not texts:
        return {}
    async with get_sandbox(SandboxConfig(env=env)) as sandbox:
        checked = await check_texts(texts, Checker(sandbox))
    return {name: codes[name] for name, one in checked.items() if one.verdict == "runs"}


def _drift(options: Options) -> int:
    assert options.check is not None
    found = libraries.learnt(options.name or options.library)
    site = environments.site_packages(found.env)
    lines = drift(read_library(found.packages, site).public(), options.check)
    versions = ", ".join(
        f"{name} {version}" for name, version in found.versions.items()
    )
    print(
        "\n".join(lines)
        or f"nothing has changed: {options.check} is what {versions} has"
    )
    return 1 if lines else 0


def _tell(found: Learnt, seconds: float) -> None:
    versions = ", ".join(
        f"{name} {version or ''}".strip() for name, version in found.versions.items()
    )
    print(f"{found.name}: {found.symbols} documents of {versions}, {seconds:.0f} s")
    for line in found.unread[:_SHOWN]:
        print(printable(f"  cannot be read: {line}"))
    if len(found.unread) > _SHOWN:
        print(f"  and {len(found.unread) - _SHOWN} more files")
    print(f'  ask:      matsmith ask --library {found.name} "..."')
    if found.questions:
        print(
            f"  measure:  matsmith run benchmark=folder benchmark.library={found.name}"
        )


def _list(_: Nothing) -> int:
    for one in libraries.all_learnt():
        note = (
            f", changed since: matsmith library refresh {one.name}"
            if one.changed
            else ""
        )
        questions = f", {one.questions} questions" if one.questions else ""
        print(
            printable(
                f"{one.name}: {one.symbols} documents{questions}, {one.source}{note}"
            )
        )
    return 0


async def _refresh(named: Named) -> int:
    one = libraries.learnt(named.name)
    if one.digest and not one.changed:
        print(f"{one.name}: nothing has changed")
        return 0
    settings = one.model_dump(include={"name", "base", "build", "tests"})
    return await _learn(Options.model_validate({"library": one.source, **settings}))


def _forget(named: Named) -> int:
    shutil.rmtree(libraries.learnt(named.name).folder)
    print(f"{named.name}: forgotten; its sources are untouched")
    return 0


def _say(line: str) -> None:
    sys.stderr.write(f"{printable(line)}\n")


main = Command("matsmith learn", str(__doc__), Options, _learn)


def library(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``matsmith library``."""
    program = "matsmith library"
    commands: dict[str, Callable[[Sequence[str]], int]] = {
        "list": Command(f"{program} list", "What has been learnt.", Nothing, _list),
        "refresh": Command(
            f"{program} refresh", "Learn a library again.", Named, _refresh
        ),
        "forget": Command(
            f"{program} forget", "Remove what was learnt.", Named, _forget
        ),
    }
    about = "Libraries that `matsmith learn` has learnt."
    return run_one_of(program, about, commands, arguments or ["list"])
