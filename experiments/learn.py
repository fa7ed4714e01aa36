"""``matsmith learn PATH_OR_DISTRIBUTION``: a library of your own, in one command.

An environment that holds it, a document for every symbol, an index, and questions from its unit
tests where it has any. From then on ``matsmith ask --library NAME``, ``serve``, ``mcp`` and
``benchmark=folder benchmark.library=NAME`` know it.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import BaseModel, Field
from rich.console import Console

from docgen.check import ExampleChecker, check_texts
from docgen.library import read_library
from docgen.programs import test_files
from docgen.skill import doctests, drift, write_skill
from docgen.sources import owners_of
from docgen.symbols import Library
from docgen.texts import WrittenText
from experiments.benchmarks.folder.from_tests.command import TestOptions
from experiments.benchmarks.folder.from_tests.command import build as build_questions
from experiments.benchmarks.question_format import QuestionError
from foundation.command import Command, Word
from foundation.errors import UsageError
from foundation.terminal import printable
from retrieval.evaluate import RetrieverChoice
from retrieval.evaluate import build as build_retriever
from retrieval.retriever import CorpusRetriever
from sandbox import environments, libraries, own, releases, stoppable
from sandbox.base import Outcome, SandboxConfig, SandboxError
from sandbox.factory import get_sandbox
from sandbox.libraries import Learnt
from sandbox.projects import is_project, read_project, wheel_metadata

_DISTRIBUTION = r"([A-Za-z0-9][\w.-]*)(\[[\w,.-]+\])?"
_RELEASES = r"[=<>!~]=? ?\w[\w.!+*-]*"
_REQUIREMENT = re.compile(rf"{_DISTRIBUTION}( ?{_RELEASES}( ?, ?{_RELEASES})*)?")
_TESTS = ("tests", "test")
_NO_LIBRARY = frozenset({"test", "tests", "docs", "examples", "setup", "conftest"})
_SHOWN = 5
_REASON = 300  # characters
IMPORT_SECONDS = 60.0  # of processor time


class LearnOptions(BaseModel, extra="forbid", frozen=True):
    """Arguments of ``matsmith learn``."""

    library: Annotated[str, Word()] = Field(
        description="folder of a project, or a distribution (ase, ase==3.23.0)"
    )
    version: str | None = Field(
        None,
        description="insist on this release, as ase==3.23.0 does; none: the newest",
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


async def learn(
    options: LearnOptions, say: Callable[[str], None]
) -> tuple[Learnt, Library]:
    """Learn a library; what was learnt under its name before is replaced at the very end.

    Whatever fails before leaves that as it was. The symbols come with it, for a skill.
    """
    options = _with_version(options)
    project, distribution = _what(options.library)
    with tempfile.TemporaryDirectory() as temporary:
        wheel = None
        if project is not None:
            wheel = await stoppable.in_thread(
                own.build_wheel,
                project,
                Path(temporary),
                on_host=options.build == "host",
                say=say,
            )
            distribution, _ = wheel_metadata(wheel)
        with libraries.staged(options.name or distribution) as folder:
            source = LibrarySource(options.library, project, wheel, distribution)
            return await _learn_into(folder, options, source, say)


def _with_version(options: LearnOptions) -> LearnOptions:
    """The options with ``version`` as part of the requirement."""
    if options.version is None:
        return options
    requirement = f"{options.library}=={options.version}"
    named = re.fullmatch(_DISTRIBUTION, options.library) is not None
    if not named or _REQUIREMENT.fullmatch(requirement) is None:
        raise UsageError(
            f"version={options.version}: {options.library} is not the bare name of a"
            " distribution (a folder has the version that its build gives it)"
        )
    return options.model_copy(update={"library": requirement, "version": None})


@dataclass(frozen=True)
class LibrarySource:
    """Where a library comes from: a project that was built, or an index."""

    given: str
    project: Path | None
    wheel: Path | None
    distribution: str


async def _learn_into(
    folder: Path,
    options: LearnOptions,
    source: LibrarySource,
    say: Callable[[str], None],
) -> tuple[Learnt, Library]:
    """Environment, documents, index and questions of a library, in a folder of its own."""
    project, distribution = source.project, source.distribution
    await _make_environment(folder / "env", options, source, say)
    env = str(folder / "env")
    await stoppable.in_thread(environments.build, env, say=say)
    site = environments.site_packages(env)
    packages = import_names(distribution, site)
    import_error = await import_failure(packages, env)
    if import_error:
        say(f"{distribution} cannot be imported: {import_error}")
    symbols = read_library(packages, site).public()
    if not symbols.symbols:
        raise UsageError(_nothing_public(distribution, symbols))
    retriever = await build_retriever("llm_doc", packages, env, RetrieverChoice())
    assert isinstance(retriever, CorpusRetriever)
    tests = _tests(options.tests, project)
    questions = 0
    if tests is not None and not import_error:
        questions = await _make_questions(tests, packages[0], folder, say)
    library = Learnt(
        name=options.name or distribution,
        source=options.library if project is None else _absolute(project),
        base=options.base,
        build=options.build,
        tests=str(tests) if options.tests else None,
        packages=packages,
        versions=symbols.versions,
        digest="" if project is None else libraries.digest_of(project),
        symbols=len(retriever.corpus.entries),
        questions=questions,
        unread=(
            *(f"{path}: {why}" for path, why in symbols.unreadable.items()),
            *_compiled(packages, site),
        ),
        import_error=import_error,
    )
    library.save(folder)
    return library, symbols


def _nothing_public(distribution: str, library: Library) -> str:
    unread = [f"{path}: {why}" for path, why in library.unreadable.items()]
    reason = f" ({unread[0]})" if unread else ""
    return printable(f"{distribution}: nothing public that can be read{reason}")


def _absolute(project: Path) -> str:
    return str(project.resolve())


async def _make_environment(
    out: Path, options: LearnOptions, source: LibrarySource, say: Callable[[str], None]
) -> None:
    """Write the environment that holds the library."""
    if source.wheel is None:
        requirement = source.given
        say(f"choosing versions for {requirement}")
        try:
            await stoppable.in_thread(own.require, requirement, out, base=options.base)
        except environments.UnknownPackageError as error:
            raise UsageError(_unknown(requirement, source.distribution)) from error
        if re.fullmatch(_DISTRIBUTION, requirement):
            notice = await stoppable.in_thread(
                releases.older_than_newest, out, source.distribution
            )
            if notice is not None:
                say(notice)
    else:
        await stoppable.in_thread(
            own.install, source.wheel, out, base=options.base, say=say
        )


def _unknown(requirement: str, distribution: str) -> str:
    """What to say of a distribution that the index does not have."""
    known = {one.name for one in libraries.all_learnt()}
    if distribution in known:
        return (
            f"{requirement}: the index has no such distribution; {distribution} is learnt"
            f" already, from a folder: `matsmith library refresh {distribution}`"
        )
    return (
        f"{requirement}: the index has no such distribution; give its name there, or the"
        " folder of a project"
    )


async def import_failure(packages: Sequence[str], env: str) -> str:
    """Why packages cannot be imported in the sandbox, in one line; empty where they can."""
    code = "\n".join(f"import {package}" for package in packages)
    config = SandboxConfig(env=env, workers=1, options={"warmup": False})
    try:
        async with get_sandbox(config) as sandbox:
            execution = await sandbox.run(code, "", timeout=IMPORT_SECONDS)
    except SandboxError as error:
        return " ".join(str(error).split())[:_REASON]
    if execution.outcome is Outcome.OK:
        return ""
    if execution.outcome is Outcome.TIMEOUT:
        return f"the import did not end within {IMPORT_SECONDS:g} s of processor time"
    lines = (execution.error or execution.stderr or str(execution.outcome)).split("\n")
    return next(line for line in reversed(lines) if line.strip())[:_REASON]


async def _make_questions(
    tests: Path, package: str, folder: Path, say: Callable[[str], None]
) -> int:
    """Questions from unit tests, below ``folder``; how many there are."""
    options = TestOptions(
        tests=tests, package=package, out=folder / "tasks", env=str(folder / "env")
    )
    try:
        console = Console(stderr=True, quiet=True)
        built, rejected = await build_questions(options, console)
    except (QuestionError, UsageError) as error:
        say(f"no questions from {tests}: {error}")
        return 0
    left_out = (
        f"; {len(rejected)} tests or assertions give no question" if rejected else ""
    )
    say(f"{len(built)} questions from {tests}{left_out}")
    return len(built)


def _what(given: str) -> tuple[Path | None, str]:
    """The project's folder, if it is one, and the name of the distribution as far as known."""
    path = Path(given).expanduser()
    if is_project(path):
        name = read_project(path).name
        if name is not None:
            libraries.folder_of(name)  # refused now, and not after the build
        return path, name or ""
    if path.is_symlink() and not path.exists():
        raise UsageError(f"{given}: a link to {path.readlink()}, which does not exist")
    if re.match(r"(git\+|https?://|ssh://)", given):
        raise UsageError(
            f"{given}: clone it first, and give its folder (`matsmith learn FOLDER`)"
        )
    if path.exists():
        raise UsageError(
            f"{given}: no pyproject.toml, setup.py or setup.cfg there; give a project's "
            "folder or a distribution's name"
        )
    if "/" in given:
        raise UsageError(f"{given}: no such folder")
    requirement = _REQUIREMENT.fullmatch(given.strip())
    if requirement is None:
        raise UsageError(
            f"{given}: neither a folder nor a distribution such as ase==3.23.0"
        )
    return None, requirement[1]


