"""What must hold of the renamed texts: ordinary words, formulas and keys stay what they were.

Every gate returns findings as sentences; an empty list is a pass.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from experiments.benchmarks.question_format import question_folders, read_spec
from experiments.benchmarks.unseen.build import UnseenLibrary
from experiments.benchmarks.unseen.mapping import NameMap
from experiments.benchmarks.unseen.names import is_distinctive
from experiments.benchmarks.unseen.prose import CALL, CODE, ENTRY, FIELD, KEYWORD, tells_code

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PIECES = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)")
_CLASS_MEMBER = re.compile(r"\b[A-Z]\w{2,}(?:\.\w+)+")
_FENCE = re.compile(r"^[ \t]*```.*?^[ \t]*```", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"(?<!\w)[\"']([A-Za-z_]\w*)[\"']")


def text_scan(library: UnseenLibrary) -> list[str]:
    """New names in the library's texts where none was meant, and keys that the code calls else."""
    names = library.names
    findings = []
    for path, source in library.modules.items():
        tree = ast.parse(source)
        keys = literals(tree)
        for line, text in _texts(tree):
            found = [*changed_words(text, names), *_other_keys(text, names, keys)]
            findings += [f"{path}: line {line}: {what}" for what in found]
    return findings


def prompt_scan(library: UnseenLibrary) -> list[str]:
    """The same of the translated questions."""
    names = library.names
    findings = []
    for folder in question_folders(library.questions):
        spec = read_spec(folder)
        texts = {"goal": spec.goal, "scaffold": _FENCE.sub("", spec.scaffold)}
        texts |= {prop.name: prop.description for prop in spec.properties}
        for where, text in texts.items():
            found = changed_words(text, names)
            findings += [f"{folder.name}: {where}: {what}" for what in found]
    return findings


def changed_words(text: str, names: NameMap) -> Iterator[str]:
    """Ordinary words that were taken for names: new ones where nothing marks them as code.

    The text is judged with the old names in it, since a new one has another shape.
    """
    old_names = {new: old for old, new in names.identifiers.items()}
    restored = ""
    changed: list[tuple[int, str]] = []
    for piece in _PIECES.split(text):
        old = old_names.get(piece, piece)
        if old != piece and not is_distinctive(old):
            changed.append((len(restored), old))
        restored += old
    marked = list(_marked(restored, names))
    for place, old in changed:
        if not any(start <= place < end for start, end in marked):
            around = " ".join(restored[max(0, place - 20) : place + 20].split())
            yield f"{names.identifiers[old]} stands for the word {old} in {around!r}"


def _marked(text: str, names: NameMap) -> Iterator[tuple[int, int]]:
    """Where a text says that it shows code."""
    yield from (found.span() for found in CODE.finditer(text) if not _is_formula(found))
    yield from (found.span() for found in CALL.finditer(text) if tells_code(found["name"]))
    for pattern in (FIELD, ENTRY, KEYWORD, _CLASS_MEMBER):
        yield from (found.span() for found in pattern.finditer(text))
    for package in names.packages.values():
        yield from (found.span() for found in re.finditer(rf"\b{package}(?:\.\w+)*", text))


def _is_formula(found: re.Match[str]) -> bool:
    return found.string[: found.start()].endswith(":math:")


def _other_keys(text: str, names: NameMap, keys: Collection[str]) -> Iterator[str]:
    for old in keys & names.identifiers.keys():
        if names.identifiers[old] in _QUOTED.findall(text):
            yield f"{names.identifiers[old]} is quoted, and the key is {old} in the code"


def literals(tree: ast.Module) -> set[str]:
    """Texts of one word in the code of a module: keys."""
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _WORD.fullmatch(node.value)
    }


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Documentation and messages: every text with a space in it, but f-strings.

    The fixed part of ``f"{step=}"`` is code, and in the others no plain word is translated.
    """
    formatted = {
        part
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in formatted or not isinstance(node, ast.Constant):
            continue
        if isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value
