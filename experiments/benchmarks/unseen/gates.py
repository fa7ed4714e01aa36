"""What must hold of an unseen library before anybody is asked about it.

Every gate returns findings as sentences; an empty list is a pass.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from experiments.benchmarks.question_check import Checker, Report
from experiments.benchmarks.question_format import question_folders, read_spec
from experiments.benchmarks.unseen.build import UnseenLibrary
from experiments.benchmarks.unseen.inspection import inspect
from experiments.benchmarks.unseen.mapping import NameMap, defined_names
from experiments.benchmarks.unseen.names import is_distinctive
from experiments.benchmarks.unseen.prose import old_name
from experiments.benchmarks.unseen.source import Module, UnseenError
from experiments.benchmarks.unseen.text_gates import literals

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ADDRESS = re.compile(
    r"https?://\S+|\bwww\.\S+|\bet al\b|\bdoi\b\S*|\b10\.\d{4,}/\S+", re.IGNORECASE
)
#: A package that is told by what it is for.
_AS_ADD_ON = re.compile(r"\b(?!the\b)\w+\s+add-on\b")
_TEXTS = (tokenize.STRING, tokenize.COMMENT)


def leak_scan(library: UnseenLibrary, words: Collection[str]) -> list[str]:
    """Old names that survive in the renamed packages.

    Parameters
    ----------
    words
        Words of everything that the library imports. A name among them may stand in code, where
        it is another's attribute or keyword; no old name may be defined, and none that can be
        told from an ordinary word may stand in a text, but as a key that the module uses.
    """
    names = library.names
    findings = []
    for path, text in library.modules.items():
        parts = Path(path).with_suffix("").parts
        findings += [f"{path}: the name of the file" for part in parts if _is_old(part, names)]
        module = Module(path, Path(path), text, is_package=path.endswith("__init__.py"))
        defined = defined_names(module)
        findings += [
            f"{path}: {name} is defined under its old name"
            for name in sorted(defined)
            if name in names.identifiers
        ]
        keys = (literals(module.tree) & set(words)) - {
            old for old, new in names.identifiers.items() if new in defined
        }
        findings += [
            f"{path}: line {line}: {what}" for line, what in _scan(text, names, words, keys)
        ]
        findings += [f"{path}: names {old}" for old in _origins(names) if old in text]
    return findings


def scan_text(text: str, names: NameMap) -> Iterator[str]:
    """Names of packages, people and addresses that stand in a text."""
    yield from (f"names {old}" for old in _origins(names) if old in text)
    if names.proper_pattern is not None and (found := names.proper_pattern.search(text)):
        yield f"names {found.group()}"
    if found := _ADDRESS.search(text):
        yield f"holds the source {found.group()}"


def question_scan(library: UnseenLibrary, words: Collection[str]) -> list[str]:
    """Old names that survive in the translated questions, both levels and the reference."""
    names = library.names
    findings = []
    for folder in question_folders(library.questions):
        spec = read_spec(folder)
        allowed = {prop.name for prop in spec.properties} | set(words)
        texts = {"goal": spec.goal, "scaffold": spec.scaffold}
        texts |= {prop.name: prop.description for prop in spec.properties}
        texts["reference.py"] = (folder / "reference.py").read_text(encoding="utf-8")
        for where, text in texts.items():
            found = {word for word in _WORD.findall(text) if word not in allowed}
            leaks = sorted(word for word in found if _is_old(word, names))
            findings += [f"{folder.name}: {where}: {word}" for word in leaks]
            findings += [f"{folder.name}: {where}: {what}" for what in scan_text(text, names)]
            if found_as := _AS_ADD_ON.search(text):
                findings.append(f"{folder.name}: {where}: tells the original: {found_as.group()}")
    return findings


async def check_references(library: UnseenLibrary, backend: str = "auto") -> list[Report]:
    """Run every translated reference twice in the sandbox and compare with the golds.

    All gates of ``live`` are applied again, to the translated prompts too.

    Raises
    ------
    SandboxError
        When no sandbox works here, or the environment cannot be built.
    """
    async with Checker(backend, env=library.environment, recorded=()) as checker:
        return [await checker.check(folder) for folder in question_folders(library.questions)]


async def check_imports(
    library: UnseenLibrary, failed: Mapping[str, str], backend: str = "auto"
) -> list[str]:
    """Import every module in the sandbox: those that worked before must work now.

    Raises
    ------
    SandboxError
        When no sandbox works here, or the environment cannot be built.
    """
    names = library.names
    expected = {names.module(name) for name in failed}
    modules = [_module_name(path) for path in library.modules]
    try:
        _, found = await inspect(
            modules, library.packages, environment=library.environment, backend=backend
        )
    except UnseenError as error:
        return [str(error)]
    return [f"{name} cannot be imported: {found[name]}" for name in sorted({*found} - expected)]


def _module_name(path: str) -> str:
    parts = Path(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _origins(names: NameMap) -> tuple[str, ...]:
    return (*names.packages, *names.distributions)


def _is_old(word: str, names: NameMap) -> bool:
    return old_name(word, names) is not None or (word in names.keys and is_distinctive(word))


def _scan(
    text: str, names: NameMap, words: Collection[str], keys: Collection[str]
) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and token.string in names.identifiers:
            if is_distinctive(token.string) and token.string not in words:
                yield token.start[0], f"{token.string} in code"
        elif token.type in _TEXTS:
            yield from ((token.start[0], what) for what in scan_text(token.string, names))
            formatted = _expressions(token.string)
            for word in _WORD.findall(token.string):
                ours = word not in keys and not (word in words and word in formatted)
                if ours and _is_old(word, names):
                    yield token.start[0], f"{word} in a text"


def _expressions(literal: str) -> set[str]:
    """Names in the expressions of an f-string: code (Python 3.11 has all in one token)."""
    try:
        tree = ast.parse(literal, mode="eval")
    except SyntaxError:
        return set()
    if not isinstance(tree.body, ast.JoinedStr):
        return {literal.strip(chr(34) + chr(39))} if _is_word(tree.body) else set()
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} | {
        node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg
    }


def _is_word(node: ast.expr) -> bool:
    """Whether a text is one single word: a key of another library looks like that."""
    return isinstance(node, ast.Constant) and bool(_WORD.fullmatch(str(node.value)))
