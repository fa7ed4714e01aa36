"""Which input files a MatTools question reads, and which of them are not here.

Paths are taken from the running text, and from the code of the question and of its unit test:
`/`, ``os.path.join``, f-strings and loops over literals are followed without running anything.
What stays open in a path is ``*``; a path whose beginning is open starts with ``**``.
"""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

#: Where the questions expect their files, relative to the working directory.
FILES_INSIDE = PurePosixPath("tool_source_code/pymatgen-analysis-defects/tests/test_files")

_TOP = FILES_INSIDE.parts[0]
#: Characters of a path, and what stands for a part of one: `{i}`, `<name>`, `[MASK]`, `$i`, `*`.
_PIECE = r"[\w./=+-]|\{[^{}\n]*\}|<\w+>|\[\w+\]|\$\w+|\*|\?(?=[\w./])"
_PLACEHOLDER = re.compile(r"\{[^{}\n]*\}|<\w+>|\[\w+\]|\$\w+|\?|\*+")
_PATH = re.compile(rf"(?<![\w./]){_TOP}/(?:{_PIECE})*")
_FILE_NAME = re.compile(
    rf"[\"'`]((?:{_PIECE})*?(?:\.(?:vasp|json|gz|bz2|xml|ya?ml|cif|npy|npz|h5|dat|csv|txt)"
    r"|\b(?:CHGCAR|LOCPOT|OUTCAR|PROCAR|WAVECAR|WAVEDER|WSWQ)))[\"'`]"
)
_FENCE = re.compile(r"```(?:python|py)?[ \t]*(.*?)```", re.DOTALL)
_MASK = re.compile(r"\[MASK(?:_\d+)?\]")
#: Names of variables that hold a folder which the code at hand does not define.
_FOLDER_NAME = re.compile(r"(?!.*(?:tmp|temp|out|save))\w*(?:path|dir|files)\w*", re.IGNORECASE)
#: A part of a path that a loop gives: number of the loop, position in its item.
_LOOPED = re.compile("\0(\\d+):(\\d+)\0")
_MOST_VALUES = 64  # of a loop that are followed one by one


@dataclass(frozen=True)
class Inputs:
    """What a question reads.

    Attributes
    ----------
    mounts
        What is here, as the question names it: the folder ``test_files``, files outside it.
    missing
        Paths (``*``: what is open in them) that nothing here fits.
    """

    mounts: Mapping[str, Path]
    missing: tuple[str, ...]


def find_inputs(prompt: str, unit_test: str, folder: Path, root: Path) -> Inputs:
    """Look for what a question in ``folder`` and its unit test read; ``root`` holds all questions.

    Of the test only paths in ``test_files`` count: all else it reads may be an answer.
    """
    files = _input_files(folder, root)
    tree = _tree(files) if files is not None else frozenset()
    asked = [*_in_text(prompt), *(p for block in _blocks(prompt) for p in paths_in_code(block))]
    tested = [*_in_text(unit_test), *paths_in_code(unit_test)]
    mounts = {} if files is None else {str(FILES_INSIDE): files}
    inside, named, missing = [], [], []
    for path in dict.fromkeys([*asked, *(p for p in tested if _relative(p) is not None)]):
        relative = _relative(path)
        if ".." in path.split("/"):
            missing.append(path)
        elif relative is not None:
            inside.append((path, relative))
        elif not path.startswith(f"{_TOP}/"):
            named.append(path)
        elif (place := _elsewhere_placed(PurePosixPath(path), folder, root)) is None:
            missing.append(path)
        elif place.is_file():
            mounts[path] = place
    missing += [path for path, relative in inside if not (files and _fits(relative, tree))]
    deep = [path for path in named if path.removeprefix("**/").count("/")]
    missing += [path for path in deep if not _fits(path, tree)]
    places = _places([*(relative for _, relative in inside), *deep], tree)
    for path in named:
        if path not in deep and not any(_reachable(at, places) for at in _fitting(path, tree)):
            missing.append(path)
    shown = dict.fromkeys(path.removeprefix("**/") for path in missing)
    return Inputs(mounts, tuple(shown))


