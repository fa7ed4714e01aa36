"""The source ``live``: what the installed libraries themselves say when they are imported.

One document per symbol: signature, members (inherited ones and those made at run time, which no
syntax tree shows) and the docstring as it is after import. The importing is done in the sandbox
by ``indexes.introspection``, which is mounted there; what comes back is checked like any data of
a stranger, every field of it capped.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from docgen.docstrings import first_sentence
from docgen.replies import read_sections
from docgen.sources import (
    SourceFile,
    distribution_versions,
    is_test,
    read_sources,
    sources_digest,
)
from docgen.symbols import (
    FIRST,
    Kind,
    Member,
    MemberKind,
    Parameter,
    ParameterKind,
    Signature,
    Symbol,
    digest,
)
from foundation.progress import Progressing, meter
from indexes import RetrievalError
from indexes.corpus import Corpus, Made, Manifest, stored_together
from indexes.pages.names import NameIndex
from sandbox.base import Mount, Outcome, Sandbox
from sandbox.environments import STAMP

_log = logging.getLogger(__name__)
PROBE = Path(__file__).parent / "introspection"
PAGE = 16  # modules that one run imports
TIMEOUT = 300.0  # seconds for one run
_COMPILED = (".so", ".pyd")
_LIBRARY = "library"  # where a folder that is not an environment is shown inside

OpenSandbox = Callable[[], AbstractAsyncContextManager[Sandbox]]
"""Starts a sandbox whose environment holds the packages; called only when one is needed."""


_Name = Annotated[str, Field(max_length=500)]
_Line = Annotated[str, Field(max_length=6_000)]


class _LiveModel(BaseModel, extra="forbid", frozen=True): ...


class LiveParameter(NamedTuple):
    """A parameter as `inspect` knows it; ``default`` is ``None`` where a call must give it."""

    name: _Name
    kind: ParameterKind
    type: _Line
    default: _Line | None


class LiveSignature(NamedTuple):
    """How something is called; no parameters where that is unknown, or it is not called."""

    parameters: Annotated[tuple[LiveParameter, ...], Field(max_length=1000)] | None = (
        None
    )
    returns: _Line = ""


class LiveMember(_LiveModel):
    """A row of a member list."""

    name: _Name
    kind: MemberKind
    signature: LiveSignature
    text: _Line
    qualname: _Name
    origin: _Name


class LiveSymbol(_LiveModel):
    """A symbol; ``elsewhere`` lists what a class inherits from other libraries."""

    qualname: _Name
    kind: Kind
    signature: LiveSignature | None = None
    docstring: Annotated[str, Field(max_length=50_000)] = ""
    lines: tuple[int, int] = (0, 0)
    modifiers: tuple[_Name, ...] = ()
    bases: tuple[_Name, ...] = ()
    types: tuple[_Name, ...] = ()
    returns: _Name = ""
    members: tuple[LiveMember, ...] = ()
    elsewhere: Mapping[_Name, tuple[_Name, ...]] = {}


class LivePage(_LiveModel):
    """What one module offers, or why it cannot be imported.

    Attributes
    ----------
    digest
        SHA-256 of the file that was imported.
    exports
        Name -> qualified name of what is defined elsewhere.
    origins
        Class of another library -> its distribution, version and file.
    problems
        Objects that raise when they are looked at.
    """

    module: _Name
    error: Annotated[str, Field(max_length=2_000)] | None
    digest: _Name = ""
    symbols: tuple[LiveSymbol, ...] = ()
    exports: Mapping[_Name, _Name] = {}
    origins: Mapping[_Name, tuple[_Name, _Name, _Name]] = {}
    problems: tuple[_Line, ...] = ()


_PAGES = TypeAdapter(tuple[LivePage, ...])


@dataclass(frozen=True)
class _Module:
    """A module to look at: its file, and the distribution that it comes from."""

    name: str
    path: str
    package: str
    version: str | None
    digest: str


async def live_corpus(
    packages: Sequence[str],
    folder: Path,
    *,
    open_sandbox: OpenSandbox,
    cache: Path,
    show_progress: bool,
) -> Corpus:
    """What ``packages`` offer at run time; built when not cached.

    Parameters
    ----------
    folder
        The ``site-packages`` of the sandbox's environment; or any other folder that holds the
        packages, which is then shown to the sandbox. That the sandbox imports something else
        than it holds is a `RetrievalError`.
    """
    sources = read_sources(packages, folder)
    modules = list(_modules(packages, folder, sources))
    wanted = Manifest(
        source="live",
        packages=tuple(packages),
        versions=distribution_versions(sources),
        sources_digest=sources_digest(sources),
        writer=None,
        settings={"compiled": digest(*(m.digest for m in modules))},
    )

    async def make() -> Made:
        installed = len(folder.parents) > 2 and (folder.parents[2] / STAMP).is_file()
        mounts = [] if installed else _mounts(packages, folder)
        with meter(
            "Looking at the libraries", len(modules), show=show_progress
        ) as progress:
            async with open_sandbox() as sandbox:
                pages = await _read(sandbox, modules, packages, mounts, progress)
        return _symbols(pages, {m.name: m for m in modules})

    return await stored_together(cache, wanted, make)


def _modules(
    packages: Sequence[str], folder: Path, sources: Sequence[SourceFile]
) -> Sequence[_Module]:
    """Modules with Python source, and compiled ones, which no syntax tree shows."""
    found = {
        s.module: _Module(
            s.module, s.path, s.package, s.version, _file_digest(folder / s.path)
        )
        for s in sources
        if s.module.rpartition(".")[2] != "__main__"
    }
    owner = {s.module.rpartition(".")[0]: s for s in sources}
    for package in packages:
        for path in sorted(folder.joinpath(*package.split(".")).rglob("*")):
            relative = path.relative_to(folder)
            if path.suffix not in _COMPILED or is_test(relative):
                continue
            parent = ".".join(relative.parts[:-1])
            name = f"{parent}.{path.name.partition('.')[0]}"
            beside = owner.get(parent, sources[0])
            origin = (beside.package, beside.version)
            found.setdefault(
                name, _Module(name, relative.as_posix(), *origin, _file_digest(path))
            )
    return [found[name] for name in sorted(found)]


def _mounts(packages: Sequence[str], folder: Path) -> list[Mount]:
    tops = sorted({package.partition(".")[0] for package in packages})
    paths = [
        folder / top if (folder / top).is_dir() else folder / f"{top}.py"
        for top in tops
    ]
    return [Mount(path, f"{_LIBRARY}/{path.name}") for path in paths]


async def _read(
    sandbox: Sandbox,
    modules: Sequence[_Module],
    packages: Sequence[str],
    mounts: Sequence[Mount],
    progress: Progressing,
) -> list[LivePage]:
    async def one(part: Sequence[_Module]) -> Sequence[LivePage]:
        found = await _pages(sandbox, part, packages, mounts)
        progress.advance(len(part))
        return found

    parts = [modules[i : i + PAGE] for i in range(0, len(modules), PAGE)]
    done = await asyncio.gather(
        *map(one, parts)
    )  # as many at a time as there are workers
    return [page for found in done for page in found]


async def _pages(
    sandbox: Sandbox,
    modules: Sequence[_Module],
    packages: Sequence[str],
    mounts: Sequence[Mount],
) -> Sequence[LivePage]:
    """Look at some modules; a run that does not end well is divided until the culprit is alone."""
    names = [module.name for module in modules]
    path = _LIBRARY if mounts else None
    code = (
        "import sys\nsys.path.insert(0, '.')\nfrom introspection.reader import pages\n"
        f"def look():\n    return pages({names!r}, {list(packages)!r}, {path!r})\n"
    )
    shown = [
        Mount(path, f"introspection/{path.name}") for path in sorted(PROBE.glob("*.py"))
    ]
    execution = await sandbox.run(
        code, "look", timeout=TIMEOUT, mounts=[*shown, *mounts]
    )
    if execution.outcome is Outcome.OK:
        return _checked(execution.result, modules)
    if len(modules) == 1:
        reason = ((execution.error or "").strip().splitlines() or [""])[-1]
        error = f"inspecting it ends with {execution.outcome} {reason}".strip()[:500]
        return [LivePage(module=names[0], error=error)]
    middle = len(modules) // 2
    first = await _pages(sandbox, modules[:middle], packages, mounts)
    return [*first, *await _pages(sandbox, modules[middle:], packages, mounts)]


def _checked(result: object, modules: Sequence[_Module]) -> Sequence[LivePage]:
    """The pages of exactly these modules, imported from exactly these files."""
    try:
        pages = _PAGES.validate_python(result)
    except ValidationError as error:
        mistake = error.errors()[0]
        where = ".".join(str(part) for part in mistake["loc"])
        raise RetrievalError(
            f"introspection of {modules[0].name} to {modules[-1].name} sent something else "
            f"({where}: {mistake['msg']})"
        ) from None
    if [page.module for page in pages] != [module.name for module in modules]:
        raise RetrievalError(
            f"introspection of {modules[0].name} sent pages of other modules"
        )
    for page, module in zip(pages, modules, strict=True):
        if page.error is None and page.digest != module.digest:
            raise RetrievalError(
                f"the sandbox imports another {module.name} than {module.path}: give the folder "
                "of the environment that the sandbox uses"
            )
    return pages


def _symbols(
    pages: Sequence[LivePage], modules: Mapping[str, _Module]
) -> tuple[list[Symbol], dict[str, str]]:
    """Every public symbol with its document, and the other paths of each."""
    found: dict[str, tuple[LiveSymbol, _Module]] = {}
    for page in sorted(pages, key=lambda p: p.module):
        for symbol in page.symbols:
            if "._" not in f".{symbol.qualname}":  # public
                home = _home(symbol, page, modules[page.module])
                found.setdefault(symbol.qualname, (symbol, home))
    aliases = _aliases(pages, {name: symbol for name, (symbol, _) in found.items()})
    paths = _import_paths(aliases, modules)
    classes = NameIndex(
        (name for name, (symbol, _) in found.items() if symbol.kind == "class"), {}
    )

    def resolve(names: Sequence[str]) -> tuple[str, ...]:
        """Classes among names that are qualified, or short and unambiguous."""
        meant = (
            classes.exact(name) or classes.find(name.rpartition(".")[2])
            for name in names
        )
        return tuple(dict.fromkeys(name for name in meant if name is not None))

    symbols = []
    for name in sorted(found):
        symbol, home = found[name]
        symbols.append(_symbol(symbol, home, paths, resolve, _text(symbol)))
    failed = [page for page in pages if page.error is not None]
    for page in failed:
        module = LiveSymbol(qualname=page.module, kind="module")
        said = f"This module cannot be imported in this environment: {page.error}"
        symbols.append(_symbol(module, modules[page.module], {}, resolve, said))
    problems = [problem for page in pages for problem in page.problems]
    if problems:
        _log.warning(
            "%d objects raise when inspected: %s, ...", len(problems), problems[0]
        )
    if failed:
        _log.warning(
            "%d of %d modules cannot be imported in this environment, so their symbols have "
            "no documents (%s, ...): looking up the module says why",
            len(failed),
            len(pages),
            failed[0].module,
        )
    return symbols, aliases


def _symbol(
    found: LiveSymbol,
    home: _Module,
    paths: Mapping[str, str],
    resolve: Callable[[Sequence[str]], tuple[str, ...]],
    text: str,
) -> Symbol:
    owner, _, last = found.qualname.rpartition(".")
    import_path = paths.get(found.qualname, found.qualname)
    if found.kind in {"method", "property"}:
        import_path = f"{paths.get(owner, owner)}.{last}"
    returns = resolve([found.returns]) if found.returns else ()
    return Symbol(
        qualname=found.qualname,
        kind=found.kind,
        signature=_signature(found.signature) if found.signature else None,
        docstring="",
        source="",
        package=home.package,
        version=home.version,
        path=home.path,
        first_line=found.lines[0],
        last_line=found.lines[1],
        modifiers=found.modifiers,
        bases=found.bases,
        members=tuple(map(_member, found.members)),
        types=tuple(t for t in resolve(found.types) if t != owner),
        returns=returns[0] if returns else "",
        import_path=import_path,
        sections=read_sections(text),
        corpus="live",
    )


def _member(row: LiveMember) -> Member:
    return Member(
        row.name,
        row.kind,
        _signature(row.signature),
        first_sentence(row.text),
        row.qualname,
        row.origin,
    )


def _signature(given: LiveSignature) -> Signature:
    if given.parameters is None:
        return Signature(None, given.returns)
    return Signature(tuple(Parameter(*p) for p in given.parameters), given.returns)


def _text(symbol: LiveSymbol) -> str:
    """The docstring, and what a class inherits from classes of other libraries."""
    text = f"## {FIRST}\n{symbol.docstring.strip() or '(no docstring)'}\n"
    if symbol.elsewhere:
        text += "\n## Inherited from other libraries\n"
    return text + "\n".join(
        f"- from `{owner}`: {', '.join(names)}"
        for owner, names in symbol.elsewhere.items()
    )


def _aliases(
    pages: Sequence[LivePage], found: Mapping[str, LiveSymbol]
) -> dict[str, str]:
    """Every other path under which a symbol can be reached, inherited members included."""
    table: dict[str, str] = {}
    for page in pages:
        for attribute, qualname in page.exports.items():
            if qualname in found:
                table.setdefault(f"{page.module}.{attribute}", qualname)
    classes = [(name, name) for name, symbol in found.items() if symbol.kind == "class"]
    classes += [
        (path, name) for path, name in table.items() if found[name].kind == "class"
    ]
    for path, name in classes:
        symbol = found[name]
        for member in symbol.members:
            table.setdefault(f"{path}.{member.name}", member.qualname)
        for owner, names in symbol.elsewhere.items():
            for member_name in names:
                table.setdefault(f"{path}.{member_name}", f"{owner}.{member_name}")
    kept = {a: q for a, q in table.items() if a != q and a not in found and q in found}
    return dict(sorted(kept.items()))


def _import_paths(
    aliases: Mapping[str, str], modules: Mapping[str, _Module]
) -> dict[str, str]:
    """Qualified name -> shortest path through an enclosing package."""
    packages = {
        name for name, module in modules.items() if module.path.endswith("__init__.py")
    }
    table: dict[str, str] = {}
    for path, qualname in aliases.items():
        parent, _, name = path.rpartition(".")
        inside = parent in packages and qualname.startswith(f"{parent}.")
        if (
            inside
            and not name.startswith("_")
            and len(path) < len(table.get(qualname, qualname))
        ):
            table[qualname] = path
    return table


def _home(symbol: LiveSymbol, page: LivePage, module: _Module) -> _Module:
    """Where a symbol comes from: the module of its page, or that of a class it inherits from."""
    for name, (package, version, path) in page.origins.items():
        if symbol.qualname == name or symbol.qualname.startswith(f"{name}."):
            return _Module(name, path, package, version or None, "")
    return module


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
