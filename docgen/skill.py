"""What coding agents read about a library: a skill, made from its installed source.

``SKILL.md`` (8000 bytes at most) says what there is and where the traps are, and
``references/MODULE.md`` has the facts and the docstring of every symbol; ``symbols.json`` is what a
later check compares with. The layout is the one of agentskills.io, below ``.agents/skills/NAME``.
Every line stands in the source, and every example has run.
"""

from __future__ import annotations

import doctest
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

from docgen.docstrings import described
from docgen.facts import render_facts
from docgen.symbols import Library, Symbol
from matsmith.core.errors import UsageError

MOST = 8_000  # bytes of SKILL.md
_TRAPS = 1_500  # of them for traps
_ABOUT = 900  # of the description, which agents always have in their prompt
_PLAIN = ("class", "function", "constant")
_SYMBOLS = "symbols.json"
_UNDERLINE = re.compile(r"(?<=\s)([=^~#*-])\1{3,}")  # of a title
_TITLE = "\n## What there is\n"
_REST = "- and {} more modules, a file each in `references/`"
_Modules = Mapping[str, Sequence[Symbol]]
_DEPRECATED = re.compile(
    r"[^.]*\b(?:deprecated|superseded|obsolete)\b[^.]*\.?", re.IGNORECASE
)