# --- what is here --------------------------------------------------------------------------------


def _above(folder: Path, root: Path) -> Iterator[Path]:
    """The folders from a question up to the one that holds ``root``."""
    for parent in folder.resolve().parents:
        yield parent
        if parent == root.resolve().parent:
            return


def _input_files(folder: Path, root: Path) -> Path | None:
    """The folder ``test_files``: of the library's sources next to the questions, or as such."""
    places = (parent / name for parent in _above(folder, root)
              for name in (FILES_INSIDE, "test_files"))  # fmt: skip
    return next(filter(Path.is_dir, places), None) or _elsewhere(root.resolve())


@cache
def _elsewhere(root: Path) -> Path | None:
    """The input files of a checkout that has them in a branch of its own."""
    found = (place.joinpath(*FILES_INSIDE.parts[1:]) for place in sorted(root.rglob(_TOP)))
    return next((place for place in found if place.is_dir()), None)


def _elsewhere_placed(path: PurePosixPath, folder: Path, root: Path) -> Path | None:
    """Where a path outside ``test_files`` lies on the host."""
    if FILES_INSIDE.is_relative_to(path) or path.suffix == ".py":  # a folder above; no data
        return folder
    found = (place for parent in _above(folder, root) for place in parent.glob(str(path)))
    return next(found, None)


@cache
def _tree(files: Path) -> frozenset[str]:
    return frozenset(path.relative_to(files).as_posix() for path in files.rglob("*"))


def _relative(path: str) -> str | None:
    """A path below ``test_files`` as seen from there; ``None`` for another."""
    head = f"{FILES_INSIDE}/"
    return f"{path}/".removeprefix(head).rstrip("/") if f"{path}/".startswith(head) else None


def _fits(pattern: str, tree: frozenset[str]) -> bool:
    return not pattern or any(True for _ in _fitting(pattern, tree))


def _fitting(pattern: str, tree: Iterable[str]) -> Iterator[str]:
    """Files and folders that a pattern means; packed ones stand for those that they hold."""
    text = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
    wanted = re.compile(rf"{text}(?:\.gz|\.bz2)?")
    return (path for path in tree if wanted.fullmatch(path))


def _places(patterns: Iterable[str], tree: frozenset[str]) -> set[str]:
    """Folders that the patterns name: where they lead, or where what they name lies."""
    folders = {str(PurePosixPath(path).parent) for path in tree}
    named = (path for pattern in patterns for path in _fitting(pattern, tree))
    return {p if p in folders else str(PurePosixPath(p).parent) for p in named} - {"."}


def _reachable(path: str, places: set[str]) -> bool:
    """Whether a file lies below a folder that the question names, or beside the way to one."""
    at = PurePosixPath(path)
    return not places or any(
        at.is_relative_to(place) or PurePosixPath(place).is_relative_to(at.parent)
        for place in places
    )


# --- what is named -------------------------------------------------------------------------------


def _in_text(text: str) -> Iterator[str]:
    for match in _PATH.finditer(text):
        yield _PLACEHOLDER.sub("*", match[0]).rstrip("./")
    for name in _FILE_NAME.findall(text):
        if not name.startswith(f"{_TOP}/"):
            yield "**/" + _PLACEHOLDER.sub("*", name).lstrip("./*")


def _blocks(prompt: str) -> Iterator[str]:
    """Code of a question: its blocks, what stands between backticks, and lines that are code."""
    rest = _FENCE.sub("", prompt)
    yield from re.findall(r"`([^`\n]+)`", rest)
    yield rest
    for code in _FENCE.findall(prompt):
        # Some are written on one line, with escapes.
        whole = code if "\n" in code.strip() else code.replace("\\n", "\n")
        yield textwrap.dedent(whole.strip("\n"))


def paths_in_code(code: str) -> list[str]:
    """Paths that code joins, as patterns; what cannot be parsed is read line by line."""
    plain = _MASK.sub("MASK", code)
    reader = _Reader()
    try:
        reader.visit(ast.parse(plain))
    except (SyntaxError, ValueError):
        for line in plain.splitlines():
            try:
                reader.visit(ast.parse(line.strip()))
            except (SyntaxError, ValueError):
                continue
    return list(dict.fromkeys(reader.found()))


