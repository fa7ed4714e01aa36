"""What stands behind the values of an answer, and what a reader must know before trusting them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from agents.assistant.answers import Literal_, Origin, Source, Value
from agents.assistant.cells import Tag
from agents.assistant.flow import flows
from agents.assistant.tracing import Trace, is_library
from sandbox.outputs import valid

LISTED = 12  # numbers in a note
TEXT = 40  # characters of a text that can be a datum
_NUMBER = re.compile(r"\d+\.?\d*(?:[eE][-+]?\d{1,3})?|\.\d+(?:[eE][-+]?\d{1,3})?")
#: Numbers that count, halve, negate or turn into percent: by themselves they assume nothing.
_NEUTRAL = frozenset({0.0, 1.0, 2.0, 100.0})


class Documents(Protocol):
    """The documents of symbols by name (:class:`agents.toolbox.library.Library`)."""

    def find(self, name: str) -> Any:
        """The entry of a symbol, ``None`` when it has none."""


def origins(
    code: str,
    entry: str,
    names: Sequence[str],
    trace: Trace | None,
    *,
    inputs: Collection[str],
    said: str,
) -> dict[str, Origin]:  # fmt: skip
    """Where each value comes from.

    Parameters
    ----------
    names
        Keys of the returned dict.
    said
        Everything that the user wrote and was told in this conversation.
    """
    by_key, rest = flows(code, entry, trace, inputs)
    numbers = {_number(text) for text in _NUMBER.findall(said)} - {None}
    followed = {tag.text for tags in (*by_key.values(), rest) for tag in tags if tag.kind == "file"}
    hidden = sorted(set(trace.read) - followed) if trace is not None else []
    found = {}
    for name in names:
        tags = set(by_key.get(name, rest))
        if by_key and name not in by_key:
            tags.add(Tag("unknown", "the code makes this key in a way that is not followed"))
        tags |= {Tag("unknown", f"the code read {file}, it is not known for what")
                 for file in hidden}  # fmt: skip
        found[name] = _origin(tags, numbers, said, labels_of(trace))
    return found


def labels_of(trace: Trace | None) -> list[str]:
    """Dotted names that the code used, in the order of its lines."""
    if trace is None:
        return []
    order = sorted(trace.places, key=_line_of)
    return list(dict.fromkeys(label for where in order for label in trace.places[where]))


def _origin(
    tags: set[Tag], numbers: Collection[float | None], said: str, labels: Sequence[str]
) -> Origin:
    def told(tag: Tag) -> bool:
        if tag.kind == "number":
            value = _number(tag.text.lstrip("-"))
            return value is not None and value in numbers
        return tag.text in said

    def texts(kind: str) -> tuple[str, ...]:
        return tuple(sorted({tag.text for tag in tags if tag.kind == kind}))

    used, files = set(texts("call")), texts("file")
    calls = tuple(label for label in labels if label in used)
    data = [tag for tag in tags if tag.kind in {"number", "text"} and _is_datum(tag)]
    if calls or files:
        data = [tag for tag in data if _number(tag.text.lstrip("-")) not in _NEUTRAL]
    return Origin(
        calls=calls,
        files=files,
        given=_literals(tag for tag in data if told(tag)),
        assumed=_literals(tag for tag in data if not told(tag)),
        unknown=texts("unknown"),
    )


def _is_datum(tag: Tag) -> bool:
    return tag.kind == "number" or 0 < len(tag.text.strip()) <= TEXT


def _literals(tags: Iterable[Tag]) -> tuple[Literal_, ...]:
    shown = {Literal_(t.text if t.kind == "number" else repr(t.text), t.line) for t in tags}
    return tuple(sorted(shown, key=lambda literal: (literal.line, literal.text)))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def notes(
    values: Sequence[Value], trace: Trace | None, inputs: Collection[str], left: Sequence[str]
) -> tuple[str, ...]:
    """What a reader must know, most important first."""
    said = []
    if trace is None:
        said.append("which functions the code called could not be noted: origins are unknown")
    elif not any(is_library(label, trace) for labels in trace.places.values() for label in labels):
        said.append(
            "the code calls no library function: its values are what the model wrote, or "
            "arithmetic on it and on the input"
        )
    plain = [v.name for v in values if v.origin.kind == "assumed" and v.value is not None]
    if plain:
        said.append(f"written by the model, not computed: {', '.join(plain)}")
    assumed = {literal for v in values for literal in v.origin.assumed}
    numbers = sorted((a for a in assumed if not a.text.startswith("'")), key=lambda a: a.line)
    if numbers:
        listed = ", ".join(f"{n.text} (line {n.line})" for n in numbers[:LISTED])
        more = f" and {len(numbers) - LISTED} more" if len(numbers) > LISTED else ""
        said.append(f"assumed by the model, neither in the question nor in a file: {listed}{more}")
    empty = [v.name for v in values if v.value is None]
    if empty:
        said.append(f"nothing was worked out for: {', '.join(empty)}")
    unread = sorted(set(inputs) - set(trace.read)) if trace is not None else []
    behind = {name for v in values for name in v.origin.files}
    if unread := [name for name in unread if name not in behind]:
        said.append(f"not read by the code: {', '.join(unread)}")
    said += [f"not handed over: {line}" for line in left]
    return tuple(said)


def sources(
    trace: Trace | None, library: Documents | None, folders: Sequence[Path]
) -> tuple[Source, ...]:
    """The documents of the library's symbols that the code used, in the order of the code."""
    if trace is None:
        return ()
    found: dict[str, Source] = {}
    for label in labels_of(trace):
        if not is_library(label, trace):
            continue
        symbol = trace.symbols[label]
        entry = library.find(label) if library is not None else None
        name = label if entry is None else str(entry.name)
        at = symbol.path if _plain(symbol.path) else ""
        file = next((path for path in (f / at for f in folders) if at and path.is_file()), None)
        line = f"#L{symbol.line}" if symbol.line > 0 else ""
        found.setdefault(
            name,
            Source(
                name, symbol.distribution, symbol.version, at, max(symbol.line, 0),
                "" if file is None else f"{file.resolve().as_uri()}{line}",
                "" if entry is None else str(entry.line.summary),
            ),
        )  # fmt: skip
    return tuple(found.values())


