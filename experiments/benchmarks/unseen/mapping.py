"""Which names a library defines, and the one map from old to new that everything follows."""

from __future__ import annotations

import ast
import builtins
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from experiments.benchmarks.unseen.composed import (
    Affix,
    affixes,
    named_tuple,
    reflects,
    subscripts,
    texts_in,
)
from experiments.benchmarks.unseen.names import NameMaker
from experiments.benchmarks.unseen.source import Module, PackageSource, Vocabulary, inside

#: Names that mean something to Python, to monty or to every reader.
_KEPT = frozenset({"self", "cls", "mcs", "args", "kwargs", "as_dict", "from_dict", "main"})
_KEY = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_SHORTEST_KEY = 4


@dataclass(frozen=True)
class NameMap:
    """Old name to new, one map for every kind of name.

    Attributes
    ----------
    packages
        Import name of each renamed package (dotted) to its new, top-level name.
    distributions
        Names of their distributions to the new ones.
    identifiers
        Classes, functions, methods, properties, fields, attributes, parameters, modules.
    keys
        Texts that are keys of the library's own dictionaries.
    proper
        Names of people, methods and programs, as they are written.
    kept
        Defined names that keep their name: others define, import or call them too.
    """

    packages: Mapping[str, str]
    distributions: Mapping[str, str]
    identifiers: Mapping[str, str]
    keys: Mapping[str, str]
    proper: Mapping[str, str]
    kept: tuple[str, ...]

    def module(self, dotted: str) -> str | None:
        """New name of a module of a renamed package, ``None`` for any other module."""
        for old, new in self.packages.items():
            if dotted == old:
                return new
            if dotted.startswith(f"{old}."):
                rest = dotted[len(old) + 1 :].split(".")
                return ".".join([new, *(self.identifiers.get(part, part) for part in rest)])
        return None

    @cached_property
    def proper_pattern(self) -> re.Pattern[str] | None:
        """Finds a proper name, also as a part of a snake_case word, in any case."""
        words = sorted(self.proper, key=len, reverse=True)
        listed = "|".join(map(re.escape, words))
        return re.compile(rf"(?<![A-Za-z])(?:{listed})(?![a-z])", re.IGNORECASE) if words else None

    def save(self, path: Path) -> None:
        """Write as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: Path) -> NameMap:
        """Read what :meth:`save` wrote."""
        content = json.loads(path.read_text())
        return cls(**{**content, "kept": tuple(content["kept"])})


def make_map(
    libraries: Sequence[PackageSource],
    vocabulary: Vocabulary,
    *,
    seed: int,
    overridden: Collection[str],
    proper: Sequence[str] = (),
) -> NameMap:
    """Choose the new names.

    Parameters
    ----------
    vocabulary
        Words of others: no new name is one of them.
    overridden
        Members that the libraries' classes override of classes of others; they keep their names.
    proper
        Names of people and methods to replace in texts.
    """
    modules = [module for library in libraries for module in library.modules.values()]
    defined = set().union(*(defined_names(module) for module in modules))
    for library in libraries:
        skip = library.package.count(".") + 1
        for name in library.modules:
            defined.update(name.split(".")[skip:])
    foreign = set().union(*(foreign_imports(module, libraries) for module in modules))
    keep = foreign | set(overridden) | _KEPT | set(dir(builtins))
    composed: dict[str, tuple[Affix, str]] = {}
    for library in libraries:
        composed |= _composed(library)
        keep |= _reflected(library, vocabulary)
    texts = set().union(*(texts_in(module) for module in modules))
    fixed = {stem for _, stem in composed.values() if stem in texts} & (
        keep | vocabulary.strings | (defined & vocabulary.words)
    )
    keep |= {name for name, (_, stem) in composed.items() if stem in fixed}
    cores = {name.strip("_") for name in keep}
    renamed = sorted(
        name for name in defined if name not in keep and not _is_dunder(name) and name.strip("_")
    )
    maker = NameMaker(seed, taken=vocabulary.words | defined | vocabulary.strings)
    packages = {library.package: maker.word(3) for library in libraries}
    new: dict[str, str] = {}
    composed = {name: parts for name, parts in composed.items() if name in renamed}
    for core in sorted({name.strip("_") for name in renamed if name not in composed}):
        new[core] = maker.rename(core)
    identifiers = {
        name: name.replace(name.strip("_"), new[name.strip("_")])
        for name in renamed
        if name not in composed
    }
    found = sorted(
        {key for module in modules for key in own_keys(module)}
        - vocabulary.strings
        - set(renamed)
        - cores
    )
    keys = {key: maker.rename(key) for key in found}
    for name, (affix, stem) in sorted(composed.items(), key=lambda item: (len(item[0]), item[0])):
        rest = identifiers.get(stem) or keys.get(stem) or new.get(stem) or maker.rename(stem)
        new[stem] = rest
        identifiers[name] = affix.before + rest + affix.after
        if stem in texts and stem not in identifiers:
            keys[stem] = rest
    return NameMap(
        packages=packages,
        distributions={
            library.distribution: packages[library.package]
            for library in libraries
            if library.distribution
        },
        identifiers=identifiers,
        keys=keys,
        proper={word: _proper(word, maker) for word in sorted(set(proper), key=str.lower)},
        kept=tuple(sorted(name for name in defined if name in keep and name not in _KEPT)),
    )


def _composed(library: PackageSource) -> dict[str, tuple[Affix, str]]:
    """Names of a library that its code puts together, with their fixed part and their rest."""
    modules = library.modules.values()
    known = set().union(*(affixes(module) for module in modules))
    names = set().union(*(defined_names(module) for module in modules))
    return {
        name: (affix, stem)
        for affix in sorted(known)
        for name in names
        if (stem := affix.stem(name)) is not None
    }


def _reflected(library: PackageSource, vocabulary: Vocabulary) -> set[str]:
    """Names that a module both defines and looks up as a text that cannot be renamed."""
    return set().union(
        *(
            defined_names(module) & subscripts(module) & vocabulary.words
            for module in library.modules.values()
            if reflects(module)
        )
    )


def _proper(word: str, maker: NameMaker) -> str:
    new = maker.word()
    return new.upper() if word.isupper() else new.capitalize() if word[0].isupper() else new


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def defined_names(module: Module) -> set[str]:
    """Names of everything that a module defines and that code elsewhere could write."""
    found: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = node.args
            every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            found.update(argument.arg for argument in every)
        elif isinstance(node, ast.Module | ast.ClassDef):
            found.update(_assigned(node.body))
        elif isinstance(node, ast.Attribute) and _is_set_on_self(node):
            found.add(node.attr)
        found.update(str(name.value) for name in named_tuple(node))
    return {name for name in found if name != "_" and not _is_dunder(name)}


def _is_set_on_self(node: ast.Attribute) -> bool:
    base = node.value
    return (
        isinstance(node.ctx, ast.Store)
        and isinstance(base, ast.Name)
        and base.id in {"self", "cls"}
    )


def _assigned(body: Sequence[ast.stmt]) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, ast.If | ast.Try):
            yield from _assigned([*statement.body, *statement.orelse])
            continue
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        for target in targets:
            for node in ast.walk(target):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


def foreign_imports(module: Module, libraries: Sequence[PackageSource]) -> set[str]:
    """Names that a module binds by importing from outside of the libraries."""
    found: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found.update(alias.asname or alias.name.split(".")[0] for alias in node.names)
        elif (
            isinstance(node, ast.ImportFrom)
            and node.level == 0
            and not inside(str(node.module), [library.package for library in libraries])
        ):
            found.update(alias.asname or alias.name for alias in node.names)
    return found


def own_keys(module: Module) -> set[str]:
    """Texts that a module writes as a key of a dictionary, or looks up as one."""
    found: set[str] = set()
    for node in ast.walk(module.tree):
        keys: list[ast.expr | None] = []
        if isinstance(node, ast.Dict):
            keys = list(node.keys)
        elif isinstance(node, ast.Subscript):
            keys = [node.slice]
        for key in keys:
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                found.add(key.value)
    return {key for key in found if len(key) >= _SHORTEST_KEY and _KEY.fullmatch(key)}
