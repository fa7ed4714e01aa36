"""How difficult the questions of ``live`` are, counted: written to ``live/difficulty.json``.

Three measures for each question: library calls in the reference; how many of the names it uses a
prompt gives away, per level; whether those names are the same in an older version of the library.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console

from docgen.library import read_library
from docgen.sources import SourceError
from docgen.symbols import Library
from experiments.benchmarks.question_format import (
    DIFFICULTY,
    QUESTIONS,
    Level,
    TaskSpec,
    build_prompt,
    question_folders,
    read_spec,
)
from experiments.benchmarks.question_gates import library_names
from sandbox import environments
from sandbox.base import SandboxError
from sandbox.command import UsageError, run

_ABOUT = """\
Counts the difficulty of every question of live, and writes it to difficulty.json beside them.

Reads the libraries of two environments; both must be built (python -m sandbox build env=NAME)."""
_PACKAGES = ("pymatgen", "matminer", "robocrys", "phonopy")
_FOREIGN = frozenset({"np", "numpy", "scipy", "math", "itertools", "collections", "json"})
_OF_CONTAINERS = frozenset(name for kind in (dict, list, str, set) for name in dir(kind))
#: Distributions that were part of another one in the older version.
_RENAMED = frozenset({"pymatgen-core"})
#: From no change to the largest: a question is labelled with the largest of its names.
STATES = ("same", "signature", "absent")


class Options(BaseModel):
    """Arguments of ``python -m experiments.benchmarks.live difficulty``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    env: str = Field("live", description="environment of the references")
    older: str = Field("mattools-2024", description="environment with an older version")
    out: Path = Field(QUESTIONS.parent / DIFFICULTY, description="file to write")


def counts(spec: TaskSpec, source: str) -> dict[str, Any]:
    """What needs no library to count.

    Returns
    -------
    dict
        ``calls`` (library calls in the reference), ``names`` (distinct names of the library in
        it), ``given`` (level to how many of these stand in its prompt).
    """
    names = library_names(source)
    given = {}
    levels: tuple[Level, ...] = ("scaffold", "goal")
    for level in levels:
        words = set(re.findall(r"\w+", build_prompt(spec, level)))
        given[level] = len(names & words)
    return {"calls": _calls(ast.parse(source)), "names": len(names), "given": given}


def _calls(tree: ast.Module) -> int:
    """Calls that are not of Python, numpy, scipy or functions of the file itself."""
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    count = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            root = node.func
            while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
                root = root.func if isinstance(root, ast.Call) else root.value
            name = root.id if isinstance(root, ast.Name) else ""
            plain = isinstance(node.func, ast.Name) and (hasattr(builtins, name) or name in own)
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            count += not plain and name not in _FOREIGN and method not in _OF_CONTAINERS
    return count


def api_changes(source: str, new: Library, old: Library) -> dict[str, str]:
    """State in the older library of each library name that the reference uses.

    Imported names are compared by their path; attributes by the imported classes that have
    them, else by every definition of that name (``same`` if any signature is in both). Of
    signatures only names, order, kinds and defaults of the parameters count. What comes from a
    distribution that the older environment does not have is left out.
    """
    tree = ast.parse(source)
    known = {*old.versions, *_RENAMED}
    states: dict[str, str] = {}
    classes = []
    for path in _import_paths(tree):
        here, there = _resolve(new, path), _resolve(old, path)
        if here is None or new.symbols[here].package not in known:
            continue  # a constant, or another distribution
        classes.append(here.rpartition(".")[2])
        states[path] = (
            "absent"
            if there is None
            else _compare({new.symbols[here].signature}, {old.symbols[there].signature})
        )
    for name in sorted(_attributes(tree)):
        here_all = _signatures(new, name, classes, known)
        if here_all:
            states[name] = _compare(here_all, _signatures(old, name, classes, known))
    return dict(sorted(states.items()))


def _compare(here: set[str], there: set[str]) -> str:
    if not there:
        return "absent"
    return "same" if set(map(parameters, here)) & set(map(parameters, there)) else "signature"


def parameters(signature: str) -> str:
    """A signature without its name, annotations and return type."""
    start = signature.find("(")
    if start < 0:
        return ""
    try:
        node = ast.parse(f"def f{signature[start:]}: ...").body[0]
    except SyntaxError:
        return signature  # a constructor that is abbreviated
    for argument in ast.walk(node):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return ast.unparse(node.args) if isinstance(node, ast.FunctionDef) else signature


def _import_paths(tree: ast.Module) -> list[str]:
    return sorted(
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in _PACKAGES
        for alias in node.names
    )


def _attributes(tree: ast.Module) -> set[str]:
    """Names of attributes that are not those of Python's containers or of numpy."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            root: ast.expr = node
            while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
                root = root.func if isinstance(root, ast.Call) else root.value
            if not (isinstance(root, ast.Name) and root.id in _FOREIGN):
                names.add(node.attr)
    return names - _OF_CONTAINERS


def _resolve(library: Library, path: str) -> str | None:
    return path if path in library.symbols else library.aliases.get(path)


def _signatures(
    library: Library, name: str, classes: Sequence[str], distributions: set[str]
) -> set[str]:
    """Signatures of members called ``name``: of the given classes, else of any class."""
    near: set[str] = set()
    anywhere: set[str] = set()
    for symbol in library.symbols.values():
        if symbol.kind == "class" and symbol.package in distributions:
            members = (m for m in symbol.members if m.name == name and m.kind != "attribute")
            found = {member.signature for member in members}
            anywhere |= found
            if symbol.qualname.rpartition(".")[2] in classes:
                near |= found
    return near or anywhere


def measure(options: Options, root: Path = QUESTIONS) -> dict[str, Any]:
    """Everything that `DIFFICULTY` holds.

    Raises
    ------
    SandboxError, SourceError
        When an environment cannot be built, or a package is not in it.
    """
    new = read_library(_PACKAGES, environments.site_packages(options.env))
    folder = environments.site_packages(options.older)
    there = [package for package in _PACKAGES if (folder / package).is_dir()]
    old = read_library(there, folder)
    questions: dict[str, Any] = {}
    for question in question_folders(root):
        source = (question / "reference.py").read_text(encoding="utf-8")
        states = api_changes(source, new, old)
        state = max(states.values(), key=STATES.index, default="unknown")
        changed = {name: state for name, state in states.items() if state != "same"}
        row = counts(read_spec(question), source)
        questions[question.name] = {**row, "api": state, "changed": changed}
    return {
        "environments": {
            options.env: _versions(new.versions),
            options.older: _versions(old.versions),
        },
        "questions": questions,
    }


def _versions(versions: Mapping[str, str | None]) -> dict[str, str | None]:
    return dict(sorted(versions.items()))


def _action(options: Options) -> int:
    with Console(stderr=True).status("reading both libraries"):
        try:
            content = measure(options)
        except (SandboxError, SourceError, OSError) as error:
            raise UsageError(str(error)) from error
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    options.out.write_text(text, encoding="utf-8")
    print(f"{options.out}: {len(content['questions'])} questions")
    return 0


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    return run("experiments.benchmarks.live difficulty", _ABOUT, Options, _action, arguments)