class _Reader(ast.NodeVisitor):
    """Follows assignments and loops from top to bottom."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._loops: list[list[tuple[str, ...]]] = []
        self._joined: list[str] = []

    def found(self) -> Iterator[str]:
        """Every path, once for each value that loops give it."""
        for template in self._joined:
            for path in self._expanded(template):
                clean = re.sub(r"/+", "/", re.sub(r"\*\*(?!/)\*+", "*", path)).rstrip("/")
                if clean.startswith((f"{_TOP}/", "**/")) and clean.strip("*/"):
                    yield clean

    def _expanded(self, template: str) -> Iterator[str]:
        used = sorted({int(match[1]) for match in _LOOPED.finditer(template)})
        for items in itertools.islice(
            itertools.product(*(self._loops[n] for n in used)), _MOST_VALUES
        ):
            given = dict(zip(used, items, strict=True))
            yield _LOOPED.sub(lambda m, given=given: given[int(m[1])][int(m[2])], template)  # type: ignore[misc]

    def visit(self, node: ast.AST) -> None:
        """Note a joined path whole, without its parts."""
        if isinstance(node, ast.BinOp | ast.Call | ast.JoinedStr):
            path = self._value(node)
            if path is not None and "/" in path:
                self._joined.append(path)
                return
        for loop in getattr(node, "generators", [node] if isinstance(node, ast.For) else []):
            self._loop(loop.target, loop.iter)
        super().visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Remember what a name stands for."""
        self.generic_visit(node)
        value = self._value(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._names.pop(target.id, None)
                if value is not None:
                    self._names[target.id] = value

    def _loop(self, target: ast.expr, over: ast.expr) -> None:
        names = [node for node in ast.walk(target) if isinstance(node, ast.Name)]
        items = _literal_items(over)
        if items is not None and {len(item) for item in items} == {len(names)}:
            self._loops.append(items)
            given = {name.id: f"\0{len(self._loops) - 1}:{at}\0" for at, name in enumerate(names)}
        else:
            given = {name.id: "*" for name in names}
        self._names.update(given)

    def _value(self, node: ast.expr) -> str | None:
        """The text that an expression gives, with ``*`` for what is open; ``None``: no text."""
        if isinstance(node, ast.Constant):
            return str(node.value) if isinstance(node.value, str | int) else None
        if isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            known = self._names.get(name) if isinstance(node, ast.Name) else None
            return known or ("**" if _FOLDER_NAME.fullmatch(name) else None)
        if isinstance(node, ast.JoinedStr):
            return "".join(self._value(part) or "*" for part in node.values)
        if isinstance(node, ast.FormattedValue):
            return self._value(node.value)
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left), self._value(node.right)
            if left is None or not isinstance(node.op, ast.Div | ast.Add):
                return None
            return left + ("/" if isinstance(node.op, ast.Div) else "") + (right or "*")
        return self._called(node) if isinstance(node, ast.Call) else None

    def _called(self, node: ast.Call) -> str | None:
        parts = [self._value(argument) for argument in node.args]
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if isinstance(node.func, ast.Attribute) and name in {"joinpath", "glob"}:
            parts.insert(0, self._value(node.func.value))
        joins = name in {"Path", "PurePath", "join", "joinpath", "glob", "str"}
        if not (joins and parts) or parts[0] is None:
            return None
        return "/".join(part or "*" for part in parts)


def _literal_items(node: ast.expr) -> list[tuple[str, ...]] | None:
    """The items of a list, tuple or range that stands in the code, each as a tuple of texts."""
    try:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id != "range":
                return None
            values = list(range(*map(ast.literal_eval, node.args))[:_MOST_VALUES])
        else:
            values = list(ast.literal_eval(node))
    except (ValueError, TypeError):
        return None
    items = [tuple(map(str, v if isinstance(v, list | tuple) else (v,))) for v in values]
    return items if 0 < len(items) <= _MOST_VALUES else None