def import_names(distribution: str, folder: Path) -> tuple[str, ...]:
    """What is imported of an installed distribution, tests and scripts aside.

    Of an add-on to somebody else's namespace (``pymatgen-analysis-diffusion``) only the packages
    that it installs (``pymatgen.analysis.diffusion``).
    """
    wanted = environments.normal_name(distribution)
    closest = wanted.replace("-", "_")
    owners = {
        PurePosixPath(path).with_suffix("").parts: environments.normal_name(owner)
        for path, (owner, _) in owners_of(folder).items()
    }
    tops = {
        parts[0]
        for parts, owner in owners.items()
        if owner == wanted and parts[0].isidentifier() and parts[0] not in _NO_LIBRARY
    }
    named = [
        name
        for top in tops
        for name in (
            [top] if top.lower() == closest else _own_below(top, wanted, owners)
        )
    ]
    if not named:
        raise UsageError(
            f"{distribution}: has no Python source to read; is all of it compiled?"
        )
    return tuple(
        sorted(named, key=lambda n: (n.lower() != closest, n.startswith("_"), n))
    )


def _own_below(
    package: str, wanted: str, owners: Mapping[tuple[str, ...], str]
) -> list[str]:
    """The largest packages at or below one that hold files of nobody else, as dotted names."""
    depth = package.count(".") + 1
    inside = {
        parts: owner
        for parts, owner in owners.items()
        if ".".join(parts[:depth]) == package
    }
    if set(inside.values()) == {wanted}:
        return [package]
    children = {
        ".".join(parts[: depth + 1])
        for parts, owner in inside.items()
        if owner == wanted and len(parts) > depth and parts[depth].isidentifier()
    }
    return [
        name
        for child in sorted(children)
        if not child.endswith(".__init__")
        for name in _own_below(child, wanted, inside)
    ]


