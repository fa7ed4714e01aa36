"""Makes the unseen library: rewritten source, wheel, sandbox environment, translated questions."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.benchmarks.unseen import wheel
from experiments.benchmarks.unseen.mapping import NameMap, make_map
from experiments.benchmarks.unseen.owners import analyse, count_errors
from experiments.benchmarks.unseen.questions import read_questions, script_texts, translate_question
from experiments.benchmarks.unseen.reorder import reorder
from experiments.benchmarks.unseen.rewrite import rewrite
from experiments.benchmarks.unseen.source import (
    PackageSource,
    UnseenError,
    foreign_vocabulary,
    read_library,
)
from sandbox import environments

ENVIRONMENT = "live"
#: What the rewriting itself changes; part of the key under which a library is cached.
RECIPE = 1
#: Names of people and programs in the texts of packages that are known.
PROPER: Mapping[str, tuple[str, ...]] = {
    "pymatgen.analysis.defects": (
        "Freysoldt", "Freyplnravg", "Kumagai", "Zapol", "Zimmermann", "Hautier", "Geoffroy",
        "Medasani", "Bharat", "Broberg", "Dwaraknath", "Shyam", "Jimmy", "Xuan", "Oba", "eFNV",
        "FNV", "Turiansky", "mturiansky", "NonRad", "sxdefectalign", "pydefect",
    ),
    "pymatgen.analysis.diffusion": (
        "Smidstrup", "Henkelman", "Ziqin", "Kitchaev", "Canepa", "Ceder", "Miara", "Shyue",
        "MAVRL", "MVL",
    ),
}  # fmt: skip
_WARMUP = "warmup"


@dataclass(frozen=True)
class UnseenLibrary:
    """A built unseen library."""

    folder: Path
    packages: tuple[str, ...]

    @property
    def environment(self) -> str:
        """Name of the sandbox environment: a path, as ``env=`` takes it."""
        return str((self.folder / "environment").resolve())

    @property
    def private(self) -> Path:
        """The map and the golds: no agent, sandbox or corpus is ever given this folder."""
        return self.folder / "private"

    @property
    def questions(self) -> Path:
        """The translated questions, laid out like those of ``live``."""
        return self.private / "questions"

    @property
    def names(self) -> NameMap:
        """The map from the old names to the new ones."""
        return NameMap.load(self.private / "mapping.json")

    @property
    def modules(self) -> dict[str, str]:
        """Source of the renamed packages by path."""
        root = self.folder / "source"
        return {
            str(path.relative_to(root)): path.read_text(encoding="utf-8")
            for path in sorted(root.rglob("*.py"))
        }


def load(folder: Path) -> UnseenLibrary:
    """A library that was built before.

    Raises
    ------
    UnseenError
        When there is none.
    """
    try:
        content = json.loads((folder / "library.json").read_text())
        return UnseenLibrary(folder, tuple(content["packages"]))
    except (OSError, ValueError, KeyError) as error:
        command = "python -m experiments.benchmarks.unseen"
        raise UnseenError(
            f"{folder}: no unseen library here; {command} makes one ({error})"
        ) from error


def build(
    packages: Sequence[str],
    *,
    seed: int,
    out: Path,
    site: Path,
    overridden: Collection[str],
    questions: Path | None,
    proper: Sequence[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> UnseenLibrary:
    """Rename packages and everything that goes with them.

    Parameters
    ----------
    packages
        Import names.
    seed
        Another seed is another library.
    out
        Folder to write; must not exist, or hold an earlier unseen library, which is replaced.
    site
        The ``site-packages`` that holds the packages and all that they import.
    overridden
        Members that their classes override of classes of others.
    questions
        Root of the questions to translate; ``None`` for none.
    proper
        More names of people and methods to replace in texts.
    say
        Called with each line of progress.

    Raises
    ------
    UnseenError
        When a package cannot be read or renamed, or ``out`` holds something else.
    """
    if out.exists() and any(out.iterdir()) and not (out / "library.json").exists():
        raise UnseenError(f"out={out}: not empty, and not an unseen library; name another folder")
    libraries = [read_library(package, site) for package in packages]
    say("reading the words of everything they import")
    vocabulary = foreign_vocabulary(libraries)
    known = [word for package in packages for word in PROPER.get(package, ())]
    names = make_map(
        libraries, vocabulary, seed=seed, overridden=overridden, proper=[*known, *proper]
    )
    sources, _ = read_questions(questions, packages) if questions else ([], [])
    warmup = environments.warmup(ENVIRONMENT)
    modules = {name: m.text for library in libraries for name, m in library.modules.items()}
    say("inferring the types of all expressions")
    owners = analyse({**modules, **script_texts(sources), _WARMUP: warmup}, packages)
    say("rewriting")
    unfinished = out.with_name(f"{out.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    renamed = {
        names.module(name) or name: rewrite(
            text, names, owners[name], vocabulary=vocabulary, modules=modules
        ).text
        for name, text in modules.items()
    }
    _check_types(modules, renamed, names)
    for library in libraries:
        _write_source(library, unfinished / "source", renamed, names, seed)
    private = unfinished / "private"
    (private / "questions").mkdir(parents=True)
    names.save(private / "mapping.json")
    (private / "LICENSE").write_text("\n\n".join(library.licence for library in libraries))
    translated = rewrite(
        warmup, names, owners[_WARMUP], vocabulary=vocabulary, modules=modules, script=True
    )
    _write_environment(unfinished, libraries, names, translated.text)
    for source in sources:
        target = private / "questions" / source.folder.name
        translate_question(source, target, names, owners, vocabulary=vocabulary, modules=modules)
    content = {"packages": list(names.packages.values()), "seed": seed, "recipe": RECIPE}
    (unfinished / "library.json").write_text(json.dumps(content, indent=1) + "\n")
    shutil.rmtree(out, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished.rename(out)  # last: a half-built one has another name
    return load(out)


def _write_source(
    library: PackageSource, root: Path, renamed: Mapping[str, str], names: NameMap, seed: int
) -> None:
    for module in library.modules.values():
        dotted = names.module(module.name) or module.name
        path = root.joinpath(*dotted.split("."))
        path = path / "__init__.py" if module.is_package else path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(reorder(renamed[dotted], f"{seed} {path.name}"), encoding="utf-8")
    for data in library.data:
        parts = ".".join(data.parent.parts)
        folder = root.joinpath(*(names.module(parts) or parts).split("."))
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library.folder / data, folder / data.name)


def _check_types(modules: Mapping[str, str], renamed: Mapping[str, str], names: NameMap) -> None:
    """Renaming must not change what mypy finds: a name missed somewhere would be an error more.

    Asked before definitions change places: what mypy infers depends on their order.
    """
    before = {
        (names.module(module), code): number
        for (module, code), number in count_errors(modules).items()
    }
    after = count_errors(renamed)
    if before != after:
        listed = ", ".join(
            f"{module} [{code}] {before.get((module, code), 0)} -> {after[str(module), code]}"
            for module, code in sorted({*before, *after}, key=str)
            if before.get((module, code), 0) != after[str(module), code]
        )
        raise UnseenError(
            f"the renamed library has different type errors from the original: {listed}"
        )


def _write_environment(
    out: Path, libraries: Sequence[PackageSource], names: NameMap, warmup: str
) -> None:
    folder = out / "environment"
    (folder / "wheels").mkdir(parents=True)
    lock = environments.lock_file(ENVIRONMENT).read_text()
    lines = [without(lock, {library.distribution or "" for library in libraries})]
    for library in libraries:
        new = names.packages[library.package]
        file = wheel.write(folder / "wheels", new, out / "source" / new)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        lines.append(f"./wheels/{file.name} \\\n    --hash=sha256:{digest}\n")
    (folder / "requirements.lock").write_text("".join(lines))
    (folder / "warmup.py").write_text(warmup)
    if (python := environments.wanted_python(ENVIRONMENT)) is not None:
        (folder / "python").write_text(python + "\n")


def without(lock: str, distributions: Collection[str]) -> str:
    """A lock file without some distributions, and without comments, which name them too.

    Raises
    ------
    UnseenError
        When one of them is not pinned there.
    """
    kept: list[str] = []
    gone: Counter[str] = Counter()
    dropping = False
    for line in lock.splitlines(keepends=True):
        if line.lstrip().startswith("#"):
            continue
        if not line[:1].isspace():
            name = re.split(r"[=<>!~ ;\[@]", line, maxsplit=1)[0].strip().lower()
            dropping = name in distributions
            gone[name] += dropping
        if not dropping:
            kept.append(line)
    absent = sorted(name for name in distributions if not gone[name])
    if absent:
        raise UnseenError(f"the lock file of {ENVIRONMENT!r} does not pin {', '.join(absent)}")
    return "".join(kept)