def write_skill(
    library: Library,
    name: str,
    packages: Sequence[str],
    folder: Path,
    examples: Mapping[str, str] | None = None,
) -> Path:
    """Write the skill of a library into a project, and its lines of ``AGENTS.md``.

    ``examples`` are code that has run, by qualified name. Returns the skill's folder.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    place = folder / ".agents" / "skills" / slug
    (place / "references").mkdir(parents=True, exist_ok=True)
    for old in (place / "references").glob("*.md"):
        old.unlink()
    shown = examples or {}
    modules = _modules(library)
    for module, symbols in modules.items():
        text = "\n\n".join(
            _reference(symbol, shown.get(symbol.qualname)) for symbol in symbols
        )
        (place / "references" / f"{module}.md").write_text(
            f"{text}\n", encoding="utf-8"
        )
    (place / "SKILL.md").write_text(
        _skill(library, modules, slug, packages), encoding="utf-8"
    )
    facts = {qualname: _facts(symbol) for qualname, symbol in library.symbols.items()}
    (place / _SYMBOLS).write_text(json.dumps(facts, indent=0), encoding="utf-8")
    _agents(folder / "AGENTS.md", slug, packages)
    return place


def drift(library: Library, folder: Path) -> list[str]:
    """How a skill differs from what is installed, a line for each symbol."""
    files = [folder / _SYMBOLS, *sorted(folder.glob(f".agents/skills/*/{_SYMBOLS}"))]
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        raise UsageError(
            f"check={folder}: no skill there; `matsmith learn ... --skill` writes one"
        )
    now = {qualname: _facts(symbol) for qualname, symbol in library.symbols.items()}
    lines = []
    try:
        then: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        lines += [f"gone: {one}" for one in then if one not in now]
        lines += [f"new: {one}" for one in now if one not in then]
        for one in (one for one in then if one in now and list(then[one]) != now[one]):
            (before, _), (after, _) = then[one], now[one]
            what = "its documentation" if before == after else f"{before} -> {after}"
            lines.append(f"changed: {one}: {what}")
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise UsageError(
            f"{file}: damaged ({error!r}); write the skill again"
        ) from None
    return lines


def doctests(library: Library) -> dict[str, str]:
    """Code of the examples in docstrings, by qualified name."""
    found: dict[str, str] = {}
    for qualname, symbol in library.symbols.items():
        with suppress(ValueError):  # no valid doctest
            examples = doctest.DocTestParser().get_examples(symbol.docstring)
            found[qualname] = "".join(one.source for one in examples)
    return {qualname: code for qualname, code in found.items() if code.strip()}


def _modules(library: Library) -> dict[str, list[Symbol]]:
    """Symbols by the module that defines them, the module itself first."""
    found: dict[str, list[Symbol]] = {
        name: [] for name, symbol in library.symbols.items() if symbol.kind == "module"
    }
    for symbol in library.symbols.values():
        home = symbol.qualname
        while home and home not in found:
            home = home.rpartition(".")[0]
        found.setdefault(home or "elsewhere", []).append(symbol)
    return {module: symbols for module, symbols in found.items() if symbols}


def _facts(symbol: Symbol) -> list[str]:
    return [
        symbol.signature or symbol.value or symbol.kind,
        described(symbol.docstring).summary,
    ]


def _reference(symbol: Symbol, example: str | None) -> str:
    parts = [
        f"## {symbol.qualname}",
        f"```\n{render_facts(symbol)}\n```",
        symbol.docstring.strip(),
    ]
    if example:
        parts.append(f"Example (has run):\n\n```python\n{example.strip()}\n```")
    return "\n\n".join(filter(None, parts))


def _skill(
    library: Library, modules: _Modules, slug: str, packages: Sequence[str]
) -> str:
    versions = ", ".join(
        f"{one} {v}" if v else one for one, v in library.versions.items()
    )
    root = library.symbols.get(packages[0])
    what = described(root.docstring).summary if root else ""
    about = f"Use when writing Python with {', '.join(packages)}. {_short(what, 300)}"[
        :_ABOUT
    ]
    head = (
        f"---\nname: {slug}\ndescription: {json.dumps(' '.join(about.split()))}\n---\n\n"
        f"# {', '.join(packages)} ({versions})\n\n"
        "Made from the installed source. Look a name up in `references/MODULE.md` before you call\n"
        "it: signature, units, defaults and what it raises stand there. Follow every input\n"
        "to where its documentation says that it comes from.\n"
    )
    traps = _traps(library)
    return (
        f"{head}{_map(library, modules, MOST - len(f'{head}{traps}'.encode()))}{traps}"
    )


def _map(library: Library, modules: _Modules, room: int) -> str:
    """What there is, what the library itself uses and exports most first, as fully as fits.

    Signatures with a sentence each, without, or names; where even these do not fit, of as many
    modules as have room.
    """
    users = library.callers()

    def used(module: str) -> int:
        own = modules[module]
        return -sum(
            len(users.get(s.qualname, ())) + (s.import_path != s.qualname) for s in own
        )

    ranked = sorted((name for name in modules if _plain(modules[name])), key=used)
    for level in range(3):
        text = "\n".join(
            [_TITLE, *(_module(name, modules[name], level) for name in ranked), ""]
        )
        if len(text.encode()) <= room:
            return text
    lines = [_module(name, modules[name], 2) for name in ranked]
    ends = accumulate(
        (len(line.encode()) + 1 for line in lines), initial=len(_TITLE) + len(_REST)
    )
    kept = max(0, sum(end <= room for end in ends) - 1)
    return "\n".join([_TITLE, *lines[:kept], _REST.format(len(lines) - kept), ""])


def _plain(symbols: Sequence[Symbol]) -> list[Symbol]:
    return [symbol for symbol in symbols if symbol.kind in _PLAIN]


def _module(name: str, symbols: Sequence[Symbol], level: int) -> str:
    said = (
        described(symbols[0].docstring).summary if symbols[0].kind == "module" else ""
    )
    title = f"- `{name}`" + (f": {_short(said, 120)}" if said else "")
    own = _plain(symbols)
    if level == 2:
        return f"{title}\n  {_short(', '.join(symbol.name for symbol in own), 300)}"
    return "\n".join([title, *(_line(symbol, level) for symbol in own)])


def _line(symbol: Symbol, level: int) -> str:
    said = described(symbol.docstring).summary if level == 0 else ""
    signature = _short(symbol.signature or symbol.name, 160)
    return f"  - `{signature}`" + (f" {_short(said, 100)}" if said else "")


def _traps(library: Library) -> str:
    """What is easily done wrong: what should not be used any more, and units."""
    found: list[str] = []
    for symbol in library.symbols.values():
        gone = _DEPRECATED.search(symbol.docstring)
        if gone or "deprecated" in symbol.modifiers:
            said = " ".join(gone[0].split()) if gone else "deprecated"
            found.append(f"- `{symbol.qualname}`: {_short(said, 140)}")
    for symbol in library.symbols.values():
        for name, one in described(symbol.docstring).inputs.items():
            if one.unit and symbol.kind in {"function", "method", "class"}:
                found.append(
                    f"- `{symbol.qualname}`, `{name}`: {_short(one.text, 120)}"
                )
    ends = accumulate(len(line.encode()) + 1 for line in found)
    kept = [line for line, end in zip(found, ends, strict=True) if end <= _TRAPS]
    return "\n".join(["", "## Traps", "", *kept, ""]) if kept else ""


def _short(text: str, limit: int) -> str:
    line = " ".join(_UNDERLINE.sub("", text).split())
    return line if len(line) <= limit else f"{line[: limit - 3].rstrip()}..."


def _agents(file: Path, slug: str, packages: Sequence[str]) -> None:
    """Put the skill's lines between its markers in ``AGENTS.md``; nothing else is changed."""
    begin, end = f"<!-- matsmith {slug} -->", f"<!-- /matsmith {slug} -->"
    lines = (
        f"{begin}\nBefore writing code with {', '.join(f'`{p}`' for p in packages)}, read"
        f" `.agents/skills/{slug}/SKILL.md`, and in `references/` what it names.\n{end}\n"
    )
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    inside = rf"(?:(?!{re.escape(begin)}).)*?"  # no second beginning: the end of the first is lost
    marked = re.compile(f"{re.escape(begin)}{inside}{re.escape(end)}\n?", re.DOTALL)
    replaced, count = marked.subn(lambda _: lines, text, count=1)
    joint = "\n" if text else ""
    file.write_text(replaced if count else f"{text}{joint}{lines}", encoding="utf-8")