def _compiled(packages: Sequence[str], folder: Path) -> list[str]:
    """What of packages has no source."""
    places = [folder.joinpath(*name.split(".")) for name in packages]
    found = sorted(
        path
        for place in places
        for path in place.rglob("*.so")
        if not path.with_name(f"{path.name.partition('.')[0]}.pyi").is_file()
    )
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


async def learn_and_tell(options: LearnOptions) -> int:
    """The command: learn a library, or compare a skill with it, and say what became of it."""
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
        WrittenText(name, "", "", "", "", f"## Example\n```python\n{code}```\n")
        for name, code in codes.items()
    ]
    if not texts:
        return {}
    async with get_sandbox(SandboxConfig(env=env)) as sandbox:
        checked = await check_texts(texts, ExampleChecker(sandbox))
    return {name: codes[name] for name, one in checked.items() if one.verdict == "runs"}


def _drift(options: LearnOptions) -> int:
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
    if found.import_error:
        print(printable(f"  cannot be imported: {found.import_error}"))
    for line in found.unread[:_SHOWN]:
        print(printable(f"  cannot be read: {line}"))
    if len(found.unread) > _SHOWN:
        print(f"  and {len(found.unread) - _SHOWN} more files")
    print(f'  ask:      matsmith ask --library {found.name} "..."')
    if found.questions:
        print(
            f"  measure:  matsmith run benchmark=folder benchmark.library={found.name}"
            f" system=oracle  # {found.questions} questions; then a model"
        )


def _say(line: str) -> None:
    sys.stderr.write(f"{printable(line)}\n")


main = Command("matsmith learn", str(__doc__), LearnOptions, learn_and_tell)