def _plain(path: str) -> bool:
    return bool(path) and not path.startswith("/") and ".." not in path.split("/")


def _line_of(where: str) -> tuple[int, int]:
    numbers = re.findall(r"\d{1,9}", where)[:2]
    line, column = (*map(int, numbers), 0, 0)[:2]
    return line, column


#: Endings of names that say a unit, as code writes them.
_UNITS: Mapping[str, str] = {
    "ev": "eV", "mev": "meV", "ev_per_atom": "eV/atom", "mev_per_atom": "meV/atom",
    "ev_atom": "eV/atom", "ev_per_formula_unit": "eV/f.u.", "ev_a": "eV/Å", "angstrom": "Å",
    "angstroms": "Å", "ang": "Å", "a2": "Å²", "angstrom2": "Å²", "a3": "Å³", "angstrom3": "Å³",
    "ang3": "Å³", "a3_per_atom": "Å³/atom", "nm": "nm", "pm": "pm", "g_cm3": "g/cm³",
    "g_per_cm3": "g/cm³", "kg_m3": "kg/m³", "gpa": "GPa", "mpa": "MPa", "kelvin": "K",
    "deg": "°", "degree": "°", "degrees": "°", "thz": "THz", "cm1": "1/cm", "fs": "fs", "ps": "ps",
    "percent": "%", "amu": "u", "g_mol": "g/mol", "g_per_mol": "g/mol", "kj_mol": "kJ/mol",
    "kj_per_mol": "kJ/mol", "mah_g": "mAh/g", "mah_per_g": "mAh/g", "mu_b": "μB",
    "cm2_s": "cm²/s", "cm3": "cm³",
}  # fmt: skip


def unit_of(name: str, given: Mapping[str, Any]) -> str | None:
    """The unit of a value: as the code says (``units``), else as the end of its name does."""
    said = given.get(name)
    if isinstance(said, str):
        return valid(said)[:TEXT] or None
    words = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_").split("_")
    last = re.split(r"[^A-Za-z0-9]+", name)[-1]
    if len(last) == 1:  # `c_a` is no length
        return {"A": "Å", "K": "K", "V": "V"}.get(last) if len(words) > 1 else None
    for start in range(max(1, len(words) - 4), len(words)):
        ending = "_".join(words[start:])
        if ending in _UNITS:
            return _UNITS[ending]
    return None
